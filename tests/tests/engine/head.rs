//! G8, G13, G17: the watermark passes what nobody handles; starting waits for what is settled.

use std::time::Duration;

use evento_runtime::CheckpointMode;
use evento_runtime::prelude::*;

use crate::scripted::{
    Foreign, Journal, Made, MemoryStore, Plain, Pooled, Script, append, append_all, bundle, lanes, settled, stop,
};

async fn append_foreign(store: &MemoryStore, count: u64) -> Position {
    let events: Vec<NewEvent> = (0..count).map(|n| Foreign { n }.into()).collect();
    append_all(store, events).await
}

fn count(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

#[tokio::test]
async fn pages_of_foreign_events_are_passed_and_not_read_again() {
    let store = MemoryStore::new();
    append_foreign(&store, 1_700).await;
    append(&store, [1], 1).await;
    let last = append_foreign(&store, 1_700).await;
    let journal = Journal::default();
    let running = bundle(&store).component(Plain(count(&journal))).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(journal.all(), [1]);
    // The stored checkpoint passed them too: the next run begins behind them.
    let running = bundle(&store).component(Plain(count(&journal))).build().unwrap().start().await.unwrap();
    assert!(
        running.status()[0].watermark.as_ref() >= Some(&last) || {
            settled(&running, &last).await;
            journal.len() == 1
        }
    );
    stop(running).await;
}

#[tokio::test]
async fn foreign_events_between_parallel_ones_pin_nothing() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let events: Vec<NewEvent> = (0..3_000)
            .map(|n| {
                if n % 10 == 0 { Foreign { n }.into() } else { NewEvent::from(Made { n }).key(format!("k{}", n % 40)) }
            })
            .collect();
        let last = append_all(&store, events).await;
        let journal = Journal::default();
        let running = bundle(&store)
            .component(Pooled(count(&journal)))
            .executor(lanes(16))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        assert_eq!(running.status()[0].open, 0);
        stop(running).await;
        assert_eq!(journal.len(), 2_700);
    }
}

/// Opted in to be waited for.
struct Gate(Script);

#[projector(version = 1, wait_for_head = true)]
impl Gate {
    #[event_handler(executor = "pool")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        let _ = (meta, attempt, stop);
        self.0.run(event.n).await
    }
}

#[tokio::test]
async fn the_start_waits_until_everything_is_settled_not_only_started() {
    let store = MemoryStore::new();
    append(&store, 0..6, 0).await;
    let done = Journal::default();
    let journal = done.clone();
    let script = Script::new(move |call| {
        let journal = journal.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            journal.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let builder = bundle(&store).component(Gate(script)).executor(crate::scripted::tasks(3));
    let running = builder.build().unwrap().start().await.unwrap();
    assert_eq!(done.len(), 6);
    stop(running).await;
}

#[tokio::test]
async fn an_empty_log_is_no_reason_to_wait() {
    let store = MemoryStore::new();
    let builder = bundle(&store)
        .component(Gate(Script::new(|_| async { Ok(Flow::Continue) })))
        .executor(crate::scripted::tasks(3));
    stop(builder.build().unwrap().start().await.unwrap()).await;
}

#[tokio::test]
async fn an_append_wakes_a_consumer_that_has_caught_up() {
    let store = MemoryStore::new();
    let journal = Journal::default();
    let running = bundle(&store).component(Plain(count(&journal))).build().unwrap().start().await.unwrap();
    for n in 0..50 {
        append(&store, [n], 1).await;
        evento_tests::eventually("the event is handled", || journal.len() as u64 == n + 1).await;
    }
    stop(running).await;
}
