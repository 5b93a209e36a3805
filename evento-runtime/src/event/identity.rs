//! Event ids and points in time.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::identity::ConsumerId;

/// Namespace of ids derived from foreign ids; a constant of this crate, never to change.
const FOREIGN: Uuid = Uuid::from_u128(0x6576_656e_746f_5f66_6f72_6569_676e_0001);

/// The stable identity of one event, the same on every delivery. Use it as an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Uuid);

impl EventId {
    /// A new one, ordered by time (UUID version 7).
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id of an event that another system named: the same `source` and `id` give the same id (UUID version 5).
    #[must_use]
    pub fn foreign(source: &str, id: &str) -> Self {
        let namespace = Uuid::new_v5(&FOREIGN, source.as_bytes());
        Self(Uuid::new_v5(&namespace, id.as_bytes()))
    }

    /// The id of the event that a handler of `consumer` emits as number `ordinal` for the event `cause`.
    pub(crate) fn emitted(consumer: &ConsumerId, cause: Self, ordinal: u32) -> Self {
        // Each part is told from the next by its length: no two consumers can make one id.
        let context = consumer.context.to_string();
        let mut name = Vec::new();
        for part in [consumer.bundle.as_bytes(), consumer.component.as_bytes(), context.as_bytes()] {
            name.extend_from_slice(&part.len().to_be_bytes());
            name.extend_from_slice(part);
        }
        name.extend_from_slice(&consumer.version.to_be_bytes());
        name.extend_from_slice(&ordinal.to_be_bytes());
        Self(Uuid::new_v5(&cause.0, &name))
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

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for EventId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since 1970.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// So much later; saturates.
    #[must_use]
    pub fn later(self, by: std::time::Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// So much earlier; saturates.
    #[must_use]
    pub fn earlier(self, by: std::time::Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` it is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub const fn as_secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}
