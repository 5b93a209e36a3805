//! A store as configuration, and a store that is open.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tracing::{Instrument as _, field};

use super::{
    AdminStore, ConsumerLock, ConsumerStateStore, DeadEventQueue, DedupeStore, SagaStateStore, TransactionStore,
};
use crate::deps::{Deps, Need};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{NewEvent, Timestamp};
use crate::source::{Append, Appended, EventStore, Expected, Prune, Pruned, StreamKey};

/// The SPIs an engine works with.
#[derive(Clone)]
pub struct Stores {
    /// Checkpoints and everything settled with them.
    pub state: Arc<dyn ConsumerStateStore>,
    /// Ownership.
    pub lock: Arc<dyn ConsumerLock>,
    /// Dead letters.
    pub dead_letters: Arc<dyn DeadEventQueue>,
    /// Saga instances and timers.
    pub sagas: Arc<dyn SagaStateStore>,
    /// What observers have begun and ended.
    pub claims: Arc<dyn DedupeStore>,
    /// What operators ask for.
    pub admin: Arc<dyn AdminStore>,
    /// Transactions for handlers, where the store has such.
    pub transactions: Option<Arc<dyn TransactionStore>>,
}

/// Ends a store: joins what it still does and closes its connections.
#[async_trait]
pub trait CloseStore: Send + Sync + 'static {
    /// Any number of times.
    async fn close(&self);
}

/// What `.store(..)` takes: configuration that has done no I/O yet, or a store the user opened.
#[async_trait]
pub trait StoreConfig: Send + Sync + 'static {
    /// For messages and `plan()`: a path, or host and database. Never a credential.
    fn describe(&self) -> String;

    /// Whether what is stored outlives the process.
    fn is_durable(&self) -> bool;

    /// Types that the opened store provides to handlers.
    fn supplies(&self) -> Vec<Need>;

    /// How many handlers can write to it at once; `None`: no such bound.
    fn writers(&self) -> Option<usize> {
        None
    }

    /// The [`Database`](super::Database) whose transactions handlers can take, as `Need::of::<Sqlite>()`; `None`: it
    /// has none.
    fn database(&self) -> Option<Need> {
        None
    }

    /// Whether what handlers emit would go into another log than the one that is read: then a handler with an
    /// [`Outbox`](crate::Outbox) stops the launch. Default: `false`, there is one log.
    fn emits_elsewhere(&self) -> bool {
        false
    }

    /// Opening it makes nothing from now on: a store that is not there, or older than this version, is refused. Default:
    /// nothing changes.
    fn only_existing(&mut self) {}

    /// Opens it.
    ///
    /// # Errors
    /// A typed reason that names the store and what to do; nothing is left half made.
    async fn open(self: Box<Self>) -> Result<Store, StoreError>;
}

/// An open store: log and SPIs. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    /// The log.
    pub events: Arc<dyn EventStore>,
    /// The SPIs.
    pub stores: Stores,
    /// What it provides to handlers.
    pub supplied: Deps,
    /// How the bundle closes it; `None` where the user opened it and closes it.
    pub close: Option<Arc<dyn CloseStore>>,
}

impl Store {
    /// Appends typed events to a stream. `key: None` leaves the key to the events. Within a `tracing` span `append` at
    /// level debug, with the first event's name and the last one's position.
    ///
    /// # Errors
    /// See [`AppendError`].
    ///
    /// # Cancel safety
    /// Dropping the future does not stop an append that has begun; append again with the same ids to know.
    pub async fn append(
        &self,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        let batch = Append::prepare(key, expected, events)?;
        let (events, first) = (batch.events.len(), batch.events.first());
        let span =
            tracing::debug_span!("append", events, event = first.map(|event| &*event.name), position = field::Empty);
        let appended = self.events.append(batch).instrument(span.clone()).await?;
        span.record("position", field::display(&appended.last));
        Ok(appended)
    }

    /// Whether checkpoints are beside the log that they are about.
    pub(crate) fn is_one(&self) -> bool {
        let log = self.events.log_id();
        log.is_some() && log == self.stores.state.emits_into()
    }

    /// Takes events out of the log that were recorded before a point in time and that every consumer has settled: see
    /// [`EventStore::prune`] for what stays. In small transactions, until there is no more or about `at_most` events
    /// were looked at; then [`Pruned::more`] says so.
    ///
    /// # Errors
    /// The store failed; what was taken out before is gone. [`Config`](StoreErrorKind::Config): consumers have their
    /// checkpoints elsewhere, and this log does not know how far they are.
    ///
    /// # Cancel safety
    /// Dropping the future ends it after the transaction that is under way.
    pub async fn prune(&self, before: Timestamp, at_most: usize) -> Result<Pruned, StoreError> {
        self.in_pieces(Prune::before(before), at_most).await
    }

    /// What [`prune`](Self::prune) would take out right now, counted in the same way.
    ///
    /// # Errors
    /// As [`prune`](Self::prune).
    pub async fn prunable(&self, before: Timestamp, at_most: usize) -> Result<Pruned, StoreError> {
        self.in_pieces(Prune::before(before).dry(), at_most).await
    }

    async fn in_pieces(&self, mut piece: Prune, at_most: usize) -> Result<Pruned, StoreError> {
        if !self.is_one() {
            let detail = "consumers have their checkpoints in another store than this log, which cannot know how far \
                          they have come; prune it where both are one";
            return Err(StoreError::new(StoreErrorKind::Config, self.events.describe()).detail(detail));
        }
        let (mut events, mut looked_at) = (0, 0);
        loop {
            let pruned = self.events.prune(&piece).await?;
            events += pruned.events;
            looked_at += piece.events;
            if !pruned.more || looked_at >= at_most {
                return Ok(Pruned { events, ..pruned });
            }
            piece.after = pruned.to;
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.events.describe())
    }
}
