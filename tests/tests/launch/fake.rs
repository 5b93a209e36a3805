//! A store that knows what a test tells it, and remembers what is done to it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use evento_runtime::deps::{Deps, Need};
use evento_runtime::error::{AppendError, StoreError, StoreErrorKind};
use evento_runtime::event::{EventId, Position, StoredEvent, Timestamp};
use evento_runtime::identity::{ConsumerId, Epoch, OwnerId};
use evento_runtime::source::{
    Append, Appended, Batch, EventFilter, EventSource, EventStore, FetchLimits, PositionCheck,
};
use evento_runtime::store::{
    Association, Checkpoint, ClaimState, CloseStore, ConsumerLock, ConsumerState, ConsumerStateStore, DeadEventQueue,
    DedupeStore, Lease, LetterFilter, MemoryStore, ParkedRow, RecordedAttempt, SagaFound, SagaId, SagaInstance,
    SagaStateStore, Settlement, Store, StoreConfig, StoredDeadLetter, Stores, Timer,
};
use tokio::sync::watch;

/// What `open` hands to handlers.
#[derive(Debug, Clone)]
pub(crate) struct Writer;

/// What a test says and sees.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) durable: bool,
    pub(crate) writers: Option<usize>,
    pub(crate) broken: bool,
    pub(crate) database: Option<Need>,
    pub(crate) known: Vec<(ConsumerId, u64)>,
    /// The log ends here.
    pub(crate) head: u64,
    pub(crate) opened: Arc<AtomicUsize>,
    pub(crate) closed: Arc<AtomicUsize>,
    pub(crate) forgotten: Arc<Mutex<Vec<(String, u32)>>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            durable: true,
            writers: None,
            broken: false,
            database: None,
            known: Vec::new(),
            head: 1_000,
            opened: Arc::default(),
            closed: Arc::default(),
            forgotten: Arc::default(),
        }
    }
}

impl Fake {
    pub(crate) fn opened_and_closed(&self) -> (usize, usize) {
        (self.opened.load(Ordering::SeqCst), self.closed.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl StoreConfig for Fake {
    fn describe(&self) -> String {
        "orders.db".to_owned()
    }

    fn is_durable(&self) -> bool {
        self.durable
    }

    fn supplies(&self) -> Vec<Need> {
        vec![Need::of::<Writer>()]
    }

    fn writers(&self) -> Option<usize> {
        self.writers
    }

    fn database(&self) -> Option<Need> {
        self.database
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        if self.broken {
            return Err(StoreError::new(StoreErrorKind::Missing, "orders.db"));
        }
        self.opened.fetch_add(1, Ordering::SeqCst);
        let mut supplied = Deps::default();
        supplied.insert(Writer);
        let this: Arc<Self> = Arc::from(self);
        let stores = Stores {
            state: Arc::clone(&this) as _,
            lock: Arc::clone(&this) as _,
            dead_letters: Arc::clone(&this) as _,
            sagas: Arc::clone(&this) as _,
            claims: Arc::clone(&this) as _,
            admin: MemoryStore::new().store().stores.admin,
            transactions: None,
        };
        Ok(Store { events: Arc::clone(&this) as _, stores, supplied, close: Some(this) })
    }
}

#[async_trait]
impl CloseStore for Fake {
    async fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl EventSource for Fake {
    fn describe(&self) -> String {
        "orders.db".to_owned()
    }

    async fn fetch(&self, _: Option<&Position>, _: FetchLimits, _: &EventFilter) -> Result<Batch, StoreError> {
        Ok(Batch::default())
    }

    async fn read_exact(&self, _: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(Vec::new())
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        Ok(Some(Position::from_u64(self.head)))
    }

    async fn before(&self, _: Timestamp) -> Result<Option<Position>, StoreError> {
        self.head().await
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        if position.as_u64() > Some(self.head) {
            return Ok(PositionCheck::HistoryLost(format!("the log ends at {}", self.head)));
        }
        Ok(PositionCheck::Usable)
    }

    fn wake(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}

#[async_trait]
impl EventStore for Fake {
    async fn append(&self, _: Append) -> Result<Appended, AppendError> {
        Err(AppendError::Empty)
    }
}

#[async_trait]
impl ConsumerStateStore for Fake {
    fn atomic(&self) -> bool {
        true
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        let mut state = ConsumerState::default();
        if let Some((_, at)) = self.known.iter().find(|(known, _)| known == consumer) {
            let position = Some(Position::from_u64(*at));
            state.checkpoint = Some(Checkpoint { watermark: position.clone(), reach: position, open: Vec::new() });
        }
        Ok(state)
    }

    async fn settle(&self, _: &Lease, _: Settlement) -> Result<(), StoreError> {
        Ok(())
    }

    async fn attempts(&self, _: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        Ok(Vec::new())
    }

    async fn set_enabled(&self, _: &ConsumerId, _: bool) -> Result<(), StoreError> {
        Ok(())
    }

    async fn consumers(&self, _: &str) -> Result<Vec<ConsumerId>, StoreError> {
        let forgotten = self.forgotten.lock().unwrap();
        let kept = |id: &ConsumerId| {
            !forgotten.iter().any(|(name, version)| **name == *id.component && *version == id.version)
        };
        Ok(self.known.iter().map(|(id, _)| id.clone()).filter(kept).collect())
    }

    async fn forget(&self, _: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.forgotten.lock().unwrap().push((component.to_owned(), version));
        Ok(1)
    }
}

#[async_trait]
impl ConsumerLock for Fake {
    fn owner(&self) -> OwnerId {
        OwnerId::generate()
    }

    fn lease_duration(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        Ok(Some(Lease { consumer: consumer.clone(), owner: self.owner(), epoch: Epoch(above.0 + 1) }))
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        Ok(vec![true; leases.len()])
    }

    async fn release(&self, _: &Lease) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl DeadEventQueue for Fake {
    async fn list(
        &self,
        _: &ConsumerId,
        _: &LetterFilter,
        _: Option<&Position>,
        _: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        Ok(Vec::new())
    }

    async fn request(&self, _: &ConsumerId, _: &LetterFilter) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn requested(&self, _: &ConsumerId, _: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        Ok(Vec::new())
    }

    async fn wanted(&self, _: &str) -> Result<Vec<ConsumerId>, StoreError> {
        Ok(Vec::new())
    }

    async fn discard(&self, _: &ConsumerId, _: &LetterFilter) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn purge(&self, _: &ConsumerId, _: Timestamp) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn parked(&self, _: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn count(&self, _: &ConsumerId) -> Result<u64, StoreError> {
        Ok(0)
    }
}

#[async_trait]
impl SagaStateStore for Fake {
    async fn find(&self, _: &ConsumerId, _: &Association, _: SagaId) -> Result<SagaFound, StoreError> {
        Ok(SagaFound::Unknown)
    }

    async fn instances(&self, _: &ConsumerId, _: Option<SagaId>, _: usize) -> Result<Vec<SagaInstance>, StoreError> {
        Ok(Vec::new())
    }

    async fn timers(&self, _: &ConsumerId, _: usize) -> Result<Vec<Timer>, StoreError> {
        Ok(Vec::new())
    }

    async fn sweep_ended(&self, _: &str, _: Duration) -> Result<u64, StoreError> {
        Ok(0)
    }
}

#[async_trait]
impl DedupeStore for Fake {
    async fn claims(&self, _: &ConsumerId, _: &[EventId]) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
        Ok(Vec::new())
    }

    async fn sweep_claims(&self, _: &str, _: Duration) -> Result<u64, StoreError> {
        Ok(0)
    }
}
