//! G23: a bundle that names no executor is the plain loop.

use evento_runtime::Flow;

use crate::scripted::{Journal, MemoryStore, Plain, Script, append, bundle, settled, stop};

#[tokio::test]
async fn without_executors_no_task_is_spawned_per_event() {
    let store = MemoryStore::new();
    let last = append(&store, 0..20_000, 9).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        log.push(call.n);
        async { Ok(Flow::Continue) }
    });
    let running = bundle(&store).component(Plain(script)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    assert_eq!(journal.len(), 20_000);
    // A page is 500 events and a checkpoint covers 256: some tasks for each, none for an event.
    let spawned = running.supervisor().tasks_spawned();
    assert!(spawned < 20_000 / 50, "{spawned} tasks for 20,000 events");
    let status = &running.status()[0];
    assert_eq!((status.counters.started, status.counters.rejected), (20_000, 0));
    stop(running).await;
}
