//! Whether a bundle lives, whether it is ready, and why its consumers stand.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::bundle::Running;
use crate::consumer::StallReason;
use crate::engine::ConsumerHandle;
use crate::identity::ConsumerId;

/// Asks after the health of a running bundle. Cheap to clone; for the probes of an orchestrator.
///
/// ```no_run
/// # use std::time::Duration;
/// # async fn f(running: evento_runtime::Running) {
/// let health = running.health().check(Duration::from_secs(5)).await;
/// // A liveness probe answers by `health.live`, a readiness probe by `health.ready`, both with this body:
/// println!("{}", health.to_json());
/// # }
/// ```
#[derive(Clone)]
pub struct HealthCheck {
    consumers: Vec<ConsumerHandle>,
}

/// The health of a bundle at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether the loops of all consumers turn: each has answered in time. Not so where a handler without an executor
    /// blocks the thread, or the runtime has none left. A loop that died and begins again by itself, a store that does
    /// not answer, a consumer that stands: all that is alive, and a new process would not be better off.
    pub live: bool,
    /// Whether every consumer with `wait_for_head` has settled what was in the log when the bundle began. One that waits
    /// for another instance's end is ready as far as the stored checkpoint says so.
    pub ready: bool,
    /// Each consumer, sorted.
    pub consumers: Vec<ConsumerHealth>,
}

/// The health of a consumer at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerHealth {
    /// Which one.
    pub consumer: Arc<ConsumerId>,
    /// Whether its loop turns.
    pub live: bool,
    /// Whether it has settled what the start waits for; always so without `wait_for_head`.
    pub ready: bool,
    /// Why it does not move, if it does not. Standing by is healthy.
    pub reason: Option<StallReason>,
}

impl Running {
    /// Asks after the health of this bundle.
    #[must_use]
    pub fn health(&self) -> HealthCheck {
        HealthCheck { consumers: self.consumers() }
    }
}

impl HealthCheck {
    /// Asks every loop for a sign of life; one that gives none within `patience` is not live.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn check(&self, patience: Duration) -> Health {
        let consumers = join_all(self.consumers.iter().map(|consumer| check(consumer, patience))).await;
        let (live, ready) = (consumers.iter().all(|one| one.live), consumers.iter().all(|one| one.ready));
        Health { live, ready, consumers }
    }
}

async fn check(consumer: &ConsumerHandle, patience: Duration) -> ConsumerHealth {
    let live = consumer.is_live(patience).await;
    let reason = consumer.status().reason;
    ConsumerHealth { consumer: Arc::new(consumer.id().clone()), live, ready: consumer.is_ready(), reason }
}

impl Health {
    /// As the body of an answer.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let consumer = |of: &ConsumerHealth| {
            json!({
                "consumer": of.consumer.to_string(),
                "live": of.live,
                "ready": of.ready,
                "reason": of.reason.as_ref().map(StallReason::to_string),
            })
        };
        json!({
            "live": self.live,
            "ready": self.ready,
            "consumers": self.consumers.iter().map(consumer).collect::<Vec<_>>(),
        })
    }
}

impl std::fmt::Debug for HealthCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HealthCheck").field("consumers", &self.consumers.len()).finish()
    }
}
