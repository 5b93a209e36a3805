//! The errors of the runtime. Each says what to do, keeps its cause, and never carries a secret.

use std::error::Error as StdError;
use std::fmt;

/// Any error, boxed. What a handler may return converts into it.
pub type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// What went wrong in a store, as far as an answer to it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another process holds a lock for longer than the busy time-out, or a connection could not be had in time.
    Busy,
    /// No space left where the store writes.
    Full,
    /// The store may be read only.
    ReadOnly,
    /// The file, database or table does not exist.
    Missing,
    /// Nobody answers at the address of the server.
    Unreachable,
    /// The server knows no such user with such a password.
    Credentials,
    /// The server is older than what is needed.
    TooOld,
    /// What is there is not a database of this kind.
    NotADatabase,
    /// The schema was made by a newer version of this crate.
    NewerSchema,
    /// The schema was made by an older version of this crate, and is not to be brought up to date here.
    OlderSchema,
    /// Access denied by the store or the file system.
    Denied,
    /// The connection broke; the outcome of what was under way is unknown.
    Connection,
    /// The write came from an ownership that is over: a later epoch exists.
    Fenced,
    /// A statement within the transaction has failed before; nothing of it can be committed.
    Aborted,
    /// Another row has what must be unique, such as a saga's association.
    Conflict,
    /// Events that are asked for were taken out of the log.
    Pruned,
    /// Stored bytes cannot be understood.
    Corrupt,
    /// A setting of the store is not usable.
    Config,
    /// This task already holds the store's only writer and asked for it again.
    WriterHeld,
    /// The store was closed.
    Closed,
    /// Anything else; the cause says what.
    Other,
}

impl StoreErrorKind {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::Connection | Self::Unreachable | Self::Full)
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Busy => "is busy: another process holds its lock; close what else writes to it, or wait",
            Self::Full => "has no space left; free some, then everything resumes by itself",
            Self::ReadOnly => {
                "can be read only; make the file and its folder writable for this process, or name the server that takes writes"
            }
            Self::Missing => "does not exist; create its folder, or its database, or correct the name",
            Self::Unreachable => "cannot be reached; check host and port, and that the server runs",
            Self::Credentials => "refused user or password; correct them in the URL",
            Self::TooOld => "is too old a server; PostgreSQL 14, MySQL 8 or MariaDB 10.6 is the oldest that will do",
            Self::NotADatabase => "is not a database of this kind; correct the path or move the file away",
            Self::NewerSchema => "was made by a newer version of evento; run that version or newer",
            Self::OlderSchema => {
                "was made by an older version of evento; start an instance of this version, which brings it up to date"
            }
            Self::Denied => {
                "refused access; check the rights of this process on the file and its folder, or those of the database user"
            }
            Self::Connection => "lost its connection; the outcome of what was under way is unknown",
            Self::Fenced => "refused a write of an ownership that is over; another instance owns the consumer now",
            Self::Aborted => "refused to go on in a transaction in which a statement had failed",
            Self::Conflict => "has another row of what must be unique",
            Self::Pruned => {
                "was pruned: events that are asked for were taken out of it once every consumer had settled them"
            }
            Self::Corrupt => "holds bytes that cannot be understood",
            Self::Config => "has a setting that cannot be used",
            Self::WriterHeld => {
                "has one writer and this task holds it already; drop the guard first, or emit events through `Outbox`"
            }
            Self::Closed => "was closed",
            Self::Other => "failed",
        }
    }
}

/// A failure of a store: which one, what kind, what to do.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    store: String,
    detail: Option<String>,
    source: Option<BoxError>,
}

impl StoreError {
    /// An error of `store`, named without any credential: a path, or host and database.
    #[must_use]
    pub fn new(kind: StoreErrorKind, store: impl Into<String>) -> Self {
        Self { kind, store: store.into(), detail: None, source: None }
    }

    /// Adds what exactly was found, as half a sentence.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The store it happened in.
    #[must_use]
    pub fn store(&self) -> &str {
        &self.store
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store `{}` {}", self.store, self.kind.sentence())?;
        match &self.detail {
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
        }
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|error| error as &(dyn StdError + 'static))
    }
}

/// Why events were not appended. Nothing of the batch was stored, except where a variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The stream is not at the version the caller expected.
    #[error("stream `{key}` is at version {actual}, expected {expected}; read it again and decide anew")]
    Conflict {
        /// Key of the stream.
        key: String,
        /// What the caller expected, as `new` or a number.
        expected: String,
        /// The version found; 0 for a stream without events.
        actual: u64,
    },
    /// The same id was appended before with other bytes.
    #[error("event id {id} was used before for another event; an id names one fact for ever")]
    IdReused {
        /// The id in question.
        id: crate::event::EventId,
    },
    /// Some events of the batch are stored already and some are not.
    #[error("{known} of {total} events of the batch are known already; a batch is wholly new or wholly known")]
    PartlyKnown {
        /// How many are stored.
        known: usize,
        /// How many the batch has.
        total: usize,
    },
    /// The key given to `append` and the key of the event differ.
    #[error("`append` was given key `{given}`, but event `{event}` says its key is `{own}`; leave one of them out")]
    KeyMismatch {
        /// Event name.
        event: String,
        /// Key given by the caller.
        given: String,
        /// Key the event supplies.
        own: String,
    },
    /// A version was expected, but the batch has no single stream.
    #[error("an expected version needs one key for the whole batch; pass the key to `append`")]
    VersionWithoutKey,
    /// A key, context or name is not usable.
    #[error("{what} `{value}` is not usable: {rule}")]
    Invalid {
        /// `key`, `context`, `event name`.
        what: &'static str,
        /// The value, shortened.
        value: String,
        /// What would be right.
        rule: &'static str,
    },
    /// The payload is larger than a store takes.
    #[error(
        "payload of event `{event}` has {bytes} bytes, the limit is {limit}; store the bulk elsewhere and refer to it"
    )]
    PayloadTooLarge {
        /// Event name.
        event: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The metadata is larger than a store takes.
    #[error("metadata of event `{event}` has {bytes} bytes, the limit is {limit}")]
    MetadataTooLarge {
        /// Event name.
        event: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Another transaction keeps appends waiting: where one append follows the other, it has appended and not ended.
    #[error("appends to `{store}` wait for another transaction; append last in yours, and end it soon ({by})")]
    Blocked {
        /// The store.
        store: String,
        /// Whose it may be, as far as the server tells.
        by: String,
    },
    /// There was nothing to append.
    #[error("nothing to append: the batch is empty")]
    Empty,
    /// The event could not be encoded.
    #[error("event `{event}` could not be encoded")]
    Encode {
        /// Event name.
        event: String,
        /// What the encoder said.
        #[source]
        source: BoxError,
    },
    /// The store failed. With [`StoreErrorKind::Connection`] the outcome is unknown: append again with the same ids.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a wait for a consumer ended without what it was for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It did not come so far in time.
    #[error(
        "`{consumer}` has not settled everything up to position {position} within {timeout:?}{}",
        .reason.as_ref().map_or_else(String::new, |reason| format!("; it stands: {reason}"))
    )]
    Timeout {
        /// The consumer.
        consumer: String,
        /// The position waited for.
        position: crate::event::Position,
        /// How long.
        timeout: std::time::Duration,
        /// Why it does not move, if it does not.
        reason: Option<String>,
    },
    /// It covers events once they have started, so that nobody can say when they are handled.
    #[error(
        "`{consumer}` covers events once they have started (on-start): nobody can say when they are handled; set \
         `checkpoint = \"watermark\"` to wait for it"
    )]
    OnStart {
        /// The consumer.
        consumer: String,
    },
    /// The bundle has no such component.
    #[error("the bundle has no component `{component}`")]
    Unknown {
        /// The component.
        component: &'static str,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a consumer did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Another instance owns the consumer, or nobody does right now; ask there, or again.
    #[error("`{consumer}` is not owned by this instance right now; ask the one that owns it, or again later")]
    NotOwner {
        /// The consumer.
        consumer: String,
    },
    /// The consumer's loop died before it could answer, or has died and is not back yet. It begins again by itself.
    #[error(
        "the loop of `{consumer}` died: if this was asked before, look whether it was carried out; it begins again by \
         itself, and its status says when"
    )]
    LoopDied {
        /// The consumer.
        consumer: String,
    },
    /// The event is not open: it is settled, or not read yet.
    #[error("`{consumer}` has no open event at position {position}: it is settled already, or not read yet")]
    NotOpen {
        /// The consumer.
        consumer: String,
        /// The position asked for.
        position: crate::event::Position,
    },
    /// The consumer would handle events again.
    #[error(
        "`{consumer}` would handle what follows again, and what its handlers have written is still there; give the \
         component an `#[on_reset]` hook that clears it, clear it yourself and seek with `keep`, or make a new version"
    )]
    WouldRepeat {
        /// The consumer.
        consumer: String,
    },
    /// It was moved back, but its `#[on_reset]` hook failed. It stands until the hook succeeds, which is tried again.
    #[error("`{consumer}` stands at its new position, but its `#[on_reset]` hook failed; it is tried again")]
    Reset {
        /// The consumer.
        consumer: String,
        /// What the hook returned.
        #[source]
        source: BoxError,
    },
    /// The position is behind the end of the log.
    #[error("the log ends before position {position}")]
    BehindHead {
        /// The position asked for.
        position: crate::event::Position,
    },
    /// What follows the position is no longer in the log.
    #[error(
        "events up to position {up_to} were pruned: `{consumer}` cannot go back below it; seek to `after:{up_to}` at the lowest"
    )]
    Pruned {
        /// The consumer.
        consumer: String,
        /// Up to where events are gone.
        up_to: crate::event::Position,
    },
    /// The instance that owns the consumer was asked, and did not do it.
    #[error("{reason}")]
    Refused {
        /// The consumer.
        consumer: String,
        /// What that instance said.
        reason: String,
    },
    /// It was not carried out within five seconds; it may be later.
    #[error("`{consumer}` has not answered within five seconds; it may still do it")]
    NoAnswer {
        /// The consumer.
        consumer: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl AdminError {
    pub(crate) fn not_owner(consumer: &crate::identity::ConsumerId) -> Self {
        Self::NotOwner { consumer: consumer.to_string() }
    }

    pub(crate) fn loop_died(consumer: &crate::identity::ConsumerId) -> Self {
        Self::LoopDied { consumer: consumer.to_string() }
    }
}
