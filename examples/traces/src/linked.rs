//! The trace of an event, and the span of whoever handles it.

use std::collections::HashMap;

use evento_runtime::consumer::{AttemptInfo, Tracer};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Where an event keeps what it belongs to.
const TRACEPARENT: &str = "traceparent";

/// The current span, as the metadata of an event.
pub(crate) fn traceparent() -> String {
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut carrier);
    carrier.remove(TRACEPARENT).unwrap_or_default()
}

/// Makes the span of each attempt a child of the one that its event came from.
pub(crate) struct Linked;

impl Tracer for Linked {
    fn span(&self, attempt: &AttemptInfo<'_>) -> Span {
        let span = tracing::info_span!(
            "handle",
            otel.name = attempt.handler,
            otel.kind = "consumer",
            position = %attempt.event.position,
            attempt = attempt.attempt,
        );
        if let Some(parent) = attempt.event.traceparent() {
            let carrier = HashMap::from([(TRACEPARENT.to_owned(), parent)]);
            // It fails where nobody exports spans, and then nothing is lost.
            let _ = span.set_parent(TraceContextPropagator::new().extract(&carrier));
        }
        span
    }
}
