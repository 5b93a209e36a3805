//! What a stop, a lost ownership or a dead loop must not lose: the events that were open.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use evento_runtime::identity::Epoch;
use evento_runtime::prelude::*;
use evento_runtime::store::{Lease, Settlement};
use evento_runtime::{CheckpointMode, RunError, Running};

use crate::checkpoint::faulty;
use crate::scripted::{
    Journal, Made, MemoryStore, Pooled, Script, append, bundle, lanes, over, settled, stop, stored, tasks,
};

const MODES: [CheckpointMode; 2] = [CheckpointMode::OnStart, CheckpointMode::Watermark];

fn waiting(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::RetryAfter(Duration::from_secs(3_600))) }
    })
}

fn healthy(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

async fn start(store: &MemoryStore, script: Script, mode: CheckpointMode) -> Running {
    let builder = bundle(store).component(Pooled(script)).executor(tasks(200)).checkpoint_mode(mode);
    builder.build().unwrap().start().await.unwrap()
}

#[tokio::test]
async fn a_stop_right_after_a_start_keeps_what_was_open() {
    for mode in MODES {
        let store = MemoryStore::new();
        let last = append(&store, 0..200, 0).await;
        let journal = Journal::default();
        let running = start(&store, waiting(&journal), mode).await;
        evento_tests::eventually("all wait", || journal.len() == 200).await;
        stop(running).await;
        assert_eq!(stored(&store, "Pooled").await.checkpoint.unwrap().open.len(), 200);
        // More open positions than are read back at once, and stops at every moment of that.
        for round in 0..40_u32 {
            let running = start(&store, waiting(&Journal::default()), mode).await;
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            stop(running).await;
            assert_eq!(stored(&store, "Pooled").await.checkpoint.unwrap().open.len(), 200, "round {round}");
        }
        let done = Journal::default();
        let running = start(&store, healthy(&done), mode).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(done.len(), 200);
    }
}

#[tokio::test]
async fn losing_the_ownership_loses_no_event() {
    for mode in MODES {
        let store = MemoryStore::new();
        let last = append(&store, 0..20, 0).await;
        let journal = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            let log = log.clone();
            async move {
                log.push(call.n);
                // The first time everything waits for long; under the next ownership it is handled.
                let seen = log.all().iter().filter(|n| **n == call.n).count();
                Ok(if seen == 1 { Flow::RetryAfter(Duration::from_secs(3_600)) } else { Flow::Continue })
            }
        });
        let running = start(&store, script, mode).await;
        evento_tests::eventually("all wait", || journal.len() == 20).await;
        let status = running.status().remove(0);
        let stores = running.store().stores.clone();
        let later = Lease {
            consumer: (*status.consumer).clone(),
            owner: stores.lock.owner(),
            epoch: Epoch(status.epoch.0 + 5),
        };
        stores.state.settle(&later, Settlement::default()).await.unwrap();
        // The next write finds out.
        append(&store, 20..21, 0).await;
        evento_tests::eventually("everything is handled under the next ownership", || {
            (0..20).all(|n| journal.all().iter().filter(|seen| **seen == n).count() == 2)
        })
        .await;
        assert!(running.status()[0].watermark.as_ref() >= Some(&last));
        drop(running);
    }
}

#[tokio::test]
async fn a_stop_whose_checkpoint_was_not_stored_says_so() {
    let store = MemoryStore::new();
    append(&store, 0..10, 0).await;
    let faulty = faulty(&store, 0, false);
    let faults = Arc::clone(&faulty.faults);
    let journal = Journal::default();
    let builder = over(faulty).component(Pooled(waiting(&journal))).executor(tasks(10));
    let running = builder.checkpoint_mode(CheckpointMode::OnStart).build().unwrap().start().await.unwrap();
    evento_tests::eventually("all wait", || journal.len() == 10).await;
    faults.store(-1, Ordering::SeqCst);
    let error = running.stop(Duration::from_millis(200)).await.unwrap_err();
    let RunError::Stragglers { stragglers } = &error else { panic!("{error}") };
    assert!(stragglers[0].contains("its last checkpoint was not stored"), "{stragglers:?}");
}

#[tokio::test]
async fn a_delay_that_no_clock_can_hold_is_a_long_one() {
    for parallel in [false, true] {
        let store = MemoryStore::new();
        append(&store, 0..1, 0).await;
        let journal = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            log.push(call.n);
            async { Ok(Flow::RetryAfter(Duration::MAX)) }
        });
        let builder = if parallel {
            bundle(&store).component(Pooled(script)).executor(lanes(1)).checkpoint_mode(CheckpointMode::Watermark)
        } else {
            bundle(&store).component(crate::scripted::Plain(script))
        };
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("it waits", || {
            running.status()[0].reason == Some(evento_runtime::consumer::StallReason::BackingOff)
        })
        .await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(journal.len(), 1);
        stop(running).await;
    }
}

/// Its hook never returns.
struct Hanging;

#[projector(version = 1)]
impl Hanging {
    #[on_start]
    async fn forever(&self) {
        std::future::pending::<()>().await;
    }

    #[event_handler]
    async fn made(&self, event: Made) {
        let _ = event;
    }
}

#[tokio::test]
async fn a_hook_that_does_not_return_keeps_no_process() {
    let bundle_of =
        || bundle(&MemoryStore::new()).component(Hanging).stop_deadline(Duration::from_millis(100)).build().unwrap();
    let began = tokio::time::Instant::now();
    let error = bundle_of().run_until(tokio::time::sleep(Duration::from_millis(50))).await.unwrap_err();
    assert!(matches!(error, RunError::GivenUp), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5));
    // So does a start that nobody waits for any more.
    let mut start = Box::pin(bundle_of().start());
    tokio::select! {
        _ = &mut start => panic!("it cannot have begun"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    drop(start);
}
