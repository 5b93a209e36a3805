//! What waits costs nothing while it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, CheckpointMode, ConsumerExecutors, Expected, HandlerError};

use crate::traced::Statements;

/// How often each event fails before it is handled.
const FAILURES: u32 = 5;

struct Unready(Arc<AtomicU64>);

#[projector(version = 1)]
impl Unready {
    #[event_handler(executor = "pool", retry_delay = "100ms", max_delay = "100ms")]
    async fn any(&self, _event: RawEvent, attempt: Attempt) -> Result<(), HandlerError> {
        if attempt.0 <= FAILURES {
            return Err(HandlerError::transient("not there"));
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The time this thread has had, in nanoseconds, whatever else the machine does.
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// What an attempt takes while so many events wait for their next one.
fn of_an_attempt(events: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = MemoryStore::new();
        let made = (0..events).map(|n| NewEvent::raw("Made", "application/json", "{}").key(format!("k{n}")));
        let batch = evento_runtime::source::Append::prepare(None::<String>, Expected::Any, made).unwrap();
        let last = evento_runtime::source::EventStore::append(&store, batch).await.unwrap().last;
        let handled = Arc::new(AtomicU64::new(0));
        let builder = Bundle::builder("cost").component(Unready(Arc::clone(&handled))).store(store).window(100_000);
        let builder = builder.executor(ConsumerExecutors::tasks("pool", 8)).look_ahead(100_000);
        let bundle = builder.checkpoint_mode(CheckpointMode::Watermark).build().unwrap();
        let running = bundle.start().await.unwrap();
        let before = on_cpu();
        let mut status = running.supervisor().status_cells()[0].subscribe();
        let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(&last)).await.unwrap();
        let took = on_cpu() - before;
        assert_eq!(handled.load(Ordering::Relaxed), events);
        running.stop(Duration::from_secs(30)).await.unwrap();
        took / (events * u64::from(FAILURES + 1))
    })
}

#[test]
#[cfg(target_os = "linux")]
fn an_attempt_costs_the_same_however_many_wait_beside_it() {
    let _alone = Statements::new();
    let (few, many) = (of_an_attempt(250), of_an_attempt(4_000));
    println!("an attempt takes {few} ns beside 250 that wait, {many} ns beside 4,000");
    assert!(many < few * 5, "{few} ns, then {many} ns");
}
