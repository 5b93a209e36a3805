//! Stands for a collector: a line for each span that has ended.

use opentelemetry::trace::SpanId;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Prints spans.
#[derive(Debug)]
pub(crate) struct Printed;

impl SpanExporter for Printed {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        for span in batch {
            let context = &span.span_context;
            let parent = match span.parent_span_id {
                SpanId::INVALID => "none".to_owned(),
                parent => parent.to_string(),
            };
            println!("trace {} span {} parent {parent}  {}", context.trace_id(), context.span_id(), span.name);
        }
        Ok(())
    }
}
