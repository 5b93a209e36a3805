//! What the engines keep: checkpoints, ownership, dead letters. The SPIs, and the plain data that passes through them.

mod admin;
mod attempt;
mod checkpoint;
mod claim;
mod dead_letter;
mod memory;
mod opened;
mod saga;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub mod sql;
mod transaction;

pub use admin::{AdminStore, AuditRow, CommandAnswer, CommandRow, InstanceRow};
pub use attempt::{OwnershipMark, RecordedAttempt};
pub use checkpoint::{Checkpoint, CheckpointEncoding};
pub use claim::{ClaimState, Claims, DedupeStore};
pub(crate) use dead_letter::fit_text;
pub use dead_letter::{
    DeadLetter, LetterFilter, LetterKind, MAX_ERROR_TEXT, ParkedKey, ParkedRow, ParkedWish, StoredDeadLetter,
    error_text,
};
pub use memory::{Memory, MemoryStore};
pub use opened::{CloseStore, Store, StoreConfig, Stores};
pub use saga::{Association, AssociationError, SagaChange, SagaFound, SagaId, SagaInstance, SagaStateStore, Timer};
#[cfg(feature = "postgres")]
pub use sql::{Gap, Pooler, Postgres, PostgresStore};
#[cfg(feature = "mysql")]
pub use sql::{MySql, MySqlStore};
#[cfg(feature = "sqlite")]
pub use sql::{Sqlite, SqliteStore, SqliteWriter, SqliteWriterGuard, Synchronous};
pub use transaction::{Database, OpenTransaction, TransactionStore, Tx};

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::event::{EventId, Position, Timestamp};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::outcome::ErrorClass;
use crate::source::{LogId, PreparedEvent};

/// The right to work for one consumer, with the epoch that fences its writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// For whom.
    pub consumer: ConsumerId,
    /// Who holds it.
    pub owner: OwnerId,
    /// Which ownership this is.
    pub epoch: Epoch,
}

/// Everything the engines write at once. Data; a store applies it atomically, or in the order of its fields.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settlement {
    /// Rows to upsert, before a checkpoint passes their events.
    pub dead_letters: Vec<DeadLetter>,
    /// Events to append, each unless its id is known: what handlers emitted. An id that is known under other bytes
    /// is known as well: the first run counts.
    pub emitted: Vec<PreparedEvent>,
    /// Dead letters that were handled after all. Their rows stay, as history, and are listed no more.
    pub resolved: Vec<EventId>,
    /// What is to be tried again of parked keys, and what is not any more: for every unresolved letter of each, those of
    /// this settlement included.
    pub parked: Vec<ParkedWish>,
    /// Saga instances that have changed or ended.
    pub sagas: Vec<SagaChange>,
    /// Events to be appended later. One whose instance has ended is not kept.
    pub scheduled: Vec<Timer>,
    /// Timers that are due: each is removed, and its event appended as in [`emitted`](Self::emitted), unless it is gone.
    pub fired: Vec<PreparedEvent>,
    /// What an observer has begun and ended.
    pub claims: Claims,
    /// Forgets every completed position of the consumer, before those of this settlement are written: it is to handle
    /// events again. For a checkpoint of a new epoch that moves back.
    pub forget_completed: bool,
    /// Positions whose events were handled in the transaction that this settlement is written in: known from then on,
    /// whatever the checkpoint says. One that is known already is a [`Conflict`](crate::error::StoreErrorKind::Conflict).
    pub completed: Vec<Position>,
    /// Positions of the same kind that the checkpoint covers: to be forgotten.
    pub covered: Vec<Position>,
    /// Whether the ownership begins or ends with it; `None` for those between.
    pub ownership: Option<OwnershipMark>,
    /// Attempts that are about to begin, and those whose record is not needed any more. The last one of a position
    /// counts.
    pub attempts: Vec<RecordedAttempt>,
    /// Forgets every recorded attempt of the consumer, before those of this settlement are written: it is to handle
    /// events again.
    pub forget_attempts: bool,
    /// The failures to show, whole; `None` leaves what is stored.
    pub errors: Option<ErrorHistory>,
    /// The component's `#[on_start]` hook has run for this version.
    pub started: bool,
    /// Whether the `#[on_reset]` hook has to run before the next event; `None` leaves what is stored.
    pub resetting: Option<bool>,
    /// Everything up to there was passed before, and comes again; `None` leaves what is stored.
    pub replay_to: Option<Position>,
    /// The checkpoint moves back in this store's own log: refused as [`Pruned`](crate::error::StoreErrorKind::Pruned) where
    /// events after it were taken out.
    pub rereads: bool,
    /// How far the consumer has come; `None` leaves what is stored.
    pub checkpoint: Option<Checkpoint>,
}

/// What is stored for a consumer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConsumerState {
    /// `None` before the first write.
    pub checkpoint: Option<Checkpoint>,
    /// The highest epoch the store has seen for it.
    pub epoch: Epoch,
    /// What pause sets. A consumer nobody paused is enabled.
    pub enabled: bool,
    /// Ownerships that have [begun](OwnershipMark::Begins) since the last one that [ended](OwnershipMark::Ends). With
    /// the one that asks counted, 2 and more say that a process ended in the middle of its work.
    pub begun: u64,
    /// Whether the `#[on_start]` hook has run for this bundle, component and version.
    pub started: bool,
    /// Whether the `#[on_reset]` hook has to run before the next event.
    pub resetting: bool,
    /// Everything up to there was passed before.
    pub replay_to: Option<Position>,
    /// The latest failures.
    pub errors: ErrorHistory,
}

impl Default for ConsumerState {
    fn default() -> Self {
        Self {
            checkpoint: None,
            epoch: Epoch(0),
            enabled: true,
            begun: 0,
            started: false,
            resetting: false,
            replay_to: None,
            errors: ErrorHistory::default(),
        }
    }
}

/// The last failures of a consumer, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorHistory {
    /// Failed attempts since the last success.
    pub streak: u64,
    /// At most [`ErrorHistory::KEPT`], oldest first.
    pub recent: Vec<Failure>,
}

impl ErrorHistory {
    /// How many failures are kept.
    pub const KEPT: usize = 20;

    /// Adds a failure, forgetting the oldest.
    pub fn push(&mut self, failure: Failure) {
        self.streak = self.streak.saturating_add(1);
        if self.recent.len() >= Self::KEPT {
            self.recent.remove(0);
        }
        self.recent.push(failure);
    }
}

/// One failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The event.
    pub position: Position,
    /// The handler's method.
    pub handler: String,
    /// How it was treated.
    pub class: ErrorClass,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The error with its causes, shortened to 1 KiB.
    pub error: String,
    /// When.
    pub at: Timestamp,
}

/// Checkpoints, flags and error history. Reading never writes.
#[async_trait]
pub trait ConsumerStateStore: Send + Sync + 'static {
    /// Whether [`settle`](Self::settle) is one transaction.
    fn atomic(&self) -> bool;

    /// The log that [emitted](Settlement::emitted) events are appended to. `None`, the default: it cannot say.
    fn emits_into(&self) -> Option<LogId> {
        None
    }

    /// What is stored; the default state for a consumer never heard of.
    ///
    /// # Errors
    /// The store failed.
    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError>;

    /// The engines' only write. Refused if a higher epoch was ever seen for the consumer; a first write of a higher
    /// epoch than before is remembered. A checkpoint never moves back within an epoch.
    ///
    /// # Errors
    /// [`Fenced`](crate::error::StoreErrorKind::Fenced): nothing was written and the ownership is over.
    /// [`Connection`](crate::error::StoreErrorKind::Connection): the outcome is unknown; repeating it is harmless.
    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError>;

    /// The recorded attempts of a consumer, ascending. Asked for after an ownership that did not end.
    ///
    /// # Errors
    /// The store failed.
    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError>;

    /// Pause or resume.
    ///
    /// # Errors
    /// The store failed.
    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError>;

    /// The consumers of a bundle that are paused.
    ///
    /// # Errors
    /// The store failed.
    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        let mut paused = Vec::new();
        for consumer in self.consumers(bundle).await? {
            if !self.load(&consumer).await?.enabled {
                paused.push(consumer);
            }
        }
        Ok(paused)
    }

    /// Every consumer of a bundle that was ever stored and not forgotten since, sorted.
    ///
    /// # Errors
    /// The store failed.
    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError>;

    /// Drops checkpoint, flags, error history, dead letters, saga instances with their timers, claims, completed
    /// positions and recorded attempts of all consumers of one component version. Answers how many consumers that were. Their epochs stay, so
    /// that writes of before stay refused.
    ///
    /// # Errors
    /// The store failed, or [`Busy`](crate::error::StoreErrorKind::Busy): one of them is owned right now.
    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError>;
}

/// Exclusive ownership of consumers, over all processes.
#[async_trait]
pub trait ConsumerLock: Send + Sync + 'static {
    /// Who this process is.
    fn owner(&self) -> OwnerId;

    /// How long an ownership lasts without renewal.
    fn lease_duration(&self) -> Duration;

    /// How often the keeper calls [`renew`](Self::renew); a third of the duration unless the store was told otherwise.
    fn renew_interval(&self) -> Duration {
        self.lease_duration() / 3
    }

    /// Takes the consumer if nobody owns it. Never waits for an owner. The new epoch is higher than every one before
    /// and than `above` (what the state store has seen).
    ///
    /// # Errors
    /// The store failed; nothing is owned.
    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError>;

    /// Extends ownerships, all at once; answers for each whether it is still held. Called from the keeper's thread only.
    ///
    /// # Errors
    /// The store failed; nothing is known.
    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError>;

    /// Who owns which consumer of a bundle right now, sorted; for people.
    ///
    /// # Errors
    /// The store failed.
    async fn owners(&self, _bundle: &str) -> Result<Vec<Lease>, StoreError> {
        Ok(Vec::new())
    }

    /// Gives an ownership back; any number of times, and after it was lost, harmlessly.
    ///
    /// # Errors
    /// The store failed; the lease will expire by itself.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;
}

/// Reading dead letters, and asking for them to be tried again. Their outcomes are written by
/// [`ConsumerStateStore::settle`] only: a dead letter that comes again is no longer requested.
#[async_trait]
pub trait DeadEventQueue: Send + Sync + 'static {
    /// Unresolved dead letters of a consumer that are meant, after a position, ascending, at most `limit`.
    ///
    /// # Errors
    /// The store failed.
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError>;

    /// Marks unresolved dead letters to be tried again by whoever owns the consumer. Answers how many were marked.
    ///
    /// # Errors
    /// The store failed.
    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError>;

    /// Marked dead letters of a consumer, oldest first, at most `limit`.
    ///
    /// # Errors
    /// The store failed.
    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError>;

    /// The consumers of a bundle that have marked dead letters.
    ///
    /// # Errors
    /// The store failed.
    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError>;

    /// Resolves unresolved dead letters without handling them: their rows stay, as history, and are listed no more. One
    /// that is being tried again right now comes back if it fails. Answers how many.
    ///
    /// # Errors
    /// The store failed.
    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError>;

    /// Deletes the rows of dead letters that were resolved before a point in time. Answers how many.
    ///
    /// # Errors
    /// The store failed.
    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError>;

    /// The unresolved ones that later events queue behind, ascending: what its owner has to know to keep the order of
    /// their keys.
    ///
    /// # Errors
    /// The store failed.
    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError>;

    /// How many unresolved ones a consumer has, of either kind.
    ///
    /// # Errors
    /// The store failed.
    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError>;
}
