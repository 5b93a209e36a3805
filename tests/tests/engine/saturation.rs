//! G5, G6, G17: a full executor is shown, counted, and stops nobody else.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::CheckpointMode;
use evento_runtime::consumer::StallReason;
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::prelude::*;
use tokio::sync::Semaphore;

use crate::scripted::{
    Closed, Journal, Made, MemoryStore, Pooled, Script, append, append_all, bundle, lanes, settled, stop, stored, tasks,
};

/// Everything that fits the window waits for a further attempt: those are in it already, and make room. Found by the
/// simulation (seeds 56, 63 and 70).
#[tokio::test]
async fn a_window_full_of_failed_events_is_tried_again() {
    for executor in [lanes(8), tasks(8)] {
        let store = MemoryStore::new();
        let last = append(&store, 0..40, 40).await;
        let script = Script::new(|call| async move {
            if call.attempt > 2 { Ok(Flow::Continue) } else { Err(HandlerError::transient("not there").into()) }
        });
        let running = bundle(&store)
            .component(Pooled(script))
            .executor(executor)
            .checkpoint_mode(CheckpointMode::Watermark)
            .window(4)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        assert!(running.status()[0].counters.transient == 80);
        stop(running).await;
    }
}

/// `Made` on `pool`, `Closed` on `other`.
struct Two(Script);

#[projector(version = 1)]
impl Two {
    #[event_handler(executor = "pool")]
    async fn made(&self, event: Made) -> Result<Flow, BoxError> {
        self.0.run(event.n).await
    }

    #[event_handler(executor = "other")]
    async fn closed(&self, event: Closed) -> Result<Flow, BoxError> {
        self.0.run(event.n).await
    }
}

#[tokio::test]
async fn a_full_executor_is_counted_and_the_other_goes_on() {
    let store = MemoryStore::new();
    let events: Vec<NewEvent> =
        (0..60).map(|n| if n % 2 == 0 { Made { n }.into() } else { Closed { n }.into() }).collect();
    let last = append_all(&store, events).await;
    let gate = Arc::new(Semaphore::new(0));
    let done = Journal::default();
    let (g, d) = (Arc::clone(&gate), done.clone());
    let script = Script::new(move |call| {
        let (gate, done) = (Arc::clone(&g), d.clone());
        async move {
            if call.n % 2 == 0 {
                gate.acquire().await.unwrap().forget();
            }
            done.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store)
        .component(Two(script))
        .executor(tasks(1))
        .executor(ConsumerExecutors::tasks("other", 2))
        .admission_wait(Duration::from_millis(20))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    evento_tests::eventually("the other executor's events are done", || done.len() == 30).await;
    evento_tests::eventually("waits were counted", || running.status()[0].counters.rejected >= 2).await;
    let status = running.status().remove(0);
    assert_eq!(status.reason, Some(StallReason::NoPermit { executor: "pool".to_owned() }));
    assert!(status.watermark.as_ref() < Some(&last), "a full executor is never taken for the head");
    gate.add_permits(1_000);
    settled(&running, &last).await;
    assert_eq!(done.len(), 60, "no gap, nothing twice");
    stop(running).await;
}

#[tokio::test]
async fn the_window_bounds_what_would_run_again_and_one_stuck_event_does_not_fill_it() {
    let store = MemoryStore::new();
    let last = append(&store, 0..2_000, 50).await;
    let gate = Arc::new(Semaphore::new(0));
    let done = Journal::default();
    let (g, d) = (Arc::clone(&gate), done.clone());
    let script = Script::new(move |call| {
        let (gate, done) = (Arc::clone(&g), d.clone());
        async move {
            if call.n == 7 {
                gate.acquire().await.unwrap().forget();
            }
            done.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store)
        .component(Pooled(script))
        .executor(lanes(4))
        .checkpoint_mode(CheckpointMode::Watermark)
        .window(16)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    let cell = running.supervisor().status_cells().remove(0);
    let most = tokio::spawn(async move {
        let mut status = cell.subscribe();
        let mut most = 0;
        while status.changed().await.is_ok() {
            let now = status.borrow_and_update();
            most = most.max(now.exposure);
            if now.counters.settled == 2_000 {
                break;
            }
        }
        most
    });
    // Key k7 has 40 events; all others pass the stuck one.
    evento_tests::eventually("all other keys are done", || done.len() == 2_000 - 40).await;
    gate.add_permits(1);
    settled(&running, &last).await;
    assert!(most.await.unwrap() <= 16);
    stop(running).await;
}

#[tokio::test]
async fn checkpoint_every_event_is_stored_before_the_next_one_starts() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..100, 0).await;
        let script = Script::new(|_| async { Ok(Flow::Continue) });
        let running = bundle(&store)
            .component(Pooled(script))
            .executor(tasks(4))
            .checkpoint_mode(mode)
            .checkpoint_every(1)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let state = stored(&store, "Pooled").await;
        assert!(state.checkpoint.is_some());
    }
}
