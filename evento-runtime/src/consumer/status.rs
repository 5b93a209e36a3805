//! What a consumer shows of itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::event::{Position, Timestamp};
use crate::identity::{ConsumerId, Epoch};
use crate::source::Held;
use crate::store::ErrorHistory;

/// Why a consumer does not move. A closed list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallReason {
    /// Everything there is has been settled.
    CaughtUp,
    /// Another instance owns it.
    Standby,
    /// Somebody paused it.
    Paused,
    /// Everything that can be read has been settled, and there is more: a running transaction may still append below it.
    GapHold {
        /// Where, and by whom.
        held: Held,
    },
    /// As many deliveries as the window allows would run again if the process died now.
    WindowFull,
    /// An executor has no capacity left.
    NoPermit {
        /// Its name.
        executor: String,
    },
    /// An executor has capacity left, but its [rate](crate::executor::RateLimit) allows no start right now.
    RateLimited {
        /// Its name.
        executor: String,
    },
    /// A handler without an executor waits for earlier work, or runs.
    InlineBarrier,
    /// Failed events wait for their next attempt, or a run of transient failures slows the reading.
    BackingOff,
    /// The store does not answer.
    Store {
        /// What it said last.
        error: String,
    },
    /// The ownership ran out before it could be renewed.
    LeaseLost,
    /// A key is parked and the queue behind it is full, or a key cannot be parked because too many events are; and its
    /// further events fill what is read ahead.
    ParkedQueueFull {
        /// The key, or the instance of a saga.
        key: String,
    },
    /// A handler takes longer than its `timeout`, and nothing goes on without it.
    HandlerOverTime {
        /// `OrderView::placed`.
        handler: String,
        /// Its event.
        position: Position,
    },
    /// The consumer's loop died of a panic that was no handler's, and begins again by itself.
    LoopRestarts {
        /// What the panic said.
        cause: String,
        /// How often that was so, without an hour of peace in between.
        deaths: u32,
        /// When it begins again, at the earliest: handlers it has left behind end first.
        at: Timestamp,
    },
}

impl StallReason {
    /// What [`name`](Self::name) may answer.
    pub const NAMES: &[&str] = &[
        "caught-up",
        "standby",
        "paused",
        "gap-hold",
        "window-full",
        "no-permit",
        "rate-limited",
        "inline-barrier",
        "backing-off",
        "store",
        "lease-lost",
        "parked-queue-full",
        "handler-over-time",
        "loop-restarts",
    ];

    /// The reason without what belongs to the moment: for metrics and machines.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CaughtUp => "caught-up",
            Self::Standby => "standby",
            Self::Paused => "paused",
            Self::GapHold { .. } => "gap-hold",
            Self::WindowFull => "window-full",
            Self::NoPermit { .. } => "no-permit",
            Self::RateLimited { .. } => "rate-limited",
            Self::InlineBarrier => "inline-barrier",
            Self::BackingOff => "backing-off",
            Self::Store { .. } => "store",
            Self::LeaseLost => "lease-lost",
            Self::ParkedQueueFull { .. } => "parked-queue-full",
            Self::HandlerOverTime { .. } => "handler-over-time",
            Self::LoopRestarts { .. } => "loop-restarts",
        }
    }
}

impl std::fmt::Display for StallReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CaughtUp => f.write_str("caught up"),
            Self::Standby => f.write_str("standby"),
            Self::Paused => f.write_str("paused"),
            Self::GapHold { held } => write!(f, "gap hold ({held})"),
            Self::WindowFull => f.write_str("window full"),
            Self::NoPermit { executor } => write!(f, "no permit ({executor})"),
            Self::RateLimited { executor } => write!(f, "no permit ({executor}, by its rate)"),
            Self::InlineBarrier => f.write_str("inline barrier"),
            Self::BackingOff => f.write_str("backing off"),
            Self::Store { error } => write!(f, "store ({error})"),
            Self::LeaseLost => f.write_str("lease lost"),
            Self::ParkedQueueFull { key } => write!(f, "parked queue full ({key})"),
            Self::HandlerOverTime { handler, position } => write!(f, "handler over time ({handler} at {position})"),
            Self::LoopRestarts { cause, deaths, .. } => write!(f, "loop restarts (death {deaths}: {cause})"),
        }
    }
}

/// The event that a consumer waits for first: open, and in the way of others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBy {
    /// `OrderView::placed`.
    pub handler: String,
    /// The event.
    pub position: Position,
    /// Its key, if it has one.
    pub key: Option<Arc<str>>,
    /// Attempts that have failed so far.
    pub failed: u32,
}

/// `OrderView::placed at 17, key o-1, after 3 failed attempts`.
impl std::fmt::Display for HeldBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.handler, self.position)?;
        if let Some(key) = &self.key {
            write!(f, ", key {}", key.escape_debug())?;
        }
        match self.failed {
            0 => Ok(()),
            1 => f.write_str(", after a failed attempt"),
            failed => write!(f, ", after {failed} failed attempts"),
        }
    }
}

/// Counted since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerCounters {
    /// Deliveries whose handler began, further attempts included.
    pub started: u64,
    /// Deliveries settled, whatever the way.
    pub settled: u64,
    /// Of those: handlers that said `Skip`.
    pub skipped: u64,
    /// Of those: dead letters stored.
    pub dead_lettered: u64,
    /// Of those: parked behind one of their key.
    pub parked: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Of those: for want of something outside.
    pub transient: u64,
    /// Attempts that were failed and are made again.
    pub retried: u64,
    /// Waits for a permit that ended without one. The figure to alert on.
    pub rejected: u64,
    /// Checkpoints stored.
    pub checkpoints: u64,
    /// How often it came to stand at a hole that a running writer may still fill.
    pub gap_holds: u64,
}

/// A consumer at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStatus {
    /// Which one.
    pub consumer: Arc<ConsumerId>,
    /// The ownership; 0 while another instance owns it.
    pub epoch: Epoch,
    /// `None`: it moves.
    pub reason: Option<StallReason>,
    /// What it waits for, where the reason is one of its own events: window full, no permit, inline barrier, backing
    /// off, handler over time.
    pub held_by: Option<HeldBy>,
    /// Everything up to here is settled.
    pub watermark: Option<Position>,
    /// The highest position started.
    pub reach: Option<Position>,
    /// How far was read.
    pub read_to: Option<Position>,
    /// The first event that was read and is not settled.
    pub oldest_open: Option<Position>,
    /// When the store took it, by the store's clock.
    pub oldest_recorded_at: Option<Timestamp>,
    /// How far the watermark trails what was started: deliveries from the oldest open one to the highest started.
    pub watermark_lag: u64,
    /// When a checkpoint was last stored by this ownership; before that, when it began.
    pub stored_at: Option<Instant>,
    /// Handlers that run. Where several events are handled together, one handler of them does.
    pub in_flight: usize,
    /// Deliveries read and not settled.
    pub open: usize,
    /// Deliveries that would run again if the process died now.
    pub exposure: usize,
    /// Keys that are parked, as the owner knows them.
    pub parked_keys: usize,
    /// Events in their queues, those that were given up included.
    pub parked_events: usize,
    /// Since the process began.
    pub counters: ConsumerCounters,
    /// The latest failures.
    pub errors: Arc<ErrorHistory>,
}

impl ConsumerStatus {
    /// Of a consumer that has not begun.
    #[must_use]
    pub fn new(consumer: Arc<ConsumerId>) -> Self {
        Self {
            consumer,
            epoch: Epoch(0),
            reason: Some(StallReason::Standby),
            held_by: None,
            watermark: None,
            reach: None,
            read_to: None,
            oldest_open: None,
            oldest_recorded_at: None,
            watermark_lag: 0,
            stored_at: None,
            in_flight: 0,
            open: 0,
            exposure: 0,
            parked_keys: 0,
            parked_events: 0,
            counters: ConsumerCounters::default(),
            errors: Arc::default(),
        }
    }

    /// How long ago the store took the oldest event that is read and not settled; nothing where there is none, or
    /// where the store's clock is ahead of `now`.
    #[must_use]
    pub fn behind(&self, now: Timestamp) -> Duration {
        self.oldest_recorded_at.map_or(Duration::ZERO, |at| now.since(at))
    }
}

/// Where a consumer puts its status and others read it.
#[derive(Debug, Clone)]
pub struct StatusCell(Arc<watch::Sender<ConsumerStatus>>);

impl StatusCell {
    /// Of a consumer that has not begun.
    #[must_use]
    pub fn new(consumer: Arc<ConsumerId>) -> Self {
        Self(Arc::new(watch::Sender::new(ConsumerStatus::new(consumer))))
    }

    /// The latest.
    #[must_use]
    pub fn get(&self) -> ConsumerStatus {
        self.0.borrow().clone()
    }

    /// Follows every change.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<ConsumerStatus> {
        self.0.subscribe()
    }

    /// Changes it; watchers hear of it only if it is different.
    pub(crate) fn update(&self, change: impl FnOnce(&mut ConsumerStatus)) {
        self.0.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
    }
}

/// How far a stop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopPhase {
    /// No stop was asked for.
    Run,
    /// Nothing more begins; what runs may finish.
    Drain,
    /// The deadline is over: no outcome is recorded any more.
    Abandon,
}
