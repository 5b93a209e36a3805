//! Where events come from, and where new ones are put.

mod append;
mod browse;
mod filter;
pub(crate) mod memory;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) mod pages;
mod prune;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(crate) mod sql;

pub(crate) use append::KnownEvent;
pub use append::{Append, Appended, Expected, MAX_METADATA, MAX_PAYLOAD, PreparedEvent, StreamKey, WARN_PAYLOAD};
pub use browse::Browse;
pub use filter::EventFilter;
pub use prune::{Prune, Pruned};

use std::fmt;

use async_trait::async_trait;
use tokio::sync::watch;

use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{Position, StoredEvent, Timestamp};

/// How much a fetch may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Events at most; at least 1.
    pub events: usize,
    /// Payload and metadata bytes after which the page ends; one event is always returned, however large.
    pub bytes: usize,
}

/// A page of a source.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Matching events, ascending, all above the position asked for.
    pub events: Vec<StoredEvent>,
    /// Every match at or below it is in `events` or was asked past. A full page: its last event. Otherwise the
    /// highest position below which nothing can appear any more, matching or not. `None`: the source is empty.
    pub read_to: Option<Position>,
    /// Whether more may be there right now: the page ended because it was full.
    pub more: bool,
}

/// Which log it is: equal for two handles of one log, and for no two logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogId(String);

impl LogId {
    /// From what no other log has, such as address, database and table.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Whether a stored position still means something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionCheck {
    /// Reading can go on from it.
    Usable,
    /// The source no longer has what follows it, or never had it: another source, a restored backup, a truncation.
    HistoryLost(String),
}

/// What reading from a position says that this source cannot have given out.
pub(crate) fn foreign_position(store: &str, position: &Position) -> StoreError {
    let detail = format!("position {position} is not one of this log; it belongs to another source");
    StoreError::new(StoreErrorKind::Corrupt, store).detail(detail)
}

impl PositionCheck {
    /// For a log whose positions are numbers.
    pub(crate) fn of_number(position: &Position, head: Option<&Position>) -> Self {
        match head {
            _ if position.as_u64().is_none() => {
                Self::HistoryLost(format!("the checkpoint stands at {position}, which another source gave out"))
            }
            Some(head) if position <= head => Self::Usable,
            head => Self::history_lost(position, head),
        }
    }

    /// What a source says whose head is below a stored position.
    fn history_lost(position: &Position, head: Option<&Position>) -> Self {
        Self::HistoryLost(match head {
            Some(head) => format!("the checkpoint stands at {position}, the log ends at {head}"),
            None => format!("the checkpoint stands at {position}, the log is empty"),
        })
    }
}

/// What holds a log: a place that a transaction may still fill. Nothing above it is read before that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// The lowest position that is missing.
    pub at: Position,
    /// Who may fill it, as far as the source can tell, each with what it does.
    pub by: Vec<String>,
}

impl Held {
    /// At a position, by those.
    #[must_use]
    pub const fn new(at: Position, by: Vec<String>) -> Self {
        Self { at, by }
    }
}

/// `position 2, by process 4711 (psql, idle in transaction, begun 40 s ago)`.
impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {}, by ", self.at)?;
        match self.by.is_empty() {
            true => f.write_str("a transaction that is not seen"),
            false => f.write_str(&self.by.join(", ")),
        }
    }
}

/// An ordered, append-only feed.
///
/// What is committed is delivered, even if a lower position commits later: a source never returns a `read_to`
/// at or above a position that a running writer may still fill.
#[async_trait]
pub trait EventSource: Send + Sync + 'static {
    /// For messages: a path, or host and database. Never a credential.
    fn describe(&self) -> String;

    /// Matching events after `after` (`None`: from the beginning).
    ///
    /// # Errors
    /// The store failed; nothing is known about the page.
    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError>;

    /// The events at exactly these positions, ascending; absent ones are left out.
    ///
    /// # Errors
    /// The store failed.
    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError>;

    /// The highest position below which nothing can appear any more; `None` for an empty source.
    ///
    /// # Errors
    /// The store failed.
    async fn head(&self) -> Result<Option<Position>, StoreError>;

    /// The highest position that is there, although lower ones may still appear; the [`head`](Self::head) where that
    /// cannot happen.
    ///
    /// # Errors
    /// The store failed.
    async fn newest(&self) -> Result<Option<Position>, StoreError> {
        self.head().await
    }

    /// The last position before the first event that was recorded at `time` or later; the head if there is no such
    /// event, `None` if it is the first one.
    ///
    /// # Errors
    /// The store failed.
    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError>;

    /// How many events stand after `after` (`None`: from the beginning), whatever their names; counting ends at
    /// `at_most`. Where lower positions may still appear, those above them count as well.
    ///
    /// The default reads them page by page; a source that can count does so.
    ///
    /// # Errors
    /// The store failed.
    async fn count_after(&self, after: Option<&Position>, at_most: u64) -> Result<u64, StoreError> {
        browse::count_by_reading(self, after, at_most).await
    }

    /// The positions of events that a person wants to see, at most `limit`. Without a way of the source's own the log is
    /// read for it from one end to the other.
    ///
    /// # Errors
    /// The store failed.
    async fn positions(&self, which: &Browse, limit: usize) -> Result<Vec<Position>, StoreError> {
        browse::by_reading(self, which, limit).await
    }

    /// Whether a stored checkpoint's position belongs to this source.
    ///
    /// # Errors
    /// The store failed; ask again later.
    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError>;

    /// Up to which position events may be gone: taken out once every consumer had settled them. Whoever has not come so
    /// far does not get them. Waits for whoever takes some out right now. Default: `None`, everything is there.
    ///
    /// # Errors
    /// The store failed.
    async fn pruned(&self) -> Result<Option<Position>, StoreError> {
        Ok(None)
    }

    /// What the log has been held by for longer than a moment, as the last [`fetch`](Self::fetch) found it. Asked by
    /// consumers that have read everything they could. Default: `None`, nothing holds it.
    fn held(&self) -> Option<Held> {
        None
    }

    /// Changes when there may be something new. A hint: a missed one costs a poll, never an event.
    fn wake(&self) -> watch::Receiver<u64>;

    /// Whether the source looks for new events itself, those of other processes too, and tells all of them by
    /// [`wake`](Self::wake). Then each consumer need not look as well: it does so every five minutes, not every second.
    fn watches(&self) -> bool {
        false
    }
}

/// A source that takes new events as well.
#[async_trait]
pub trait EventStore: EventSource {
    /// Which log it is. `None`, the default: it cannot say.
    fn log_id(&self) -> Option<LogId> {
        None
    }

    /// Stores a prepared batch, wholly or not at all.
    ///
    /// # Errors
    /// See [`AppendError`]. Dropping the future does not stop the work.
    async fn append(&self, batch: Append) -> Result<Appended, AppendError>;

    /// Takes events out that every consumer of the log has settled, the oldest first: those of all bundles, also
    /// paused ones, and those that nobody runs until they are [forgotten](crate::store::ConsumerStateStore::forget). The
    /// last event of each key stays, so that versions stay what they were, and so does the last event of the log. An id
    /// is known as long as its event is there. For a log beside its consumers' checkpoints, in one transaction with a
    /// look at them; any number may do it at once.
    ///
    /// # Errors
    /// The store failed, or, the default, cannot.
    async fn prune(&self, _piece: &Prune) -> Result<Pruned, StoreError> {
        let detail = "events cannot be taken out of this log";
        Err(StoreError::new(StoreErrorKind::Config, self.describe()).detail(detail))
    }
}
