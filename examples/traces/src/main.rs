//! One OpenTelemetry trace, from an append to the handlers of everything that followed from it.
//!
//! ```text
//! place order ─▶ Billing::placed ─▶ Shipping::billed
//! ```
//!
//! `cargo run -p traces`. What links the three is the `traceparent` of W3C in the metadata of each event: whoever appends
//! writes it (`orders.rs`), and the tracer of the bundle makes it the parent of the handler's span (`linked.rs`). Spans are
//! printed, so that it runs without a collector; `opentelemetry-otlp` has an exporter for one, to be put in its place.
#![warn(unused_crate_dependencies)]
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod linked;
mod orders;
mod printed;

use std::time::Duration;

use evento_runtime::store::Memory;
use evento_runtime::{Bundle, Expected, NewEvent};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Instrument as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::linked::{Linked, traceparent};
use crate::orders::{OrderPlaced, Shipping};
use crate::printed::Printed;

#[tokio::main]
async fn main() -> evento_runtime::Result {
    let provider = SdkTracerProvider::builder().with_simple_exporter(Printed).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("traces"));
    tracing_subscriber::registry().with(layer).try_init()?;

    let running = Bundle::builder("orders").discover().store(Memory::new()).tracer(Linked).build()?.start().await?;
    for order in ["o-1", "o-2"] {
        // A request of a web framework would have such a span.
        let span = tracing::info_span!("place order", order);
        let placed = async {
            let event = NewEvent::from(OrderPlaced { order: order.to_owned() }).metadata("traceparent", traceparent());
            running.store().append(None::<String>, Expected::Any, [event]).await
        };
        let placed = placed.instrument(span).await?;
        // The event that billing emits is the next one.
        let billed = evento_runtime::Position::from_u64(placed.last.as_u64().unwrap_or_default() + 1);
        running.wait_for::<Shipping>(&billed, Duration::from_secs(10)).await?;
    }
    running.stop(Duration::from_secs(10)).await?;
    provider.shutdown()?;
    Ok(())
}
