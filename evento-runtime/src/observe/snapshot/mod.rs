//! What is exported of a bundle, whoever exports it: its figures at one moment.

mod families;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use tokio::time::Instant;

pub(super) use self::families::{
    ASYNC, CONSUMERS, EXECUTORS, Family, Figure, HANDLERS, STALLED, SeenConsumer, SeenExecutor,
};
use crate::bundle::Running;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::{AttemptOutcome, Telemetry};
use crate::engine::{ConsumerHandle, Lag};
use crate::executor::ConsumerExecutor;
use crate::sync::{Mutex, lock};

/// How long it is waited for the store.
const PATIENCE: Duration = Duration::from_secs(2);

/// What an attempt came to, for the label `outcome`.
pub(super) const OUTCOMES: [&str; 3] = ["handled", "skipped", "failed"];

/// Which of them it is.
pub(super) const fn place(outcome: AttemptOutcome) -> Option<usize> {
    match outcome {
        AttemptOutcome::Handled => Some(0),
        AttemptOutcome::Skipped => Some(1),
        AttemptOutcome::Failed(_) => Some(2),
        // The store's failure says nothing of the handler.
        AttemptOutcome::NotMade => None,
    }
}

type Measuring = BoxFuture<'static, Vec<Option<Lag>>>;

/// Where the figures of one bundle are.
pub(super) struct Snapshots {
    pub(super) bundle: String,
    pub(super) instance: Arc<str>,
    /// Gone with the bundle, and then nothing is shown.
    executors: Weak<[Arc<dyn ConsumerExecutor>]>,
    consumers: Vec<ConsumerHandle>,
    /// Of the bundle; its handlers' times are shown if it counts them.
    pub(super) telemetry: Option<Arc<dyn Telemetry>>,
    /// Of each consumer; empty before the first answer.
    lags: Mutex<Vec<Option<Lag>>>,
    measuring: Mutex<Option<Measuring>>,
}

/// The figures at one moment.
pub(super) struct Seen {
    pub(super) executors: Vec<SeenExecutor>,
    pub(super) consumers: Vec<SeenConsumer>,
}

impl Snapshots {
    pub(super) fn of(running: &Running) -> Self {
        Self {
            bundle: running.name().to_owned(),
            instance: Arc::clone(running.instance()),
            executors: Arc::downgrade(running.supervisor().executors()),
            consumers: running.consumers(),
            telemetry: running.telemetry().cloned(),
            lags: Mutex::default(),
            measuring: Mutex::default(),
        }
    }

    /// Whether the bundle runs.
    pub(super) fn is_there(&self) -> bool {
        self.executors.strong_count() > 0
    }

    /// As it is now. `None` once the bundle has stopped.
    pub(super) fn seen(&self) -> Option<Seen> {
        let executors = self.executors.upgrade()?;
        let executor = |executor: &Arc<dyn ConsumerExecutor>| SeenExecutor {
            name: executor.name().to_owned(),
            capacity: executor.capacity(),
            stats: executor.stats(),
        };
        Some(Seen { executors: executors.iter().map(executor).collect(), consumers: self.seen_consumers() })
    }

    /// The consumers as they are, or were when the bundle stopped.
    pub(super) fn seen_consumers(&self) -> Vec<SeenConsumer> {
        let (now, instant) = (SystemClock.now(), Instant::now());
        let lags = lock(&self.lags).clone();
        let consumer = |(at, consumer): (usize, &ConsumerHandle)| SeenConsumer {
            name: consumer.id().to_string(),
            component: consumer.id().component.to_string(),
            status: consumer.status(),
            is_async: !consumer.executors().is_empty(),
            lag: lags.get(at).copied().flatten(),
            now,
            instant,
        };
        self.consumers.iter().enumerate().map(consumer).collect()
    }

    /// Asks the store for the lag in events and the number of dead letters of each consumer that this instance owns, for
    /// at most two seconds. What it does not answer is not known.
    ///
    /// # Cancel safety
    /// Dropping the future leaves what was asked to end by itself.
    pub(super) async fn measure(&self) {
        // One that could not be waited for the last time is waited for, and no second one begun beside it.
        let begun = lock(&self.measuring).take();
        let mut measuring = begun.unwrap_or_else(|| measure(self.consumers.clone()));
        tokio::select! {
            biased;
            lags = &mut measuring => *lock(&self.lags) = lags,
            () = tokio::time::sleep(PATIENCE) => {
                *lock(&self.lags) = Vec::new();
                *lock(&self.measuring) = Some(measuring);
            }
        }
    }
}

fn measure(consumers: Vec<ConsumerHandle>) -> Measuring {
    // A store that fails shows as the reason why consumers stand.
    async move { join_all(consumers.iter().map(async |consumer| consumer.lag().await.ok().flatten())).await }.boxed()
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots")
            .field("bundle", &self.bundle)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
