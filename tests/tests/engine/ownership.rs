//! G7: one owner per consumer; a later epoch makes the earlier one step down.

use std::sync::Arc;

use evento_runtime::consumer::StallReason;
use evento_runtime::identity::Epoch;
use evento_runtime::store::{Lease, Settlement};
use evento_runtime::{CheckpointMode, Flow};
use tokio::sync::Semaphore;

use crate::scripted::{Journal, MemoryStore, Plain, Pooled, Script, append, bundle, lanes, settled, stop};

fn counting(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

#[tokio::test]
async fn a_second_instance_stands_by_and_takes_over() {
    let store = MemoryStore::new();
    let last = append(&store, 0..100, 1).await;
    let (one, two) = (Journal::default(), Journal::default());
    let first = bundle(&store).component(Plain(counting(&one))).build().unwrap().start().await.unwrap();
    let second = bundle(&store).component(Plain(counting(&two))).build().unwrap().start().await.unwrap();
    settled(&first, &last).await;
    assert_eq!(second.status()[0].reason, Some(StallReason::Standby));
    stop(first).await;
    let last = append(&store, 100..200, 1).await;
    settled(&second, &last).await;
    assert_eq!((one.len(), two.len()), (100, 100));
    stop(second).await;
}

#[tokio::test]
async fn a_fenced_owner_steps_down_writes_nothing_and_comes_back_in_its_turn() {
    let store = MemoryStore::new();
    append(&store, 0..10, 10).await;
    let gate = Arc::new(Semaphore::new(0));
    let journal = Journal::default();
    let (g, j) = (Arc::clone(&gate), journal.clone());
    let script = Script::new(move |call| {
        let (gate, journal) = (Arc::clone(&g), j.clone());
        async move {
            journal.push(call.n);
            gate.acquire().await.unwrap().forget();
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store)
        .component(Pooled(script))
        .executor(lanes(10))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    evento_tests::eventually("all ten run", || journal.len() == 10).await;
    let status = running.status().remove(0);
    // Somebody else's ownership reaches the state store.
    let stores = running.store().stores.clone();
    let later =
        Lease { consumer: (*status.consumer).clone(), owner: stores.lock.owner(), epoch: Epoch(status.epoch.0 + 5) };
    stores.state.settle(&later, Settlement::default()).await.unwrap();
    gate.add_permits(5);
    evento_tests::eventually("it steps down", || {
        running.status()[0].reason == Some(StallReason::LeaseLost) || running.status()[0].epoch.0 > later.epoch.0
    })
    .await;
    let stored = stores.state.load(&status.consumer).await.unwrap();
    assert!(stored.checkpoint.is_none_or(|checkpoint| checkpoint.watermark.is_none()), "a stale write landed");
    gate.add_permits(1_000);
    evento_tests::eventually("it owns again, with a later epoch", || running.status()[0].epoch.0 > later.epoch.0).await;
    evento_tests::eventually("everything is settled", || running.status()[0].counters.settled >= 10).await;
    stop(running).await;
}
