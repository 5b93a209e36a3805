//! The parts of a store, each given by itself: for those who mix, or bring their own.

use std::sync::Arc;

use async_trait::async_trait;

use crate::deps::{Deps, Need};
use crate::error::StoreError;
use crate::source::EventStore;
use crate::store::{
    AdminStore, ConsumerLock, ConsumerStateStore, DeadEventQueue, DedupeStore, SagaStateStore, Store, StoreConfig,
    Stores, TransactionStore,
};

/// What a [processor](crate::consumer::ConsumerProcessor) works with beside what it settles into.
#[derive(Clone)]
pub struct ProcessorParts {
    /// The log.
    pub events: Arc<dyn EventStore>,
    /// Ownership.
    pub lock: Arc<dyn ConsumerLock>,
    /// Saga instances and timers, as the state store writes them.
    pub saga_state_store: Arc<dyn SagaStateStore>,
    /// Claims, as the state store writes them.
    pub dedupe_store: Arc<dyn DedupeStore>,
}

/// Open SPIs from several places, given to [`BundleBuilder::engine`](crate::BundleBuilder::engine) where one store
/// for everything ([`.store(..)`](crate::BundleBuilder::store)) is not what is wanted: ownership in memory over a
/// state in SQLite, or a lock of your own.
///
/// The state store is what the engines write to, in one [`settle`](ConsumerStateStore::settle) for everything: dead
/// letters, saga instances and claims are read through the other SPIs, and have to be those that it writes. All that a
/// lock and a state store share is the epoch.
///
/// What handlers emit, and the timers of sagas, are appended by the state store to a log of its own, in the step that says
/// that the event was handled. Where that is known to be another log than `events`, a handler with an
/// [`Outbox`](crate::Outbox) stops the launch (`foreign-outbox`); stores of other makers cannot always
/// [say](ConsumerStateStore::emits_into).
///
/// ```
/// use evento_runtime::engine::ConsumerEngineConfig;
/// use evento_runtime::store::{MemoryStore, Store};
///
/// fn owned_in_memory(store: &Store) -> ConsumerEngineConfig {
///     let mut config = ConsumerEngineConfig::of(store);
///     config.processor.lock = MemoryStore::new().store().stores.lock;
///     config
/// }
/// ```
#[derive(Clone)]
pub struct ConsumerEngineConfig {
    /// What the loop works with.
    pub processor: ProcessorParts,
    /// What is settled goes here.
    pub state_store: Arc<dyn ConsumerStateStore>,
    /// Dead letters, as the state store writes them.
    pub dead_event_queue: Arc<dyn DeadEventQueue>,
    /// What operators ask for.
    pub admin_store: Arc<dyn AdminStore>,
    /// Transactions for handlers: of the same database as the state store, which knows what they have completed.
    pub transactions: Option<Arc<dyn TransactionStore>>,
    /// Values that the parts provide to handlers.
    pub supplied: Deps,
}

impl ConsumerEngineConfig {
    /// All from one open store, to replace some. The bundle does not close it.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        let stores = &store.stores;
        Self {
            processor: ProcessorParts {
                events: Arc::clone(&store.events),
                lock: Arc::clone(&stores.lock),
                saga_state_store: Arc::clone(&stores.sagas),
                dedupe_store: Arc::clone(&stores.claims),
            },
            state_store: Arc::clone(&stores.state),
            dead_event_queue: Arc::clone(&stores.dead_letters),
            admin_store: Arc::clone(&stores.admin),
            transactions: stores.transactions.clone(),
            supplied: store.supplied.clone(),
        }
    }
}

#[async_trait]
impl StoreConfig for ConsumerEngineConfig {
    fn describe(&self) -> String {
        self.processor.events.describe()
    }

    /// The caller opened it, and knows.
    fn is_durable(&self) -> bool {
        true
    }

    fn supplies(&self) -> Vec<Need> {
        self.supplied.needs()
    }

    fn database(&self) -> Option<Need> {
        self.transactions.as_ref().map(|transactions| transactions.database())
    }

    fn emits_elsewhere(&self) -> bool {
        let (read, written) = (self.processor.events.log_id(), self.state_store.emits_into());
        read.is_some() && written.is_some() && read != written
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let Self { processor, state_store, dead_event_queue, admin_store, transactions, supplied } = *self;
        Ok(Store {
            events: processor.events,
            stores: Stores {
                state: state_store,
                lock: processor.lock,
                dead_letters: dead_event_queue,
                sagas: processor.saga_state_store,
                claims: processor.dedupe_store,
                admin: admin_store,
                transactions,
            },
            supplied,
            close: None,
        })
    }
}
