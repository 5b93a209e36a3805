//! What the log says, and how the trace of an event goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Expected, Running};
use serde::{Deserialize, Serialize};
use tracing_subscriber::fmt::MakeWriter;

use crate::shop::{Gate, InOrder, Placed, bundle, orders, place, settled};

/// Counts lines.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicUsize>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.fetch_add(bytes.iter().filter(|byte| **byte == b'\n').count(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

async fn stop(running: Running) {
    running.stop(Duration::from_secs(10)).await.unwrap();
}

/// On one thread, whose log is this one.
#[tokio::test]
async fn the_log_stays_readable_at_info_whatever_happens_to_events() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_writer(lines.clone()).finish();
    let _log = tracing::subscriber::set_default(log);
    let store = MemoryStore::new();
    let running = bundle("shop", &store).component(InOrder(Gate::open())).build().unwrap().start().await.unwrap();
    let started = lines.0.load(Ordering::Relaxed);
    assert!(started > 0, "that it begins is said");
    place(&running, orders(10_000, 0)).await;
    let last = place(&running, orders(20, 1)).await;
    settled(&running, &last).await;
    assert_eq!(lines.0.load(Ordering::Relaxed), started, "nothing is said of events that are handled, in the end");
    let last = place(&running, orders(100, 9)).await;
    settled(&running, &last).await;
    let said = lines.0.load(Ordering::Relaxed) - started;
    assert!((1..=30).contains(&said), "{said} lines for a hundred dead letters, whose errors have a line or two");
    stop(running).await;
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Billed {
    n: u64,
}

struct Billing;

#[projector(version = 1)]
impl Billing {
    #[event_handler]
    async fn placed(&self, event: Placed, outbox: Outbox) {
        outbox.emit(Billed { n: event.n });
        outbox.emit(NewEvent::from(Billed { n: event.n }).metadata("traceparent", "its own"));
    }

    #[event_handler]
    async fn billed(&self, _event: Billed) {}
}

#[tokio::test]
async fn what_a_handler_emits_goes_on_in_the_trace_of_what_it_handled() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let store = MemoryStore::new();
    let running = bundle("shop", &store).component(Billing).build().unwrap().start().await.unwrap();
    let traced = NewEvent::from(Placed { n: 1, fails: 0 }).metadata("traceparent", PARENT);
    running.store().append("o-1", Expected::Any, [traced]).await.unwrap();
    running.store().append("o-2", Expected::Any, [Placed { n: 2, fails: 0 }]).await.unwrap();
    evento_tests::eventually("all are handled", || running.status()[0].counters.settled == 6).await;
    let positions: Vec<_> = (1..=6).map(Position::from_u64).collect();
    let events = running.store().events.read_exact(&positions).await.unwrap();
    let billed: Vec<_> =
        events.iter().filter(|event| &*event.name == "Billed").map(|event| event.traceparent()).collect();
    let own = Some("its own".to_owned());
    assert_eq!(billed, [Some(PARENT.to_owned()), own.clone(), None, own]);
    stop(running).await;
}
