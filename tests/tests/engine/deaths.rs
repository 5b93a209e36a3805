//! Loops that die of a panic that is no handler's: shown, begun again, and steered as before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::{ConsumerStatus, Happening, SeekTo, StallReason};
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::executor::{Admission, ConsumerExecutor, ExecutorStats, Permit, Work};
use evento_runtime::identity::{ConsumerId, Epoch, OwnerId};
use evento_runtime::store::{
    ConsumerLock, ConsumerState, ConsumerStateStore, Lease, LetterFilter, RecordedAttempt, Settlement,
};
use evento_runtime::{AdminError, BundleBuilder, CheckpointMode, Flow, HandlerError, Running, StoreError, async_trait};
use tokio::sync::Semaphore;

use crate::reported::parts::{Switch, begun, gated, noting};
use crate::scripted::{
    Journal, Limited, MemoryStore, Plain, Pooled, Script, append, dead_letters, over, settled, stop, tasks,
};

/// How many of the next calls panic.
#[derive(Clone, Default)]
struct Planted(Arc<AtomicU32>);

impl Planted {
    fn plant(&self, panics: u32) {
        self.0.store(panics, Ordering::SeqCst);
    }

    fn call(&self) {
        let planted = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(planted.is_err(), "planted");
    }
}

/// A store whose parts panic when told to.
#[derive(Clone, Default)]
struct Brittle {
    load: Planted,
    paused: Planted,
    renew: Planted,
}

struct State(Arc<dyn ConsumerStateStore>, Brittle);

struct Lock(Arc<dyn ConsumerLock>, Brittle);

impl Brittle {
    fn over(&self, store: &MemoryStore) -> BundleBuilder {
        let mut config = ConsumerEngineConfig::of(&store.store());
        config.state_store = Arc::new(State(config.state_store, self.clone()));
        config.processor.lock = Arc::new(Lock(config.processor.lock, self.clone()));
        over(config).lease_renewal(LeaseRenewal::Runtime)
    }
}

#[async_trait]
impl ConsumerStateStore for State {
    fn atomic(&self) -> bool {
        self.0.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.1.load.call();
        self.0.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.0.settle(lease, settlement).await
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.0.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.0.set_enabled(consumer, enabled).await
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.1.paused.call();
        self.0.paused(bundle).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.0.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.0.forget(bundle, component, version).await
    }
}

#[async_trait]
impl ConsumerLock for Lock {
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
        self.1.renew.call();
        self.0.renew(leases).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.0.release(lease).await
    }
}

/// Waits for a status that is `meant`.
async fn shown(running: &Running, meant: impl FnMut(&ConsumerStatus) -> bool) -> ConsumerStatus {
    let mut status = running.supervisor().status_cells().remove(0).subscribe();
    status.wait_for(meant).await.unwrap().clone()
}

fn death(status: &ConsumerStatus) -> Option<u32> {
    match &status.reason {
        Some(StallReason::LoopRestarts { deaths, .. }) => Some(*deaths),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_dies_is_shown_begins_again_and_is_steered_as_before() {
    let (store, brittle, healed) = (MemoryStore::new(), Brittle::default(), Switch::default());
    let last = append(&store, 0..10, 1).await;
    let journal = Journal::default();
    let (log, well) = (journal.clone(), healed.clone());
    let script = Script::new(move |call| {
        log.push(call.n);
        let end = if call.n == 3 && !well.is_on() {
            Err(HandlerError::permanent("never").into())
        } else {
            Ok(Flow::Continue)
        };
        async { end }
    });
    let running = begun(brittle.over(&store).component(Limited(script))).await;
    settled(&running, &last).await;
    let (consumer, mut events) = (running.consumers().remove(0), running.events());

    brittle.load.plant(2);
    let asked = consumer.seek_keeping(SeekTo::Start).await;
    assert!(matches!(asked, Err(AdminError::LoopDied { .. })), "in the hands of a loop that died: {asked:?}");
    let status = shown(&running, |status| death(status).is_some()).await;
    let Some(StallReason::LoopRestarts { cause, deaths: 1, at }) = status.reason else { panic!("{:?}", status.reason) };
    assert!(cause.contains("planted") && at.as_secs() > 0, "{cause} {at:?}");
    let asked = consumer.skip(last.clone()).await;
    assert!(matches!(asked, Err(AdminError::LoopDied { .. })), "asked while there is none: {asked:?}");
    shown(&running, |status| death(status) == Some(2)).await;
    shown(&running, |status| status.reason == Some(StallReason::CaughtUp)).await;

    let mut heard = Vec::new();
    while let Ok(event) = events.try_recv() {
        heard.push(match event.what {
            Happening::LoopDied { deaths, .. } => format!("death {deaths}"),
            Happening::Started => "started".to_owned(),
            Happening::OwnershipGained { .. } => "owned".to_owned(),
            _ => continue,
        });
    }
    assert_eq!(heard, ["death 1", "started", "death 2", "started", "owned"]);

    assert!(matches!(consumer.skip(last.clone()).await, Err(AdminError::NotOpen { .. })));
    consumer.pause().await.unwrap();
    shown(&running, |status| status.reason == Some(StallReason::Paused)).await;
    consumer.resume().await.unwrap();
    journal.clear();
    healed.turn(true);
    assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
    evento_tests::eventually("it is redriven", || journal.all() == [3]).await;
    shown(&running, |status| status.reason == Some(StallReason::CaughtUp)).await;
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    settled(&running, &last).await;
    assert_eq!(journal.all()[1..], (0..10).collect::<Vec<_>>());
    assert_eq!(dead_letters(&running).await.len(), 0);
    let mut events = running.events();
    stop(running).await;
    assert_eq!(events.recv().await.unwrap().what, Happening::Stopped);
}

/// An executor that panics when it is asked for its second permit.
struct Panicking(Arc<dyn ConsumerExecutor>, AtomicU32);

#[async_trait]
impl ConsumerExecutor for Panicking {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capacity(&self) -> Option<usize> {
        self.0.capacity()
    }

    fn keeps_key_order(&self) -> bool {
        self.0.keeps_key_order()
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        assert!(self.1.fetch_add(1, Ordering::SeqCst) != 1, "no second permit");
        self.0.admit(admission).await
    }

    fn run(&self, permit: Permit, work: Work) {
        self.0.run(permit, work);
    }

    fn stats(&self) -> ExecutorStats {
        self.0.stats()
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_again_beside_what_a_dead_loop_has_left_behind() {
    let store = MemoryStore::new();
    let last = append(&store, 0..2, 0).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let builder = over(store.clone())
        .lease_renewal(LeaseRenewal::Runtime)
        .component(Pooled(gated(&journal, &gate)))
        .executor(Panicking(tasks(2), AtomicU32::new(0)))
        .checkpoint_mode(CheckpointMode::Watermark);
    let running = begun(builder).await;
    let consumer = running.consumers().remove(0);
    let status = shown(&running, |status| death(status).is_some()).await;
    assert_eq!(status.in_flight, 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((journal.all(), death(&consumer.status())), (vec![0], Some(1)));
    gate.add_permits(3);
    settled(&running, &last).await;
    assert_eq!(journal.all(), [0, 0, 1]);
    stop(running).await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_ends_neither_the_renewals_nor_the_housekeeping() {
    let (store, brittle, journal) = (MemoryStore::new(), Brittle::default(), Journal::default());
    let running = begun(brittle.over(&store).component(Plain(noting(&journal)))).await;
    let consumer = running.consumers().remove(0);
    let owned = shown(&running, |status| status.epoch != Epoch(0)).await.epoch;
    brittle.renew.plant(1);
    brittle.paused.plant(2);
    consumer.pause().await.unwrap();
    consumer.resume().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(brittle.renew.0.load(Ordering::SeqCst), 0, "it was never renewed");
    let last = append(&store, 0..3, 0).await;
    settled(&running, &last).await;
    assert_eq!((consumer.status().epoch, journal.all()), (owned, vec![0, 1, 2]));
    stop(running).await;
}
