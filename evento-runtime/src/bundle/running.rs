//! A bundle that runs.

use std::fmt;
use std::time::Duration;

use tokio::sync::broadcast;

use super::error::RunError;
use super::report::Problem;
use crate::component::Component;
use crate::consumer::{ConsumerStatus, EngineEvent};
use crate::engine::{ConsumerHandle, EngineSupervisor};
use crate::store::Store;

/// A bundle whose consumers run.
///
/// Dropping it is a stop with deadline 0: nothing more starts, and nothing is waited for. Prefer
/// [`stop`](Self::stop), which lets handlers finish and stores how far they came.
#[must_use = "dropping a running bundle stops it"]
pub struct Running {
    pub(super) name: String,
    pub(super) store: Store,
    pub(super) warnings: Vec<Problem>,
    pub(super) supervisor: EngineSupervisor,
    /// The bundle's own, for a start that fails half way.
    pub(super) stop_deadline: Duration,
}

impl Running {
    /// The open store, to append events to.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// What the launch had to say, what the store knew included.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The consumers as they are now, sorted.
    #[must_use]
    pub fn status(&self) -> Vec<ConsumerStatus> {
        self.supervisor.status()
    }

    /// The consumers, to be shown and steered, sorted.
    #[must_use]
    pub fn consumers(&self) -> Vec<ConsumerHandle> {
        self.supervisor.consumers()
    }

    /// The consumers of one component: one for each of its contexts.
    #[must_use]
    pub fn consumers_of<T: Component>(&self) -> Vec<ConsumerHandle> {
        let mine =
            |handle: &ConsumerHandle| (&*handle.id().component, handle.id().version) == (T::DEF.name, T::DEF.version);
        self.consumers().into_iter().filter(mine).collect()
    }

    /// What happens to the consumers from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.supervisor.events()
    }

    /// The engines.
    #[must_use]
    pub const fn supervisor(&self) -> &EngineSupervisor {
        &self.supervisor
    }

    /// No handler starts after this; running ones finish within `deadline`; then checkpoints are written, ownership
    /// is given back and everything opened is closed.
    ///
    /// # Errors
    /// [`RunError::Stragglers`] names the handlers that did not finish. No outcome is recorded for them, and the
    /// connections they may still use are left to the end of the process.
    pub async fn stop(self, deadline: Duration) -> Result<(), RunError> {
        let Self { name, store, supervisor, .. } = self;
        let stopped = supervisor.stop(deadline).await.map_err(RunError::from);
        match &stopped {
            // A pool waits for connections that are out: stragglers would hold up the end past the deadline.
            Err(RunError::Stragglers { .. }) => {}
            _ => close(&store).await,
        }
        tracing::info!(bundle = %name, clean = stopped.is_ok(), "stopped");
        stopped
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("bundle", &self.name).field("store", &self.store).finish_non_exhaustive()
    }
}

/// Closes a store that was opened for the bundle.
pub(super) async fn close(store: &Store) {
    if let Some(close) = &store.close {
        close.close().await;
    }
}
