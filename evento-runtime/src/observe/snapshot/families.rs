//! Every metric there is: name, words, and where its value comes from.

use std::time::Duration;

use tokio::time::Instant;

use crate::consumer::ConsumerStatus;
use crate::engine::Lag;
use crate::event::Timestamp;
use crate::executor::ExecutorStats;

/// A figure of one thing.
#[derive(Debug, Clone, Copy)]
pub(in crate::observe) enum Figure {
    Count(u64),
    Level(f64),
}

/// One metric of many things of a kind.
pub(in crate::observe) struct Family<T> {
    /// Without the ending that counters get.
    pub(in crate::observe) name: &'static str,
    pub(in crate::observe) help: &'static str,
    pub(in crate::observe) counts: bool,
    /// `None`: nothing is known of this one.
    pub(in crate::observe) figure: fn(&T) -> Option<Figure>,
}

impl<T> Family<T> {
    const fn counter(name: &'static str, help: &'static str, figure: fn(&T) -> Option<Figure>) -> Self {
        Self { name, help, counts: true, figure }
    }

    const fn gauge(name: &'static str, help: &'static str, figure: fn(&T) -> Option<Figure>) -> Self {
        Self { name, help, counts: false, figure }
    }
}

/// An executor at the moment of a scrape.
pub(in crate::observe) struct SeenExecutor {
    pub(in crate::observe) name: String,
    pub(in crate::observe) capacity: Option<usize>,
    pub(in crate::observe) stats: ExecutorStats,
}

/// A consumer at the moment of a scrape.
pub(in crate::observe) struct SeenConsumer {
    pub(in crate::observe) name: String,
    pub(in crate::observe) component: String,
    pub(in crate::observe) status: ConsumerStatus,
    /// Whether a handler of it names an executor.
    pub(in crate::observe) is_async: bool,
    /// As last asked of the store.
    pub(in crate::observe) lag: Option<Lag>,
    pub(in crate::observe) now: Timestamp,
    pub(in crate::observe) instant: Instant,
}

impl SeenConsumer {
    /// For what only the owner can know.
    const fn is_owned(&self) -> bool {
        self.status.epoch.0 > 0
    }
}

const fn count(number: u64) -> Option<Figure> {
    Some(Figure::Count(number))
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^53")]
const fn level(number: u64) -> Option<Figure> {
    Some(Figure::Level(number as f64))
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; exact up to 2^53")]
const fn size(number: usize) -> Option<Figure> {
    Some(Figure::Level(number as f64))
}

const fn seconds(time: Duration) -> Option<Figure> {
    Some(Figure::Level(time.as_secs_f64()))
}

/// Labels `bundle`, `instance`, `executor`.
pub(in crate::observe) const EXECUTORS: &[Family<SeenExecutor>] = &[
    Family::gauge(
        "evento_consumer_executor_capacity",
        "Handlers that may run at once; +Inf where nothing bounds them",
        |of| of.capacity.map_or(Some(Figure::Level(f64::INFINITY)), size),
    ),
    Family::gauge("evento_consumer_executor_in_flight", "Handlers that run, counted from their admission", |of| {
        size(of.stats.in_flight)
    }),
    Family::counter("evento_consumer_executor_admitted", "Permits handed out", |of| count(of.stats.admitted)),
    Family::counter("evento_consumer_executor_rejected", "Waits for a permit that ended without one", |of| {
        count(of.stats.rejected)
    }),
    Family::counter("evento_consumer_executor_completed", "Handlers that ended, whatever the outcome", |of| {
        count(of.stats.completed)
    }),
    Family::counter(
        "evento_consumer_executor_failed",
        "Handlers that were dropped before their end because their runtime ended",
        |of| count(of.stats.failed),
    ),
];

/// Of consumers with a handler that names an executor. Labels `bundle`, `instance`, `consumer`, `component`.
pub(in crate::observe) const ASYNC: &[Family<SeenConsumer>] = &[
    Family::gauge("evento_consumer_async_in_flight", "Handlers of the consumer that run", |of| {
        size(of.status.in_flight)
    }),
    Family::counter(
        "evento_consumer_async_submit_timeouts",
        "Waits of the consumer for a permit that ended without one",
        |of| count(of.status.counters.rejected),
    ),
    Family::counter(
        "evento_consumer_async_transient_failures",
        "Attempts that failed for want of something outside",
        |of| count(of.status.counters.transient),
    ),
];

/// Of every consumer. Labels `bundle`, `instance`, `consumer`, `component`.
pub(in crate::observe) const CONSUMERS: &[Family<SeenConsumer>] = &[
    Family::gauge(
        "evento_consumer_lag_events",
        "Events that are not settled: read ones, and up to a million unread ones of the log; of the owner only",
        |of| of.lag.filter(|_| of.is_owned()).and_then(|lag| level(lag.events)),
    ),
    Family::gauge(
        "evento_consumer_lag_seconds",
        "Age of the oldest event that is read and not settled; of the owner only",
        |of| of.is_owned().then(|| seconds(of.status.behind(of.now))).flatten(),
    ),
    Family::gauge(
        "evento_consumer_watermark_lag_events",
        "Deliveries from the oldest open one to the highest started",
        |of| level(of.status.watermark_lag),
    ),
    Family::gauge("evento_consumer_open_events", "Events read and not settled", |of| size(of.status.open)),
    Family::gauge("evento_consumer_exposed_events", "Events that would run again if the process died now", |of| {
        size(of.status.exposure)
    }),
    Family::gauge("evento_consumer_in_flight", "Handlers that run, with or without an executor", |of| {
        size(of.status.in_flight)
    }),
    Family::counter("evento_consumer_started", "Attempts begun", |of| count(of.status.counters.started)),
    Family::counter("evento_consumer_settled", "Events settled, whatever the way", |of| {
        count(of.status.counters.settled)
    }),
    Family::counter("evento_consumer_skipped", "Events settled because a handler said so", |of| {
        count(of.status.counters.skipped)
    }),
    Family::counter("evento_consumer_failures", "Attempts that failed", |of| count(of.status.counters.failed)),
    Family::counter("evento_consumer_retries", "Failed attempts that are made again", |of| {
        count(of.status.counters.retried)
    }),
    Family::counter("evento_consumer_dead_lettered", "Events given to the dead letters", |of| {
        count(of.status.counters.dead_lettered)
    }),
    Family::gauge("evento_consumer_dead_letters", "Unresolved dead letters; of the owner only", |of| {
        of.lag.filter(|_| of.is_owned()).and_then(|lag| level(lag.dead_letters))
    }),
    Family::gauge(
        "evento_consumer_parked_keys",
        "Keys whose events wait behind a dead letter; of the owner only",
        |of| of.is_owned().then(|| size(of.status.parked_keys)).flatten(),
    ),
    Family::gauge(
        "evento_consumer_parked_events",
        "Events that wait behind a dead letter of their key; of the owner only",
        |of| of.is_owned().then(|| size(of.status.parked_events)).flatten(),
    ),
    Family::gauge("evento_consumer_error_streak", "Failed attempts since the last success", |of| {
        level(of.status.errors.streak)
    }),
    Family::counter(
        "evento_consumer_gap_holds",
        "Times the consumer came to stand at a hole that a running writer may still fill",
        |of| count(of.status.counters.gap_holds),
    ),
    Family::counter("evento_consumer_checkpoints", "Checkpoints stored", |of| count(of.status.counters.checkpoints)),
    Family::gauge(
        "evento_consumer_checkpoint_age_seconds",
        "Time since a checkpoint was stored, while there is something that a crash would run again; else 0",
        |of| {
            let since = of.status.stored_at.filter(|_| of.is_owned() && of.status.exposure > 0);
            seconds(since.map_or(Duration::ZERO, |at| of.instant.saturating_duration_since(at)))
        },
    ),
    Family::gauge("evento_consumer_lease_epoch", "The ownership of this instance; 0 while another owns it", |of| {
        level(of.status.epoch.0)
    }),
];

/// Of every handler that has run, by outcome. Labels as above, and `handler`, `outcome`.
pub(in crate::observe) const HANDLERS: (&str, &str) =
    ("evento_consumer_handler_seconds", "How long attempts took, with the waits for a transaction and its commit");

/// Of every consumer and each reason there is. Labels as above, and `reason`.
pub(in crate::observe) const STALLED: (&str, &str) =
    ("evento_consumer_stalled", "1 for the reason why the consumer does not move; 0 for all others");
