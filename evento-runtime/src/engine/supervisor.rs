//! Starts the consumers of a bundle, watches them, and stops them in order.

use std::sync::Arc;
use std::time::Duration;

use super::ConsumerPlan;
use crate::clock::SharedClock;
use crate::deps::Deps;
use crate::error::RunError;
use crate::executor::ConsumerExecutor;
use crate::outcome::Classifier;
use crate::store::Store;

/// What a supervisor works with.
pub struct SupervisorConfig {
    /// Bundle name.
    pub bundle: String,
    /// Log and SPIs, open.
    pub store: Store,
    /// The consumers.
    pub consumers: Vec<ConsumerPlan>,
    /// All executors of the bundle, closed at the stop.
    pub executors: Vec<Arc<dyn ConsumerExecutor>>,
    /// Provided values, the store's own included.
    pub deps: Deps,
    /// The time.
    pub clock: SharedClock,
    /// Who knows the errors of which driver.
    pub classifiers: Vec<Classifier>,
}

/// The running consumers of a bundle.
pub struct EngineSupervisor {}

impl EngineSupervisor {
    /// Starts every consumer. Returns at once; see [`ready`](Self::ready).
    ///
    /// # Errors
    /// None so far.
    pub async fn start(_config: SupervisorConfig) -> Result<Self, RunError> {
        Ok(Self {})
    }

    /// Waits until every consumer with `wait_for_head` has settled what was in the log at the start. Cancel-safe.
    ///
    /// # Errors
    /// An `#[on_start]` hook failed.
    pub async fn ready(&self) -> Result<(), RunError> {
        Ok(())
    }

    /// No handler starts after this; running ones finish within `deadline`; then checkpoint, release, close.
    ///
    /// # Errors
    /// [`RunError::Stragglers`]: the deadline came first; no outcome is recorded for them.
    pub async fn stop(self, _deadline: Duration) -> Result<(), RunError> {
        Ok(())
    }
}
