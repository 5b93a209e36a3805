//! What an instance shows of itself to others: one row, now and then.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::handle::ConsumerHandle;
use crate::clock::{Clock as _, SystemClock};
use crate::executor::{ConsumerExecutor, ExecutorFigures};
use crate::identity::OwnerId;
use crate::store::{InstanceRow, Stores};
use crate::task::panic_fails;

/// How often.
const BEAT: Duration = Duration::from_secs(5);

/// The row of this instance. A bundle without executors has none.
pub(super) struct Presence {
    instance: InstanceRow,
    consumers: Vec<ConsumerHandle>,
    executors: Vec<Arc<dyn ConsumerExecutor>>,
    beat_at: Instant,
}

impl Presence {
    pub(super) fn of(
        name: String,
        owner: OwnerId,
        consumers: Vec<ConsumerHandle>,
        executors: Vec<Arc<dyn ConsumerExecutor>>,
    ) -> Option<Self> {
        if executors.is_empty() {
            return None;
        }
        let instance = InstanceRow { owner, name, started_at: SystemClock.now(), figures: String::new() };
        Some(Self { instance, consumers, executors, beat_at: Instant::now() })
    }

    /// Writes the row if its time has come. A row that could not be written is written the next time.
    pub(super) async fn beat_if_due(&mut self, bundle: &str, stores: &Stores) {
        if self.beat_at > Instant::now() {
            return;
        }
        self.beat_at = Instant::now() + BEAT;
        let executors: Vec<_> = self.executors.iter().map(|executor| ExecutorFigures::of(&**executor)).collect();
        let consumers: Vec<_> = self.consumers.iter().map(|consumer| consumer.status.get().figures()).collect();
        self.instance.figures = json!({ "consumers": consumers, "executors": executors }).to_string();
        if let Err(error) = panic_fails("instances", stores.admin.beat(bundle, &self.instance)).await {
            tracing::debug!(bundle, error = &error as &dyn std::error::Error, "this instance does not show itself");
        }
    }

    /// The row goes with the instance.
    pub(super) async fn leave(self, bundle: &str, stores: &Stores) {
        if let Err(error) = panic_fails("instances", stores.admin.leave(bundle, self.instance.owner)).await {
            tracing::debug!(bundle, error = &error as &dyn std::error::Error, "the row of this instance stays");
        }
    }
}
