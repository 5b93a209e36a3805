//! Who owns a consumer, and what becomes of the one who did.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use evento_runtime::consumer::StallReason;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::identity::{ConsumerId, Epoch, OwnerId};
use evento_runtime::prelude::*;
use evento_runtime::store::{Checkpoint, ConsumerLock, Lease, Settlement, Store};
use evento_runtime::{Bundle, CheckpointMode, StoreError, StoreErrorKind};
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{Journal, Plain, Pooled, Script, lanes, over, settled, stop, tasks};

#[tokio::test]
async fn f04_a_stale_owner_writes_nothing_and_the_checkpoint_never_moves_back() {
    for place in places().await {
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let pooled = over(ConsumerEngineConfig::of(&place.store)).component(Pooled(gated(&journal, &gate)));
        let running = begun(pooled.executor(lanes(4)).checkpoint_mode(CheckpointMode::Watermark)).await;
        let last = put(&place.store, made(0..4)).await;
        evento_tests::eventually("four run", || journal.len() == 4).await;
        let epoch = running.status()[0].epoch.0;
        // Somebody else has taken over, and has handled all of them.
        let lease = Lease { consumer: id("Pooled"), owner: place.store.stores.lock.owner(), epoch: Epoch(epoch + 5) };
        let mut passed = Settlement::default();
        passed.checkpoint = Some(Checkpoint { watermark: Some(last.clone()), reach: Some(last.clone()), open: vec![] });
        place.store.stores.state.settle(&lease, passed).await.unwrap();
        gate.add_permits(1_000);
        for _ in 0..20 {
            let state = state(&place.store, "Pooled").await;
            assert!(state.epoch.0 >= epoch + 5, "{}: a stale write landed", place.name);
            let stored = state.checkpoint.unwrap().watermark;
            assert!(stored.as_ref() >= Some(&last), "{}: the checkpoint moved back", place.name);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        evento_tests::eventually("it owns again", || running.status()[0].epoch.0 > epoch + 5).await;
        let last = put(&place.store, made(4..8)).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(sorted(&journal), (0..8).collect::<Vec<_>>(), "{}: what was passed is not run again", place.name);
        assert_eq!(watermark(&place.store, "Pooled").await, Some(last), "{}", place.name);
        place.close().await;
    }
}

/// Begins and ends of handlers of two processes.
fn marking(journal: &Journal<(u8, u64, bool)>, process: u8, gate: &Arc<Semaphore>) -> Script {
    let (journal, gate) = (journal.clone(), Arc::clone(gate));
    Script::new(move |call| {
        let (journal, gate) = (journal.clone(), Arc::clone(&gate));
        async move {
            journal.push((process, call.n, true));
            gate.acquire().await.unwrap().forget();
            journal.push((process, call.n, false));
            Ok(Flow::Continue)
        }
    })
}

#[tokio::test]
async fn f05_nobody_else_begins_while_work_of_an_owner_is_in_flight() {
    for place in places().await {
        for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
            let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
            let other = place.again().await;
            let process = |number, store: &Store| {
                let pooled = over(ConsumerEngineConfig::of(store)).component(Pooled(marking(&journal, number, &gate)));
                pooled.executor(tasks(4)).checkpoint_mode(mode)
            };
            let first = begun(process(1, &place.store)).await;
            let last = put(&place.store, made(0..8)).await;
            evento_tests::eventually("four run", || journal.len() == 4).await;
            let second = begun(process(2, &other)).await;
            assert_eq!(second.status()[0].reason, Some(StallReason::Standby), "{}", place.name);
            let stopping = tokio::spawn(stop(first));
            // Longer than it takes to ask whether an owner is gone.
            tokio::time::sleep(Duration::from_millis(1_200)).await;
            assert_eq!(journal.len(), 4, "{}: something began beside what runs", place.name);
            gate.add_permits(1_000);
            stopping.await.unwrap();
            settled(&second, &last).await;
            stop(second).await;
            let all = journal.all();
            let begins = |process| all.iter().filter(move |(by, _, begins)| *by == process && *begins);
            let mut begun: Vec<u64> = begins(1).chain(begins(2)).map(|(_, n, _)| *n).collect();
            begun.sort_unstable();
            assert_eq!(begun, (0..8).collect::<Vec<_>>(), "{} {mode}", place.name);
            let taken = all.iter().position(|(process, ..)| *process == 2).unwrap();
            assert!(all[taken..].iter().all(|(process, ..)| *process == 2), "{} {mode}: {all:?}", place.name);
            close(other).await;
        }
        place.close().await;
    }
}

#[tokio::test]
async fn f36_a_new_process_that_joins_before_the_old_one_leaves_keeps_everything() {
    for place in places().await {
        let journal = Journal::default();
        let plain = |store: &Store| over(ConsumerEngineConfig::of(store)).component(Plain(noting(&journal)));
        let mut old = (begun(plain(&place.store)).await, None);
        for generation in 0..2 {
            let store = place.again().await;
            let new = begun(plain(&store)).await;
            let last = put(&place.store, made(generation * 10..generation * 10 + 5)).await;
            settled(&old.0, &last).await;
            stop(old.0).await;
            if let Some(store) = old.1 {
                close(store).await;
            }
            let known = store.stores.state.consumers("b").await.unwrap();
            assert_eq!(known, [id("Plain")], "{}: the one who left took it along", place.name);
            let last = put(&store, made(generation * 10 + 5..generation * 10 + 10)).await;
            settled(&new, &last).await;
            old = (new, Some(store));
        }
        stop(old.0).await;
        assert_eq!(journal.all(), (0..20).collect::<Vec<_>>(), "{}", place.name);
        if let Some(store) = old.1 {
            close(store).await;
        }
        place.close().await;
    }
}

/// A lock that cannot be given back.
struct Sticky(Arc<dyn ConsumerLock>);

#[async_trait]
impl ConsumerLock for Sticky {
    fn owner(&self) -> OwnerId {
        self.0.owner()
    }

    fn lease_duration(&self) -> Duration {
        self.0.lease_duration()
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        self.0.acquire(consumer, above).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        self.0.renew(leases).await
    }

    async fn release(&self, _lease: &Lease) -> Result<(), StoreError> {
        Err(StoreError::new(StoreErrorKind::Connection, "sticky"))
    }
}

#[tokio::test]
async fn f42_an_ownership_that_cannot_be_given_back_masks_no_success() {
    for place in places().await {
        let mut config = ConsumerEngineConfig::of(&place.store);
        config.processor.lock = Arc::new(Sticky(config.processor.lock));
        let journal = Journal::default();
        let running = begun(over(config).component(Plain(noting(&journal)))).await;
        let last = put(&place.store, made(0..5)).await;
        settled(&running, &last).await;
        running.stop(Duration::from_secs(10)).await.unwrap();
        assert_eq!(watermark(&place.store, "Plain").await, Some(last), "{}", place.name);
        // Whoever has the lease may give it back as often as it likes.
        let epoch = state(&place.store, "Plain").await.epoch;
        let lease = Lease { consumer: id("Plain"), owner: place.store.stores.lock.owner(), epoch };
        for _ in 0..3 {
            place.store.stores.lock.release(&lease).await.unwrap();
        }
        let running = begun(over(ConsumerEngineConfig::of(&place.store)).component(Plain(noting(&journal)))).await;
        let last = put(&place.store, made(5..10)).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(journal.all(), (0..10).collect::<Vec<_>>(), "{}", place.name);
        place.close().await;
    }
}

#[tokio::test]
async fn f48_two_bundles_of_one_process_know_nothing_of_each_other() {
    for place in places().await {
        let journals = [Journal::default(), Journal::default()];
        let bundle = |name: &str, journal| {
            let builder = Bundle::builder(name).store(ConsumerEngineConfig::of(&place.store));
            builder.component(Plain(noting(journal))).checkpoint_interval(Duration::from_millis(5))
        };
        let one = begun(bundle("one", &journals[0])).await;
        // What is linked into the process is not what a bundle runs.
        let two = begun(bundle("two", &journals[1]).component(Told(noting(&Journal::default())))).await;
        let names = |running: &evento_runtime::Running| {
            running.status().iter().map(|one| one.consumer.component.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((names(&one), names(&two)), (vec!["Plain".into()], vec!["Plain".into(), "Told".into()]));
        let last = put(&place.store, made(0..10)).await;
        settled(&one, &last).await;
        stop(one).await;
        let last = put(&place.store, made(10..20)).await;
        settled(&two, &last).await;
        stop(two).await;
        assert_eq!((journals[0].len(), journals[1].len()), (10, 20), "{}", place.name);
        let known = place.store.stores.state.consumers("one").await.unwrap();
        assert_eq!(known.iter().map(|one| &*one.bundle).collect::<Vec<_>>(), ["one"], "{}", place.name);
        // The one that was stopped goes on where it was.
        let one = begun(bundle("one", &journals[0])).await;
        settled(&one, &last).await;
        stop(one).await;
        assert_eq!(journals[0].all(), (0..20).collect::<Vec<_>>(), "{}", place.name);
        place.close().await;
    }
}
