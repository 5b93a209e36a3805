//! A database in memory whose transactions handlers can take: entries beside the log and the stores in memory.
//!
//! `tx: &mut Tx<Ledger>` writes entries; they are kept once the transaction is committed, together with what the
//! engine settles in it. A [`Course`] decides what becomes of each step.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use evento_runtime::deps::Need;
use evento_runtime::error::{StoreError, StoreErrorKind};
use evento_runtime::identity::ConsumerId;
use evento_runtime::store::{
    ConsumerState, ConsumerStateStore, Database, Lease, MemoryStore, OpenTransaction, RecordedAttempt, Settlement,
    Store, StoreConfig, Stores, TransactionStore,
};
use evento_runtime::{Position, deps::Deps};
use futures_util::FutureExt as _;

const NAME: &str = "ledger";

/// What has been committed, by all processes.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Committed>>);

#[derive(Default)]
struct Committed {
    entries: Vec<String>,
    /// Known to be handled, and not covered by the checkpoint.
    completed: BTreeMap<ConsumerId, BTreeSet<Position>>,
}

/// What becomes of the steps of transactions.
#[async_trait]
pub trait Course: Send + Sync + 'static {
    /// Before one is open.
    ///
    /// # Errors
    /// None is.
    async fn begin(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Before it is told what was completed.
    ///
    /// # Errors
    /// It is not told.
    async fn asked(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Instead of the commit, which it carries out, or not.
    ///
    /// # Errors
    /// What the engine is told.
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        commit.apply()
    }
}

/// Every step succeeds.
pub struct Plainly;

impl Course for Plainly {}

/// What a transaction has to commit.
pub struct Commit {
    /// Under which ownership.
    pub lease: Lease,
    /// What the engine stores.
    pub settlement: Settlement,
    /// What the handler wrote.
    pub entries: Vec<String>,
    ledger: Ledger,
    state: Arc<dyn ConsumerStateStore>,
}

impl Commit {
    /// Commits, all or nothing.
    ///
    /// # Errors
    /// The server has ended the session, because another owner waited for it.
    pub fn apply(self) -> Result<(), StoreError> {
        let Self { lease, mut settlement, entries, ledger, state } = self;
        let mut committed = ledger.committed();
        let completed = std::mem::take(&mut settlement.completed);
        // The stores in memory never wait.
        if at_once(state.settle(&lease, settlement)).is_err() {
            return Err(StoreError::new(StoreErrorKind::Connection, NAME).detail("the session was ended"));
        }
        committed.entries.extend(entries);
        committed.completed.entry(lease.consumer).or_default().extend(completed);
        Ok(())
    }
}

impl Ledger {
    /// Adds transactions to the stores of one process, which are in memory.
    #[must_use]
    pub fn beside(&self, store: Store, course: Arc<dyn Course>) -> Store {
        let state = Arc::clone(&store.stores.state);
        let book = Arc::new(Book { ledger: self.clone(), state, course });
        Store { stores: Stores { state: Arc::clone(&book) as _, transactions: Some(book), ..store.stores }, ..store }
    }

    /// The same, as configuration of a bundle.
    #[must_use]
    pub fn over(&self, memory: &MemoryStore, course: Arc<dyn Course>) -> Opened {
        Opened(self.beside(memory.store(), course))
    }

    /// Everything handlers have written, in the order of their commits.
    #[must_use]
    pub fn entries(&self) -> Vec<String> {
        self.committed().entries.clone()
    }

    fn committed(&self) -> MutexGuard<'_, Committed> {
        self.0.lock().unwrap()
    }
}

/// Stores that are open already, whatever is around them.
pub struct Opened(pub Store);

#[async_trait]
impl StoreConfig for Opened {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Deps::default().needs()
    }

    fn database(&self) -> Option<Need> {
        self.0.stores.transactions.as_ref().map(|transactions| transactions.database())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok(self.0)
    }
}

/// The ledger as one process sees it.
struct Book {
    ledger: Ledger,
    state: Arc<dyn ConsumerStateStore>,
    course: Arc<dyn Course>,
}

fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

#[async_trait]
impl TransactionStore for Book {
    fn database(&self) -> Need {
        Need::of::<Ledger>()
    }

    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError> {
        self.course.begin().await?;
        let book =
            Self { ledger: self.ledger.clone(), state: Arc::clone(&self.state), course: Arc::clone(&self.course) };
        Ok(Box::new(Open { book, entries: Vec::new(), settled: None }))
    }

    async fn completed(&self, consumer: &ConsumerId) -> Result<Vec<Position>, StoreError> {
        self.course.asked().await?;
        let committed = self.ledger.committed();
        Ok(committed.completed.get(consumer).into_iter().flatten().cloned().collect())
    }
}

/// An open transaction.
pub struct Open {
    book: Book,
    entries: Vec<String>,
    settled: Option<(Lease, Settlement)>,
}

#[async_trait]
impl OpenTransaction for Open {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }

    async fn settle(&mut self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let refused = |kind| Err(StoreError::new(kind, NAME).detail(lease.consumer.to_string()));
        if at_once(self.book.state.load(&lease.consumer))?.epoch > lease.epoch {
            return refused(StoreErrorKind::Fenced);
        }
        let committed = self.book.ledger.committed();
        let known = committed.completed.get(&lease.consumer);
        if known.is_some_and(|known| settlement.completed.iter().any(|position| known.contains(position))) {
            return refused(StoreErrorKind::Conflict);
        }
        self.settled = Some((lease.clone(), settlement));
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let Self { book, entries, settled } = *self;
        let (lease, settlement) = settled.unwrap();
        book.course.commit(Commit { lease, settlement, entries, ledger: book.ledger, state: book.state }).await
    }

    async fn roll_back(self: Box<Self>) {}
}

impl Database for Ledger {
    type Connection = Vec<String>;
    type Transaction = Open;

    fn connection(open: &Open) -> &Vec<String> {
        &open.entries
    }

    fn connection_mut(open: &mut Open) -> &mut Vec<String> {
        &mut open.entries
    }
}

#[async_trait]
impl ConsumerStateStore for Book {
    fn atomic(&self) -> bool {
        self.state.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.state.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let (covered, forget) = (settlement.covered.clone(), settlement.forget_completed);
        self.state.settle(lease, settlement).await?;
        if let Some(completed) = self.ledger.committed().completed.get_mut(&lease.consumer) {
            completed.retain(|position| !forget && !covered.contains(position));
        }
        Ok(())
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.state.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.state.set_enabled(consumer, enabled).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.state.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.state.forget(bundle, component, version).await
    }
}
