//! The store as an instance sees it: every call may fail before or after it took effect, be late, or be the last thing
//! its process did.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::async_trait;
use evento_runtime::error::{AppendError, StoreError, StoreErrorKind};
use evento_runtime::event::{StoredEvent, Timestamp};
use evento_runtime::identity::{ConsumerId, Epoch, OwnerId};
use evento_runtime::source::{
    Append, Appended, Batch, EventFilter, EventSource, EventStore, FetchLimits, PositionCheck,
};
use evento_runtime::store::{
    ConsumerLock, ConsumerState, ConsumerStateStore, DeadEventQueue, Lease, LetterFilter, ParkedRow, RecordedAttempt,
    Settlement, Store, StoreConfig, StoredDeadLetter, Stores,
};
use evento_runtime::{Position, deps};
use evento_tests::ledger::Ledger;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::consumers::Component;
use crate::instance::Instance;
use crate::planted::Plant;
use crate::world::Fault;

/// The faulty layer around the store of one instance.
#[derive(Clone)]
pub(crate) struct Spi(pub(crate) Arc<Instance>);

impl Spi {
    fn layered(self) -> Store {
        let store = self.0.store.clone();
        let this = Arc::new(self);
        Store {
            events: Arc::clone(&this) as _,
            stores: Stores {
                state: Arc::clone(&this) as _,
                lock: Arc::clone(&this) as _,
                dead_letters: Arc::clone(&this) as _,
                sagas: Arc::clone(&this) as _,
                claims: this,
                ..store.stores
            },
            ..store
        }
    }

    fn failed(&self, kind: StoreErrorKind) -> StoreError {
        self.0.world.history().figures.faults += 1;
        StoreError::new(kind, "faulty")
    }

    fn crash(&self, call: &str) {
        self.0.world.history().figures.crashes += 1;
        self.0.die(call);
    }

    /// One call. What has left the process may arrive after its death.
    pub(crate) async fn call<T>(
        &self,
        call: &str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let instance = &self.0;
        instance.gate().await;
        let trouble = instance.world.trouble();
        if trouble.fault == Some(Fault::CrashBefore) {
            self.crash(call);
        }
        if !trouble.before.is_zero() {
            tokio::time::sleep(trouble.before).await;
        }
        if instance.is_dead() && !trouble.arrives {
            instance.gate().await;
        }
        if let Some(Fault::Before(kind)) = trouble.fault {
            let error = self.failed(kind);
            instance.world.history().tell(|| format!("#{} {call} fails: {kind:?}", instance.id));
            return Err(error);
        }
        let result = work.await;
        if trouble.fault == Some(Fault::CrashAfter) {
            self.crash(call);
        }
        if !trouble.after.is_zero() {
            tokio::time::sleep(trouble.after).await;
        }
        instance.gate().await;
        if let Some(Fault::After(kind)) = trouble.fault {
            let error = self.failed(kind);
            instance.world.history().tell(|| format!("#{} {call} was done, and fails: {kind:?}", instance.id));
            return Err(error);
        }
        result
    }

    /// What the store takes, and what the history says to it.
    async fn store(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let (world, state) = (&self.0.world, &self.0.store.stores.state);
        let (settlement, late) = match world.plant {
            Some(plant) => plant.rewrite(settlement),
            None => (settlement, None),
        };
        if let Some(late) = late {
            let (this, lease) = (self.clone(), lease.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Plant::LATE).await;
                this.0.gate().await;
                // Of a later ownership, it is refused.
                drop(this.taken(&lease, late).await);
            });
        }
        let mut written = lease.clone();
        if world.plant == Some(Plant::ForgottenEpoch) {
            written.epoch = written.epoch.max(state.load(&lease.consumer).await?.epoch);
        }
        state.settle(&written, settlement.clone()).await?;
        self.note(lease, &settlement).await
    }

    async fn taken(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.0.store.stores.state.settle(lease, settlement.clone()).await?;
        self.note(lease, &settlement).await
    }

    pub(crate) async fn note(&self, lease: &Lease, settlement: &Settlement) -> Result<(), StoreError> {
        let state = self.0.store.stores.state.load(&lease.consumer).await?;
        self.0.world.read_log();
        let component = Component::named(&lease.consumer.component);
        self.0.world.history().stored(component, lease.epoch.0, settlement, state.checkpoint);
        Ok(())
    }
}

#[async_trait]
impl StoreConfig for Spi {
    fn describe(&self) -> String {
        "faulty".to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<deps::Need> {
        Vec::new()
    }

    fn database(&self) -> Option<deps::Need> {
        Some(deps::Need::of::<Ledger>())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok(self.layered())
    }
}

#[async_trait]
impl EventSource for Spi {
    fn describe(&self) -> String {
        "faulty".to_owned()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let next = |after: &Position| after.as_u64().map(|after| Position::from_u64(after + 1));
        let after = match self.0.world.plant {
            Some(Plant::PlusOne) => after.and_then(next),
            _ => after.cloned(),
        };
        self.call("fetch", self.0.store.events.fetch(after.as_ref(), limits, filter)).await
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        self.call("read_exact", self.0.store.events.read_exact(positions)).await
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        self.call("head", self.0.store.events.head()).await
    }

    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError> {
        self.call("before", self.0.store.events.before(time)).await
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        self.call("validate", self.0.store.events.validate(position)).await
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.0.world.hint()
    }
}

#[async_trait]
impl EventStore for Spi {
    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        self.0.store.events.append(batch).await
    }
}

#[async_trait]
impl ConsumerStateStore for Spi {
    fn atomic(&self) -> bool {
        true
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.call("load", self.0.store.stores.state.load(consumer)).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let component = Component::named(&lease.consumer.component);
        self.0.world.history().settling(component, lease.epoch.0);
        let result = self.call("settle", self.store(lease, settlement)).await;
        let fenced = matches!(&result, Err(error) if error.kind() == StoreErrorKind::Fenced);
        self.0.world.history().has_settled(component, lease.epoch.0, fenced);
        result
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.call("attempts", self.0.store.stores.state.attempts(consumer)).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.call("set_enabled", self.0.store.stores.state.set_enabled(consumer, enabled)).await
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.call("paused", self.0.store.stores.state.paused(bundle)).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.call("consumers", self.0.store.stores.state.consumers(bundle)).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.call("forget", self.0.store.stores.state.forget(bundle, component, version)).await
    }
}

#[async_trait]
impl ConsumerLock for Spi {
    fn owner(&self) -> OwnerId {
        self.0.store.stores.lock.owner()
    }

    fn lease_duration(&self) -> Duration {
        self.0.store.stores.lock.lease_duration()
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        let until = Instant::now() + self.lease_duration();
        let component = Component::named(&consumer.component);
        let taken = async {
            let lease = self.0.store.stores.lock.acquire(consumer, above).await?;
            if let Some(lease) = &lease {
                self.0.world.history().taken(component, lease.epoch.0);
            }
            Ok(lease)
        };
        let lease = self.call("acquire", taken).await?;
        if let Some(lease) = &lease {
            self.0.world.history().granted(self.0.id, component, lease.epoch.0, until);
            self.0.keep_lease(component, lease.clone());
        }
        Ok(lease)
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        let until = Instant::now() + self.lease_duration();
        let held = self.call("renew", self.0.store.stores.lock.renew(leases)).await?;
        let mut history = self.0.world.history();
        for (lease, held) in leases.iter().zip(&held) {
            let component = Component::named(&lease.consumer.component);
            history.renewed(component, lease.epoch.0, held.then_some(until));
        }
        drop(history);
        Ok(held)
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let component = Component::named(&lease.consumer.component);
        self.0.gate().await;
        self.0.world.history().released(self.0.id, component, lease.epoch.0);
        self.call("release", self.0.store.stores.lock.release(lease)).await
    }
}

#[async_trait]
impl DeadEventQueue for Spi {
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        self.call("list", self.0.store.stores.dead_letters.list(consumer, which, after, limit)).await
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.call("request", self.0.store.stores.dead_letters.request(consumer, which)).await
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let mut letters = self.call("requested", self.0.store.stores.dead_letters.requested(consumer, limit)).await?;
        if self.0.world.plant == Some(Plant::NewestFirst) {
            letters.reverse();
        }
        Ok(letters)
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.call("wanted", self.0.store.stores.dead_letters.wanted(bundle)).await
    }

    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.call("discard", self.0.store.stores.dead_letters.discard(consumer, which)).await
    }

    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError> {
        self.call("purge", self.0.store.stores.dead_letters.purge(consumer, before)).await
    }

    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        let mut rows = self.call("parked", self.0.store.stores.dead_letters.parked(consumer)).await?;
        if self.0.world.plant == Some(Plant::ForgottenQueue) {
            rows.clear();
        }
        Ok(rows)
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        self.call("count", self.0.store.stores.dead_letters.count(consumer)).await
    }
}
