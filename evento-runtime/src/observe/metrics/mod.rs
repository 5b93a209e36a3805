//! Metrics of a bundle in the text format of Prometheus.
//!
//! ```no_run
//! # async fn f(running: evento_runtime::Running) {
//! let metrics = running.metrics();
//! // For each scrape, answered with `Metrics::CONTENT_TYPE`:
//! let text = metrics.scrape().await;
//! # }
//! ```
//!
//! Names follow Micrometer's spelling: `evento.consumer.executor.in.flight` is `evento_consumer_executor_in_flight`, and
//! counters end in `_total`. Labels are `bundle` and `instance`, then `executor`, or `consumer` and `component`; their
//! values are names of the bundle's own wiring, never something that an event brought along. A bundle without executors
//! has no `evento_consumer_executor_` and no `evento_consumer_async_` series.
//!
//! How long handlers take is counted where the bundle is built with `.telemetry(HandlerTimes::new())`; the histogram is
//! `evento_consumer_handler_seconds`, with the labels `handler` and `outcome` (`handled`, `skipped`, `failed`).
//!
//! Alert on `evento_consumer_executor_rejected_total` (an executor is too small), on
//! `evento_consumer_dead_letters` above 0, and on `evento_consumer_lag_seconds`; the reason why a consumer stands is in
//! `evento_consumer_stalled`. `dashboards/evento.json` beside the sources of this crate is a dashboard for Grafana.

mod collector;
mod times;

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

use self::collector::Figures;
pub use self::times::{HandlerTime, HandlerTimes};
use super::snapshot::Snapshots;
use crate::bundle::Running;
use crate::identity::ConsumerId;

/// The metrics of one running bundle. Cheap to clone.
///
/// Each bundle has a registry of its own: two in one process do not mix, and once the bundle has stopped there is nothing
/// left to show.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    snapshots: Arc<Snapshots>,
}

impl Metrics {
    /// What the text is, for the header `Content-Type`.
    pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

    /// What is known now, without asking the store: the lag in events and the number of dead letters are as of the last
    /// [`scrape`](Self::scrape), and left out before the first one.
    #[must_use]
    pub fn exposition(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = prometheus_text::encode(&mut text, &self.registry);
        text
    }

    /// Asks the store for the lag in events and the number of dead letters of each consumer that this instance owns, for
    /// at most two seconds, then answers as [`exposition`](Self::exposition). What the store does not answer is left out.
    ///
    /// # Cancel safety
    /// Dropping the future leaves what was asked to end by itself.
    pub async fn scrape(&self) -> String {
        self.snapshots.measure().await;
        self.exposition()
    }

    /// How long the handlers of a consumer have taken in this process so far, by name; nothing where the bundle was built
    /// without [`HandlerTimes`].
    #[must_use]
    pub fn handler_times(&self, consumer: &ConsumerId) -> Vec<HandlerTime> {
        let times = collector::times(&self.snapshots);
        times.map(|times| times.summed(consumer)).unwrap_or_default()
    }

    /// The same for a registry of your own: `registry.register_collector(metrics.collector())`. The figures that come
    /// from the store are as of the last [`scrape`](Self::scrape).
    #[must_use]
    pub fn collector(&self) -> Box<dyn Collector> {
        Box::new(Figures(Arc::clone(&self.snapshots)))
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("of", &self.snapshots).finish_non_exhaustive()
    }
}

impl Running {
    /// The metrics of this bundle. Keep the value: it remembers between scrapes what it has asked the store.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let snapshots = Arc::new(Snapshots::of(self));
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Figures(Arc::clone(&snapshots))));
        Metrics { registry: Arc::new(registry), snapshots }
    }
}
