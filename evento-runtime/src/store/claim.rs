//! Claims: which events an observer has begun to handle, and which it has handled.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::event::EventId;
use crate::identity::{ConsumerId, OwnerId};

/// What is known of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// It is being handled, as far as anybody knows.
    Held {
        /// By whom.
        owner: OwnerId,
        /// For how long that is to be believed, by the clock of the database; zero once it has expired.
        remaining: Duration,
    },
    /// It was handled.
    Done,
}

/// Changes of claims, all of the owner of the lease they are settled under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// About to be handled, or still being handled: held until [`expiry`](Self::expiry) from now. One that is done
    /// stays done.
    pub taken: Vec<EventId>,
    /// How long the taken ones are held without being taken again.
    pub expiry: Duration,
    /// Not handled after all: nobody has to wait.
    pub released: Vec<EventId>,
    /// Handled.
    pub done: Vec<EventId>,
    /// Forgets every claim of the consumer, before the others are written: it is to handle events again.
    pub forget: bool,
}

impl Claims {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.released.is_empty() && self.done.is_empty() && !self.forget
    }
}

/// Reading claims. They are written by [`ConsumerStateStore::settle`](super::ConsumerStateStore::settle) only.
#[async_trait]
pub trait DedupeStore: Send + Sync + 'static {
    /// What is known of these events; those nobody claimed are left out.
    ///
    /// # Errors
    /// The store failed.
    async fn claims(&self, consumer: &ConsumerId, events: &[EventId])
    -> Result<Vec<(EventId, ClaimState)>, StoreError>;

    /// Forgets claims of a bundle that were done, or have expired, longer than `age` ago. Answers how many.
    ///
    /// # Errors
    /// The store failed.
    async fn sweep_claims(&self, bundle: &str, age: Duration) -> Result<u64, StoreError>;
}
