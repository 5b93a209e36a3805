//! A bundle that runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::broadcast;

use super::error::RunError;
use super::plan::Plan;
use super::report::Problem;
use crate::component::Component;
use crate::consumer::{ConsumerStatus, EngineEvent, Telemetry};
use crate::engine::{ConsumerHandle, EngineSupervisor, Waited};
use crate::error::WaitError;
use crate::event::{Position, Redaction};
use crate::store::Store;

/// A bundle whose consumers run.
///
/// Dropping it is a stop with deadline 0: nothing more starts, and nothing is waited for. Prefer
/// [`stop`](Self::stop), which lets handlers finish and stores how far they came.
#[must_use = "dropping a running bundle stops it"]
pub struct Running {
    pub(super) name: String,
    pub(super) instance: Arc<str>,
    pub(super) store: Store,
    pub(super) plan: Plan,
    pub(super) warnings: Vec<Problem>,
    pub(super) supervisor: EngineSupervisor,
    pub(super) redaction: Redaction,
    pub(super) telemetry: Option<Arc<dyn Telemetry>>,
}

impl Running {
    /// The name of the bundle.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What this instance is called; see [`BundleBuilder::instance`](super::BundleBuilder::instance).
    #[must_use]
    pub const fn instance(&self) -> &Arc<str> {
        &self.instance
    }

    /// The wiring that runs.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

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

    /// Waits until the component `T`, in every context it reads, has settled everything up to `position`: read your
    /// own writes. See [`ConsumerHandle::wait_for`].
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use evento_runtime::prelude::*;
    /// # #[derive(serde::Serialize, serde::Deserialize, Event)] struct OrderPlaced { order_id: String }
    /// # #[derive(Default)] struct OrderView;
    /// # #[projector(version = 1)] impl OrderView { #[event_handler] async fn placed(&self, _event: OrderPlaced) {} }
    /// # async fn f(running: evento_runtime::Running, placed: OrderPlaced) -> evento_runtime::Result {
    /// let appended = running.store().append("o-1", evento_runtime::Expected::New, [placed]).await?;
    /// running.wait_for::<OrderView>(&appended.last, Duration::from_secs(2)).await?;
    /// // What `OrderView` has written for it can be read now.
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`ConsumerHandle::wait_for`], and [`WaitError::Unknown`].
    ///
    /// # Cancel safety
    /// Dropping the future ends the wait and changes nothing.
    pub async fn wait_for<T: Component>(&self, position: &Position, timeout: Duration) -> Result<Waited, WaitError> {
        let consumers = self.consumers_of::<T>();
        if consumers.is_empty() {
            return Err(WaitError::Unknown { component: T::DEF.name });
        }
        let waits = consumers.iter().map(|consumer| consumer.wait_for(position, timeout));
        let waited = try_join_all(waits).await?;
        Ok(waited.into_iter().fold(Waited::default(), Waited::and))
    }

    /// What happens to the consumers from now on.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.supervisor.events()
    }

    /// What of the events that its handlers take is not shown to people.
    #[must_use]
    pub const fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// What the bundle was given with [`telemetry`](super::BundleBuilder::telemetry).
    #[must_use]
    pub const fn telemetry(&self) -> Option<&Arc<dyn Telemetry>> {
        self.telemetry.as_ref()
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
