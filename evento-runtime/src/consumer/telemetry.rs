//! What runs beside the events: a span around each attempt, and whoever counts what the engine does.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::{Span, field};

use crate::component::Kind;
use crate::error::StoreError;
use crate::event::StoredEvent;
use crate::identity::ConsumerId;
use crate::interceptor::Interceptor;
use crate::outcome::ErrorClass;

/// What accompanies the events of a bundle: given to [`BundleBuilder::dispatch`](crate::BundleBuilder::dispatch), or one by
/// one with [`tracer`](crate::BundleBuilder::tracer), [`telemetry`](crate::BundleBuilder::telemetry) and
/// [`interceptor`](crate::BundleBuilder::interceptor).
#[derive(Clone, Default)]
pub struct DispatchContext {
    /// Makes the span of an attempt. `None`: [`DebugSpans`].
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Is told what the engine does. `None` costs nothing.
    pub telemetry: Option<Arc<dyn Telemetry>>,
    /// Around every attempt, outermost first.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
}

/// One attempt of one event.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AttemptInfo<'a> {
    /// Whose.
    pub consumer: &'a Arc<ConsumerId>,
    /// Projector, saga or observer.
    pub kind: Kind,
    /// `OrderView::placed`.
    pub handler: &'a str,
    /// Where it runs; `None`: in the consumer's own loop.
    pub executor: Option<&'a str>,
    /// The event; of a batch, the first.
    pub event: &'a StoredEvent,
    /// How many events the handler is called for: one, unless it takes a batch.
    pub events: usize,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// Whether the event was a dead letter and comes again.
    pub redriven: bool,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// The handler has succeeded. With a [`Tx`](crate::Tx) its commit is confirmed, or follows once those that share it
    /// have ended: should it fail, or one of them, the attempt is made again under its number.
    Handled,
    /// The handler said that the event means nothing to it, or a saga has no instance for it.
    Skipped,
    /// It failed. A handler that asks to be called again is an ordinary failure, one that asks for a dead letter a
    /// permanent one.
    Failed(ErrorClass),
    /// The store failed before or after the handler: no attempt was made, and it is made again.
    NotMade,
}

/// Makes the `tracing` span that one attempt runs in: loading, the interceptors, the handler, its commit.
///
/// ```
/// use evento_runtime::consumer::{AttemptInfo, Tracer};
///
/// /// One span for each attempt, in `info` as well.
/// struct Loud;
///
/// impl Tracer for Loud {
///     fn span(&self, attempt: &AttemptInfo<'_>) -> tracing::Span {
///         tracing::info_span!("handle", handler = attempt.handler, position = %attempt.event.position)
///     }
/// }
/// ```
pub trait Tracer: Send + Sync + 'static {
    /// The span of an attempt; [`Span::none`] for none. Called once for each, so it must return at once. A panic is
    /// logged, and the attempt runs without a span.
    fn span(&self, attempt: &AttemptInfo<'_>) -> Span;
}

/// The default: a span `attempt` at level debug with consumer, handler, position, attempt, and the `traceparent` of the
/// event's metadata, if it has one. Nothing is made where nobody listens at that level.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct DebugSpans;

impl Tracer for DebugSpans {
    fn span(&self, attempt: &AttemptInfo<'_>) -> Span {
        let span = tracing::debug_span!(
            "attempt",
            consumer = %attempt.consumer,
            handler = attempt.handler,
            position = %attempt.event.position,
            attempt = attempt.attempt,
            traceparent = field::Empty,
        );
        if !span.is_disabled()
            && let Some(parent) = attempt.event.traceparent()
        {
            span.record("traceparent", parent.as_str());
        }
        span
    }
}

/// Is told what the engine does, as it does it. Every method has a default that does nothing.
///
/// The methods are called in the consumers' loops and in the tasks of handlers, often many at once: they must return at
/// once, and count rather than write. A panic is logged and changes nothing. What a consumer is at one moment (lag, stall
/// reason, epoch, open deliveries) stands in its [`ConsumerStatus`](super::ConsumerStatus), what an executor is in its
/// [`ExecutorStats`](crate::executor::ExecutorStats); ownership, stalls and deaths are told by
/// [`EngineEvent`](super::EngineEvent)s.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::time::Duration;
///
/// use evento_runtime::consumer::{AttemptInfo, AttemptOutcome, Telemetry};
///
/// #[derive(Default)]
/// struct Slowest(AtomicU64);
///
/// impl Telemetry for Slowest {
///     fn attempt_ended(&self, _: &AttemptInfo<'_>, took: Duration, _: AttemptOutcome) {
///         self.0.fetch_max(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
///     }
/// }
/// ```
pub trait Telemetry: Any + Send + Sync {
    /// An attempt begins: a permit is held, the handler is called next.
    fn attempt_started(&self, attempt: &AttemptInfo<'_>) {
        let _ = attempt;
    }

    /// An attempt ended. `took`: from its start, waits for a transaction and its commit included.
    fn attempt_ended(&self, attempt: &AttemptInfo<'_>, took: Duration, outcome: AttemptOutcome) {
        let _ = (attempt, took, outcome);
    }

    /// A failed attempt is followed by another one after `delay`.
    fn retry_planned(&self, consumer: &Arc<ConsumerId>, handler: &str, event: &StoredEvent, delay: Duration) {
        let _ = (consumer, handler, event, delay);
    }

    /// Nothing more has to be stored for an event but the checkpoint: handled, skipped, or among the dead letters.
    fn settled(&self, consumer: &Arc<ConsumerId>, event: &StoredEvent) {
        let _ = (consumer, event);
    }

    /// An event was given to the dead letters, and its row is stored. A redriven one that failed again is told once more.
    fn dead_lettered(&self, consumer: &Arc<ConsumerId>, handler: &str, event: &StoredEvent) {
        let _ = (consumer, handler, event);
    }

    /// A consumer has asked for a permit and waited for it. `admitted`: it has got one; otherwise the wait was a
    /// rejection.
    fn permit_awaited(&self, consumer: &Arc<ConsumerId>, executor: &str, waited: Duration, admitted: bool) {
        let _ = (consumer, executor, waited, admitted);
    }

    /// A page was read ahead, with so many events.
    fn page_read(&self, consumer: &Arc<ConsumerId>, events: usize) {
        let _ = (consumer, events);
    }

    /// A settlement was written, with a checkpoint in it, or was not: then it is written again.
    fn checkpoint_written(&self, consumer: &Arc<ConsumerId>, took: Duration, result: Result<(), &StoreError>) {
        let _ = (consumer, took, result);
    }
}

impl DispatchContext {
    /// The span of an attempt.
    pub(crate) fn span(&self, attempt: &AttemptInfo<'_>) -> Span {
        let Some(tracer) = &self.tracer else { return DebugSpans.span(attempt) };
        catch_unwind(AssertUnwindSafe(|| tracer.span(attempt))).unwrap_or_else(|_| {
            tracing::error!(consumer = %attempt.consumer, "the tracer of the bundle panicked");
            Span::none()
        })
    }

    /// Tells the telemetry, if there is one.
    pub(crate) fn tell(&self, what: impl FnOnce(&dyn Telemetry)) {
        let Some(telemetry) = &self.telemetry else { return };
        // What it makes of it is no concern of the events.
        if catch_unwind(AssertUnwindSafe(|| what(telemetry.as_ref()))).is_err() {
            tracing::error!("the telemetry of the bundle panicked");
        }
    }
}

impl fmt::Debug for DispatchContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatchContext")
            .field("tracer", &self.tracer.is_some())
            .field("telemetry", &self.telemetry.is_some())
            .field("interceptors", &self.interceptors.len())
            .finish()
    }
}
