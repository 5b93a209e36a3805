//! How long attempts take, by handler and outcome.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::super::snapshot::{OUTCOMES, place};
use crate::consumer::{AttemptInfo, AttemptOutcome, Telemetry};
use crate::error::StoreError;
use crate::event::StoredEvent;
use crate::identity::ConsumerId;
use crate::sync::{Mutex, lock};

/// Upper bounds of the buckets, in seconds.
pub(super) const BOUNDS: [f64; 17] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

/// Durations of one handler with one outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    /// By bucket; the last one holds what is above all bounds.
    pub(super) counts: [u64; BOUNDS.len() + 1],
    pub(super) seconds: f64,
}

impl Times {
    fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket] += 1;
        self.seconds += seconds;
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// How long the attempts of one handler took, since its process began.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HandlerTime {
    /// `OrderView::placed`.
    pub handler: String,
    /// Attempts by bucket, as [`BOUNDS`](Self::BOUNDS) have them; the last one holds what is above all of them.
    pub counts: Vec<u64>,
    /// All together, in seconds.
    pub seconds: f64,
    /// Attempts that failed.
    pub failed: u64,
}

impl HandlerTime {
    /// Upper bounds of the buckets, in seconds.
    pub const BOUNDS: &[f64] = &BOUNDS;

    /// How many attempts there were.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The bound within which so many of a thousand attempts were. `None`: there were none, or they took longer than the
    /// last bound.
    #[must_use]
    pub fn within(&self, per_mille: u64) -> Option<f64> {
        let wanted = self.attempts().saturating_mul(per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        let bucket = self.counts.iter().position(reached)?;
        BOUNDS.get(bucket).copied()
    }
}

/// The handlers of one consumer.
#[derive(Debug)]
struct OfConsumer {
    consumer: Arc<ConsumerId>,
    handlers: BTreeMap<String, [Times; OUTCOMES.len()]>,
}

/// Counts how long attempts take: with it, a bundle's metrics have the histogram `evento_consumer_handler_seconds`.
///
/// ```no_run
/// # use evento_runtime::Bundle;
/// use evento_runtime::observe::metrics::HandlerTimes;
///
/// let bundle = Bundle::builder("orders").telemetry(HandlerTimes::new());
/// ```
///
/// It costs a lock and a few additions for each attempt. A telemetry of your own goes [beside](Self::beside) it.
#[derive(Default)]
pub struct HandlerTimes {
    seen: Mutex<Vec<OfConsumer>>,
    beside: Option<Box<dyn Telemetry>>,
}

impl HandlerTimes {
    /// Nothing is counted yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `telemetry` is told everything as well.
    #[must_use]
    pub fn beside(telemetry: impl Telemetry) -> Self {
        Self { beside: Some(Box::new(telemetry)), ..Self::default() }
    }

    /// What was counted of a consumer, by handler and outcome.
    pub(super) fn of(&self, consumer: &ConsumerId) -> Vec<(String, [Times; OUTCOMES.len()])> {
        let seen = lock(&self.seen);
        let of = seen.iter().find(|of| *of.consumer == *consumer);
        of.map(|of| of.handlers.iter().map(|(name, times)| (name.clone(), *times)).collect()).unwrap_or_default()
    }

    /// The same, whatever the attempts came to.
    pub(super) fn summed(&self, consumer: &ConsumerId) -> Vec<HandlerTime> {
        let sum = |(handler, outcomes): (String, [Times; OUTCOMES.len()])| {
            let mut all = Times::default();
            for times in &outcomes {
                all.seconds += times.seconds;
                all.counts.iter_mut().zip(times.counts).for_each(|(sum, count)| *sum += count);
            }
            HandlerTime { handler, counts: all.counts.to_vec(), seconds: all.seconds, failed: outcomes[2].count() }
        };
        self.of(consumer).into_iter().map(sum).collect()
    }

    fn note(&self, attempt: &AttemptInfo<'_>, took: Duration, outcome: usize) {
        let mut seen = lock(&self.seen);
        let known = seen.iter().position(|of| Arc::ptr_eq(&of.consumer, attempt.consumer));
        let known = known.or_else(|| seen.iter().position(|of| of.consumer == *attempt.consumer));
        let at = known.unwrap_or_else(|| {
            seen.push(OfConsumer { consumer: Arc::clone(attempt.consumer), handlers: BTreeMap::new() });
            seen.len() - 1
        });
        let handlers = &mut seen[at].handlers;
        match handlers.get_mut(attempt.handler) {
            Some(times) => times[outcome].add(took),
            None => handlers.entry(attempt.handler.to_owned()).or_default()[outcome].add(took),
        }
    }
}

impl Telemetry for HandlerTimes {
    fn attempt_started(&self, attempt: &AttemptInfo<'_>) {
        if let Some(beside) = &self.beside {
            beside.attempt_started(attempt);
        }
    }

    fn attempt_ended(&self, attempt: &AttemptInfo<'_>, took: Duration, outcome: AttemptOutcome) {
        if let Some(place) = place(outcome) {
            self.note(attempt, took, place);
        }
        if let Some(beside) = &self.beside {
            beside.attempt_ended(attempt, took, outcome);
        }
    }

    fn retry_planned(&self, consumer: &Arc<ConsumerId>, handler: &str, event: &StoredEvent, delay: Duration) {
        if let Some(beside) = &self.beside {
            beside.retry_planned(consumer, handler, event, delay);
        }
    }

    fn settled(&self, consumer: &Arc<ConsumerId>, event: &StoredEvent) {
        if let Some(beside) = &self.beside {
            beside.settled(consumer, event);
        }
    }

    fn dead_lettered(&self, consumer: &Arc<ConsumerId>, handler: &str, event: &StoredEvent) {
        if let Some(beside) = &self.beside {
            beside.dead_lettered(consumer, handler, event);
        }
    }

    fn permit_awaited(&self, consumer: &Arc<ConsumerId>, executor: &str, waited: Duration, admitted: bool) {
        if let Some(beside) = &self.beside {
            beside.permit_awaited(consumer, executor, waited, admitted);
        }
    }

    fn page_read(&self, consumer: &Arc<ConsumerId>, events: usize) {
        if let Some(beside) = &self.beside {
            beside.page_read(consumer, events);
        }
    }

    fn checkpoint_written(&self, consumer: &Arc<ConsumerId>, took: Duration, result: Result<(), &StoreError>) {
        if let Some(beside) = &self.beside {
            beside.checkpoint_written(consumer, took, result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_most_are_within_is_a_bound() {
        let time = |counts: &[(usize, u64)]| {
            let mut all = vec![0; BOUNDS.len() + 1];
            counts.iter().for_each(|(bucket, count)| all[*bucket] = *count);
            HandlerTime { handler: String::new(), counts: all, seconds: 0.0, failed: 0 }
        };
        let most = time(&[(0, 500), (3, 450), (16, 49), (17, 1)]);
        let within = [1, 500, 501, 950, 951, 999].map(|per_mille| most.within(per_mille));
        let bound = |at: usize| Some(BOUNDS[at]);
        assert_eq!(within, [bound(0), bound(0), bound(3), bound(3), bound(16), bound(16)]);
        assert_eq!((most.within(1_000), most.attempts()), (None, 1_000));
        assert_eq!(time(&[]).within(500), None);
    }
}
