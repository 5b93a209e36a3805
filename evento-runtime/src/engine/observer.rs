//! Observers: every event is claimed before its handler starts, and the claim says when it was handled.

use std::sync::Arc;
use std::time::Duration;

use crate::component::Kind;
use crate::consumer::{Claiming, ConsumerEngine};
use crate::identity::OwnerId;
use crate::store::DedupeStore;

/// Runs observers.
pub struct ObserverEngine(Claiming);

impl ObserverEngine {
    /// Over a store of claims; `expiry`: how long a claim is believed without being renewed.
    #[must_use]
    pub const fn new(store: Arc<dyn DedupeStore>, owner: OwnerId, expiry: Duration) -> Self {
        Self(Claiming { store, owner, expiry })
    }
}

impl ConsumerEngine for ObserverEngine {
    fn kind(&self) -> Kind {
        Kind::Observer
    }

    fn claiming(&self) -> Option<Claiming> {
        Some(self.0.clone())
    }
}
