//! Handlers that wait for nothing share a task and its permit; one that waits holds up nobody.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::executor::ConsumerExecutor;
use evento_runtime::{BundleBuilder, CheckpointMode, Flow, HandlerError};
use tokio::sync::Semaphore;

use crate::scripted::{Journal, MemoryStore, Pooled, Script, append, bundle, lanes, settled, stop, tasks};

/// Takes note of each event, and of `waits` only once it is let go.
fn noting(journal: &Journal<u64>, waits: Option<u64>) -> (Script, Arc<Semaphore>) {
    let (log, gate) = (journal.clone(), Arc::new(Semaphore::new(0)));
    let entered = Arc::clone(&gate);
    let script = Script::new(move |call| {
        let (log, gate) = (log.clone(), Arc::clone(&entered));
        async move {
            if waits == Some(call.n) {
                gate.acquire().await.unwrap().forget();
            }
            log.push(call.n);
            Ok(Flow::Continue)
        }
    });
    (script, gate)
}

fn watermark(builder: BundleBuilder) -> BundleBuilder {
    builder.checkpoint_mode(CheckpointMode::Watermark)
}

#[tokio::test]
async fn what_waits_holds_up_nothing_that_was_taken_with_it() {
    for executor in [tasks(2), lanes(2)] {
        let store = MemoryStore::new();
        let last = append(&store, 0..2_000, 2_000).await;
        let journal = Journal::default();
        let (script, gate) = noting(&journal, Some(1_000));
        let builder = watermark(bundle(&store).component(Pooled(script)).executor(executor));
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("all others are handled", || journal.len() == 1_999).await;
        assert_eq!(running.status()[0].in_flight, 1);
        gate.add_permits(1);
        settled(&running, &last).await;
        assert_eq!(journal.all().last(), Some(&1_000));
        stop(running).await;
    }
}

/// How many permits two thousand events took.
async fn permits(executor: Arc<dyn ConsumerExecutor>, build: impl FnOnce(BundleBuilder) -> BundleBuilder) -> u64 {
    let store = MemoryStore::new();
    let last = append(&store, 0..2_000, 0).await;
    let journal = Journal::default();
    let (script, _) = noting(&journal, None);
    let builder = bundle(&store).lease_renewal(LeaseRenewal::Runtime);
    let builder = build(builder.component(Pooled(script)).executor(Arc::clone(&executor)));
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(journal.len(), 2_000);
    executor.stats().admitted
}

/// On a clock that stands still, so that no handler takes its time.
#[tokio::test(start_paused = true)]
async fn handlers_that_wait_for_nothing_share_permits() {
    let shared = permits(tasks(4), watermark).await;
    assert!(shared < 2_000 / 4, "{shared} permits");
    // Elsewhere each start is one.
    assert_eq!(permits(tasks(4), |builder| builder).await, 2_000, "under `OnStart` what has started runs");
    assert_eq!(permits(tasks(4).rate(1_000_000, Duration::from_secs(1)), watermark).await, 2_000, "a rate counts");
    let every = |builder: BundleBuilder| watermark(builder.checkpoint_every(1));
    // A permit that comes while the one before is being stored goes back.
    assert!(permits(tasks(4), every).await >= 2_000, "what has ended is stored before the next one begins");
}

#[tokio::test]
async fn those_that_fail_among_them_fail_alone() {
    let store = MemoryStore::new();
    let last = append(&store, 0..2_000, 100).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        let log = log.clone();
        async move {
            match (call.n % 10, call.attempt) {
                (3, 1) => return Err("not yet".into()),
                (7, 1) => return Err(HandlerError::transient("not there").into()),
                (9, _) => return Err(HandlerError::permanent("never").into()),
                _ => log.push(call.n),
            }
            Ok(Flow::Continue)
        }
    });
    let builder = watermark(bundle(&store).component(Pooled(script)).executor(lanes(4)));
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let counters = running.status()[0].counters;
    assert_eq!((counters.started, counters.failed, counters.dead_lettered), (2_400, 600, 200));
    stop(running).await;
    let handled = journal.all();
    assert_eq!(handled.len(), 1_800);
    for key in 0..100 {
        let of_key: Vec<u64> = handled.iter().copied().filter(|n| n % 100 == key).collect();
        assert!(of_key.is_sorted(), "key {key}: {of_key:?}");
    }
}
