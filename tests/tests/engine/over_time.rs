//! Handlers that take longer than they said: told so, shown, and dropped only where that was asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use evento_runtime::{BundleBuilder, CheckpointMode, Running};
use tokio::sync::Notify;

use crate::scripted::{Journal, Made, MemoryStore, append, bundle, settled, stop, tasks};

const LONG: Duration = Duration::from_secs(3_600);

/// What a slow handler does, and what was seen of it.
#[derive(Clone, Default)]
struct Slow {
    told: Journal<u64>,
    ended: Journal<u64>,
    dropped: Arc<AtomicU32>,
    gate: Arc<Notify>,
}

/// Counts a future that was dropped before its end.
struct Armed(Arc<AtomicU32>);

impl Drop for Armed {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Slow {
    /// Event 0 waits until it is told to stop, and then for the gate.
    async fn wait(&self, n: u64, mut stop: Stop) {
        if n == 0 {
            stop.stopped().await;
            self.told.push(n);
            self.gate.notified().await;
        }
        self.ended.push(n);
    }

    /// Event 0 never ends at its first attempt.
    async fn hang(&self, n: u64, attempt: Attempt) {
        if n == 0 && attempt.0 == 1 {
            let _armed = Armed(Arc::clone(&self.dropped));
            tokio::time::sleep(LONG).await;
        }
        self.ended.push(n);
    }
}

struct Waits(Slow);

#[projector(version = 1)]
impl Waits {
    #[event_handler(timeout = "20ms")]
    async fn made(&self, event: Made, stop: Stop) {
        self.0.wait(event.n, stop).await;
    }
}

struct WaitsOnPool(Slow);

#[projector(version = 1)]
impl WaitsOnPool {
    #[event_handler(executor = "pool", timeout = "20ms")]
    async fn made(&self, event: Made, stop: Stop) {
        self.0.wait(event.n, stop).await;
    }
}

struct Hangs(Slow);

#[projector(version = 1)]
impl Hangs {
    #[event_handler(retry = 1, retry_delay = "1ms", timeout = "20ms", on_timeout = "abandon")]
    async fn made(&self, event: Made, attempt: Attempt) {
        self.0.hang(event.n, attempt).await;
    }
}

struct HangsOnPool(Slow);

#[projector(version = 1)]
impl HangsOnPool {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms", timeout = "20ms", on_timeout = "abandon")]
    async fn made(&self, event: Made, attempt: Attempt) {
        self.0.hang(event.n, attempt).await;
    }
}

async fn begun(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

#[tokio::test]
async fn a_handler_over_time_is_told_and_shown_and_what_it_returns_counts() {
    for parallel in [false, true] {
        let (store, slow) = (MemoryStore::new(), Slow::default());
        let last = append(&store, 0..5, 0).await;
        let builder = if parallel {
            bundle(&store).component(WaitsOnPool(slow.clone())).executor(tasks(2))
        } else {
            bundle(&store).component(Waits(slow.clone()))
        };
        let running = begun(builder.checkpoint_mode(CheckpointMode::Watermark)).await;
        evento_tests::eventually("it is told", || slow.told.len() == 1).await;
        let shown = || {
            matches!(&running.status()[0].reason, Some(StallReason::HandlerOverTime { handler, position })
            if handler.ends_with("::made") && position.as_u64() == Some(1))
        };
        evento_tests::eventually("it is shown", shown).await;
        // On an executor the others go on beside it.
        assert_eq!(slow.ended.len(), if parallel { 4 } else { 0 });
        slow.gate.notify_one();
        settled(&running, &last).await;
        let status = &running.status()[0];
        assert_eq!((status.counters.failed, status.in_flight, slow.ended.len()), (0, 0, 5));
        assert!(!matches!(status.reason, Some(StallReason::HandlerOverTime { .. })));
        stop(running).await;
    }
}

#[tokio::test]
async fn an_abandoned_handler_is_dropped_and_its_attempt_has_failed() {
    for (parallel, mode) in
        [(false, CheckpointMode::Watermark), (true, CheckpointMode::Watermark), (true, CheckpointMode::OnStart)]
    {
        let (store, slow) = (MemoryStore::new(), Slow::default());
        let last = append(&store, 0..5, 0).await;
        let builder = if parallel {
            bundle(&store).component(HangsOnPool(slow.clone())).executor(tasks(1))
        } else {
            bundle(&store).component(Hangs(slow.clone()))
        };
        let running = begun(builder.checkpoint_mode(mode)).await;
        settled(&running, &last).await;
        let counters = running.status()[0].counters;
        assert_eq!((counters.failed, slow.dropped.load(Ordering::SeqCst), slow.ended.len()), (1, 1, 5), "{mode}");
        let errors = running.status()[0].errors.recent[0].error.clone();
        assert!(errors.contains("abandoned after 20ms"), "{errors}");
        let dead = running.consumers().remove(0).dead_letters(LetterFilter::all(), None, 10).await.unwrap();
        assert!(dead.is_empty());
        stop(running).await;
    }
}

#[tokio::test]
async fn a_stop_reaches_handlers_that_have_a_limit_of_their_own() {
    let (store, slow) = (MemoryStore::new(), Slow::default());
    append(&store, 0..1, 0).await;
    let running = begun(bundle(&store).component(Waits(slow.clone()))).await;
    evento_tests::eventually("it runs", || running.status()[0].in_flight == 1).await;
    slow.gate.notify_one();
    stop(running).await;
    assert_eq!(slow.ended.all(), [0]);
}
