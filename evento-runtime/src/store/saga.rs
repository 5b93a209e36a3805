//! Sagas: instances found by what events carry, and what they want to hear of later.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use crate::error::StoreError;
use crate::event::{EventId, Position, Timestamp};
use crate::identity::{ConsumerId, KEY_RULE, is_key};
use crate::source::PreparedEvent;

/// One instance of a saga: made of the consumer and the event that began it, so a second run of that event means the
/// same instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SagaId(Uuid);

impl SagaId {
    /// The instance that `event` begins for `consumer`.
    #[must_use]
    pub(crate) fn begun_by(consumer: &ConsumerId, event: EventId) -> Self {
        // No handler emits so many events: it is no id of an event.
        Self(*EventId::emitted(consumer, event, u32::MAX).as_uuid())
    }

    /// Takes a UUID as it is.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The UUID.
    #[must_use]
    pub const fn as_uuid(&self) -> &Uuid {
        &self.0
    }
}

impl fmt::Display for SagaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What an instance is found by: a property, such as `order_id`, and its value. Compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Association {
    property: String,
    value: String,
}

/// A property or value that cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("the value of association `{property}` has {bytes} bytes; it must have {KEY_RULE}")]
pub struct AssociationError {
    property: String,
    bytes: usize,
}

impl Association {
    /// `None` for an empty value: it never matches.
    ///
    /// # Errors
    /// The value is longer than 255 bytes or holds a NUL.
    pub fn new(property: impl Into<String>, value: impl Into<String>) -> Result<Option<Self>, AssociationError> {
        let (property, value) = (property.into(), value.into());
        if value.is_empty() {
            return Ok(None);
        }
        if is_key(&value) && is_key(&property) {
            return Ok(Some(Self { property, value }));
        }
        Err(AssociationError { bytes: value.len(), property })
    }

    /// As a store holds it: what was one when it was written.
    #[must_use]
    pub const fn stored(property: String, value: String) -> Self {
        Self { property, value }
    }

    /// Its name.
    #[must_use]
    pub fn property(&self) -> &str {
        &self.property
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Display for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.property, self.value)
    }
}

/// A live instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SagaInstance {
    /// Which.
    pub id: SagaId,
    /// Its state, as serde wrote it.
    pub state: Bytes,
    /// Everything it is found by, sorted.
    pub associations: Vec<Association>,
    /// The last event that was applied to it.
    pub applied: Position,
}

impl SagaInstance {
    /// As a store holds it.
    #[must_use]
    pub const fn new(id: SagaId, state: Bytes, associations: Vec<Association>, applied: Position) -> Self {
        Self { id, state, associations, applied }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SagaFound {
    /// This one.
    Live(SagaInstance),
    /// None; and the event has begun an instance already, which has ended, or is found by other values now.
    Begun,
    /// None.
    Unknown,
}

/// What one handled event made of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SagaChange {
    /// Which.
    pub id: SagaId,
    /// Its new state; `None`: it has ended. An ended instance has no associations and no timers, and never comes back.
    pub state: Option<Bytes>,
    /// Everything it is found by from now on; replaces what it was found by.
    pub associations: Vec<Association>,
    /// The event.
    pub applied: Position,
}

/// An event to be appended later. Its id is also the timer's.
#[derive(Debug, Clone)]
pub struct Timer {
    /// What is appended then.
    pub event: PreparedEvent,
    /// The instance it ends with.
    pub saga: SagaId,
    /// When, by the clock of the owner.
    pub due_at: Timestamp,
}

/// Reading saga instances and timers. They are written by
/// [`ConsumerStateStore::settle`](super::ConsumerStateStore::settle) only. Of two live instances of one consumer no two
/// are found by the same association: the store refuses the second with
/// [`Conflict`](crate::error::StoreErrorKind::Conflict).
#[async_trait]
pub trait SagaStateStore: Send + Sync + 'static {
    /// The live instance that is found by `association`. `begun`: the instance an event would begin; if no live one is
    /// found, whether that one was begun before.
    ///
    /// # Errors
    /// The store failed.
    async fn find(
        &self,
        consumer: &ConsumerId,
        association: &Association,
        begun: SagaId,
    ) -> Result<SagaFound, StoreError>;

    /// Live instances after `after`, ascending by id, at most `limit`.
    ///
    /// # Errors
    /// The store failed.
    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError>;

    /// Timers of a consumer, the earliest first, at most `limit`.
    ///
    /// # Errors
    /// The store failed.
    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError>;

    /// Forgets instances of a bundle that ended longer than `age` ago. Answers how many.
    ///
    /// # Errors
    /// The store failed.
    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError>;
}
