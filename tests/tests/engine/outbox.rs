//! What handlers emit: stored with the checkpoint that passes the handled event, once, and only if the handler succeeds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use evento_runtime::CheckpointMode;
use evento_runtime::prelude::*;

use crate::checkpoint::faulty;
use crate::scripted::{Foreign, Journal, Made, MemoryStore, append, bundle, dead_letters, lanes, over, settled, stop};

#[derive(Debug, Clone, Event, serde::Serialize, serde::Deserialize)]
struct Invoiced {
    n: u64,
}

/// Emits two events for each; fails for every fifth the first time, after it has emitted.
struct Invoicing;

#[projector(version = 1)]
impl Invoicing {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms")]
    async fn made(&self, event: Made, attempt: Attempt, outbox: Outbox) -> Result<(), BoxError> {
        outbox.emit(NewEvent::from(Invoiced { n: event.n }).key(format!("invoice-{}", event.n)));
        outbox.emit(Invoiced { n: event.n + 1_000_000 });
        if event.n.is_multiple_of(5) && attempt.0 == 1 { Err("not yet".into()) } else { Ok(()) }
    }
}

/// The same in its own loop.
struct Slowly;

#[projector(version = 1)]
impl Slowly {
    #[event_handler]
    async fn made(&self, event: Made, outbox: Outbox) {
        outbox.emit(Foreign { n: event.n });
    }
}

/// Reads what the others emit.
struct Ledger(Journal<u64>);

#[projector(version = 1)]
impl Ledger {
    #[event_handler]
    async fn invoiced(&self, event: Invoiced) {
        self.0.push(event.n);
    }

    #[event_handler]
    async fn foreign(&self, event: Foreign) {
        self.0.push(event.n + 5_000_000);
    }
}

fn expected() -> Vec<u64> {
    (0..200).chain(1_000_000..1_000_200).chain(5_000_000..5_000_200).collect()
}

fn sorted(journal: &Journal<u64>) -> Vec<u64> {
    let mut all = journal.all();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn what_succeeds_emits_once_and_what_fails_emits_nothing() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        append(&store, 0..200, 9).await;
        let journal = Journal::default();
        let running = bundle(&store)
            .component(Invoicing)
            .component(Slowly)
            .component(Ledger(journal.clone()))
            .executor(lanes(8))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        evento_tests::eventually("everything that was emitted is handled", || journal.len() >= 600).await;
        let head = running.store().events.head().await.unwrap().unwrap();
        settled(&running, &head).await;
        assert_eq!(sorted(&journal), expected());
        assert_eq!(head.as_u64(), Some(800));
        stop(running).await;
    }
}

#[tokio::test]
async fn a_write_that_was_stored_although_it_failed_emits_nothing_twice() {
    let store = MemoryStore::new();
    append(&store, 0..200, 9).await;
    let journal = Journal::default();
    let running = over(faulty(&store, 20, true))
        .component(Invoicing)
        .component(Slowly)
        .component(Ledger(journal.clone()))
        .executor(lanes(8))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    evento_tests::eventually("everything that was emitted is handled", || journal.len() >= 600).await;
    let head = running.store().events.head().await.unwrap().unwrap();
    settled(&running, &head).await;
    assert_eq!(sorted(&journal), expected());
    stop(running).await;
}

/// Emits what no store takes.
struct Careless(Arc<AtomicU32>);

#[projector(version = 1)]
impl Careless {
    #[event_handler(retry = 3)]
    async fn made(&self, event: Made, outbox: Outbox) {
        let _ = event;
        self.0.fetch_add(1, Ordering::SeqCst);
        outbox.emit(NewEvent::raw("no name", "text/plain", "x"));
    }
}

#[tokio::test]
async fn an_event_that_no_store_takes_is_a_permanent_failure() {
    let store = MemoryStore::new();
    let last = append(&store, 0..1, 1).await;
    let calls = Arc::new(AtomicU32::new(0));
    let running = bundle(&store).component(Careless(Arc::clone(&calls))).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await;
    assert!(dead[0].letter.error.contains("event name `no name`"), "{}", dead[0].letter.error);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    stop(running).await;
}
