//! Settings with units and defaults, and the pure values that decide about retries.

use std::fmt;
use std::time::Duration;

use crate::outcome::ErrorClass;

/// When a projector's handler that runs on an executor counts as covered by the checkpoint. A handler without an executor,
/// and every one of a saga, an observer, or a component with a handler that takes a [`Tx`](crate::Tx) or a batch, is covered
/// once it is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum CheckpointMode {
    /// Once it has started. A hard kill loses what was running: at most the capacity of its executors. The default,
    /// as in the reference system.
    #[default]
    OnStart,
    /// Once it is settled. A hard kill loses nothing; what was open runs again.
    Watermark,
}

impl fmt::Display for CheckpointMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnStart => "on-start",
            Self::Watermark => "watermark",
        })
    }
}

/// What becomes of the later events of a key once one of them was given to the dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DeadLetterPolicy {
    /// They are handled as if nothing had happened. The default.
    #[default]
    Skip,
    /// They queue behind it until it is handled, or resolved without: the key keeps its order. Other keys go on. Of a
    /// saga it is the instance that stands.
    Park,
}

impl fmt::Display for DeadLetterPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skip => "skip",
            Self::Park => "park",
        })
    }
}

/// Where a consumer begins that has no checkpoint yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StartFrom {
    /// At the first event of the log. The default of projectors.
    Beginning,
    /// Behind the last event there is when it first runs. The default of sagas and observers.
    Head,
}

impl fmt::Display for StartFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beginning => "beginning",
            Self::Head => "head",
        })
    }
}

/// How long an attempt of a handler may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerTimeout {
    /// After this its `Stop` fires.
    pub after: Duration,
    /// Whether its future is dropped then: the attempt has failed, and its permit and key are free.
    pub abandons: bool,
}

/// How many events a handler is called for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// At most so many; never more than are read ahead, nor than fit the window.
    pub most: usize,
    /// How long it waits for more once the first is there; zero: it takes what waits.
    pub linger: Duration,
}

/// How often and how fast a failed event is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Further attempts after the first; `None` for ever.
    pub retries: Option<u32>,
    /// Delay before the first further attempt; doubles from there. Default 1 s.
    pub delay: Duration,
    /// No delay is longer, before the ± 20 % of jitter. Default 30 s.
    pub max_delay: Duration,
}

/// Default of [`RetryPolicy::delay`].
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Default of [`RetryPolicy::max_delay`].
pub const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(30);

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: None, delay: DEFAULT_RETRY_DELAY, max_delay: DEFAULT_MAX_DELAY }
    }
}

impl RetryPolicy {
    /// The delay before further attempt `k`, from 1: `delay · 2^(k-1)`, capped, then ± 20 %.
    ///
    /// `jitter` is a number in `0.0..1.0`; 0.5 gives the delay itself. Saturates for every `k`.
    #[must_use]
    pub fn backoff(&self, k: u32, jitter: f64) -> Duration {
        let factor = 1_u32.checked_shl(k.saturating_sub(1)).unwrap_or(u32::MAX);
        let capped = self.delay.saturating_mul(factor).min(self.max_delay);
        capped.mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0))
    }
}

/// The path an event takes through a consumer, as far as failures are treated differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// A handler without an executor.
    Sequential,
    /// A handler on an executor, under the given mode.
    Executor(CheckpointMode),
}

/// What to do about a failed attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Try again after this delay.
    Retry(Duration),
    /// Give it to the dead letters.
    DeadLetter,
}

/// The retry state of one event: how many attempts were made, and how many of them count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryPlan {
    /// Attempts that failed.
    made: u32,
    /// Of those: against the budget.
    spent: u32,
    /// Failures in a row that do not count (the world around was not ready).
    transient: u32,
}

impl RetryPlan {
    /// The number of the attempt that runs next, from 1.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.made.saturating_add(1)
    }

    /// Whether an attempt has failed for which the world around is not to blame.
    #[must_use]
    pub const fn is_suspicious(&self) -> bool {
        self.spent > 0
    }

    /// One whose process has ended so many times while it ran.
    #[must_use]
    pub const fn after(made: u32) -> Self {
        Self { made, spent: 0, transient: 0 }
    }

    /// Notes a failure and decides. `asked` is a delay the handler asked for itself.
    #[must_use]
    pub fn failed(
        &mut self,
        policy: &RetryPolicy,
        path: Path,
        class: ErrorClass,
        asked: Option<Duration>,
        jitter: f64,
    ) -> Decision {
        self.made = self.made.saturating_add(1);
        let free = class == ErrorClass::Transient && path != Path::Executor(CheckpointMode::OnStart);
        if class == ErrorClass::Permanent {
            return Decision::DeadLetter;
        }
        let k = if free {
            self.transient = self.transient.saturating_add(1);
            self.transient
        } else {
            self.transient = 0;
            self.spent = self.spent.saturating_add(1);
            // `-1` under an executor is one attempt: a retry for ever would keep its permit or its key for ever. Unless
            // the handler asks for it each time.
            let budget = match (policy.retries, path) {
                (None, Path::Executor(_)) if asked.is_none() => Some(0),
                (retries, _) => retries,
            };
            if budget.is_some_and(|budget| self.spent > budget) {
                return Decision::DeadLetter;
            }
            self.spent
        };
        Decision::Retry(asked.unwrap_or_else(|| policy.backoff(k, jitter)))
    }
}

/// Sizes and times of a consumer's loop. One `Default`, every field public.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopSettings {
    /// Events read at once. Default 1,000.
    pub page: usize,
    /// Events read ahead of what has started: a page that is handled, and the next. Default 2,048.
    pub look_ahead: usize,
    /// Payload bytes read ahead. Default 16 MiB.
    pub look_ahead_bytes: usize,
    /// Deliveries that would run again if the process died now. Default 1,024.
    pub window: usize,
    /// A checkpoint is written after so many settled deliveries. Default 256; 1 writes before the next one starts.
    pub checkpoint_every: usize,
    /// … or after this time, whichever comes first. Default 100 ms.
    pub checkpoint_interval: Duration,
    /// An event that is known to have been running at so many ends of the process in a row, none of them a stop, is
    /// given to the dead letters instead of being tried again. Default 3; 0 tries it for ever.
    pub unclean_ends: u32,
    /// How long a delivery waits for a permit before it counts as rejected. Default 5 s.
    pub admission_wait: Duration,
    /// Events of one key that may queue behind one that was given up, which counts as the first. Later ones wait unbegun
    /// until there is room. Default 1,024.
    pub parked_queue: usize,
    /// Events of all keys that may be parked. At so many no further key is: its event is tried again until there is room.
    /// Default 65,536.
    pub parked_events: usize,
    /// How long an observer's claim of an event is believed without being renewed. Default 5 min.
    pub claim_expiry: Duration,
    /// How long is remembered that an observer has handled an event, and that a saga instance has ended. Default 7 days.
    pub dedupe_window: Duration,
    /// First pause when there is nothing to read and no hint came. Default 100 ms.
    pub poll_min: Duration,
    /// Longest pause of that kind. Default 1 s.
    pub poll_max: Duration,
}

/// How long what is only history is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Dead letters, from when they were resolved. `None`: for ever.
    pub resolved: Option<Duration>,
    /// What operators did, with the commands they gave and instances that are gone. `None`: 90 days.
    pub audit: Option<Duration>,
    /// Events, once every consumer has settled them. `None`: for ever.
    pub events: Option<Duration>,
}

impl Default for LoopSettings {
    fn default() -> Self {
        Self {
            page: 1_000,
            look_ahead: 2_048,
            look_ahead_bytes: 16 * 1_024 * 1_024,
            window: 1_024,
            checkpoint_every: 256,
            checkpoint_interval: Duration::from_millis(100),
            unclean_ends: 3,
            admission_wait: Duration::from_secs(5),
            parked_queue: 1_024,
            parked_events: 65_536,
            claim_expiry: Duration::from_secs(5 * 60),
            dedupe_window: Duration::from_secs(7 * 24 * 3_600),
            poll_min: Duration::from_millis(100),
            poll_max: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn backoff_never_overflows_and_keeps_its_bounds(k: u32, millis in 0_u64..10_000_000, cap in 0_u64..10_000_000, jitter in 0.0..1.0_f64) {
            let policy = RetryPolicy { retries: None, delay: Duration::from_millis(millis), max_delay: Duration::from_millis(cap) };
            let delay = policy.backoff(k, jitter);
            prop_assert!(delay <= policy.max_delay.mul_f64(1.2));
            prop_assert!(delay >= policy.delay.min(policy.max_delay).mul_f64(0.79));
        }

        #[test]
        fn an_ordinary_error_gets_n_further_attempts_on_every_path(n in 0_u32..50) {
            let policy = RetryPolicy { retries: Some(n), ..RetryPolicy::default() };
            for path in [Path::Sequential, Path::Executor(CheckpointMode::OnStart), Path::Executor(CheckpointMode::Watermark)] {
                let mut plan = RetryPlan::default();
                let mut attempts = 1;
                while plan.failed(&policy, path, ErrorClass::Ordinary, None, 0.5) != Decision::DeadLetter {
                    attempts += 1;
                }
                prop_assert_eq!(attempts, n + 1);
            }
        }
    }

    #[test]
    fn transient_spends_no_budget_but_under_on_start() {
        let policy = RetryPolicy { retries: Some(2), ..RetryPolicy::default() };
        for path in [Path::Sequential, Path::Executor(CheckpointMode::Watermark)] {
            let mut plan = RetryPlan::default();
            for _ in 0..100 {
                assert!(matches!(plan.failed(&policy, path, ErrorClass::Transient, None, 0.5), Decision::Retry(_)));
            }
            assert_eq!(plan.attempt(), 101, "made, though not spent");
            assert!(matches!(plan.failed(&policy, path, ErrorClass::Ordinary, None, 0.5), Decision::Retry(_)));
        }
        let mut plan = RetryPlan::default();
        let path = Path::Executor(CheckpointMode::OnStart);
        assert!(matches!(plan.failed(&policy, path, ErrorClass::Transient, None, 0.5), Decision::Retry(_)));
        assert!(matches!(plan.failed(&policy, path, ErrorClass::Transient, None, 0.5), Decision::Retry(_)));
        assert_eq!(plan.failed(&policy, path, ErrorClass::Transient, None, 0.5), Decision::DeadLetter);
    }

    #[test]
    fn what_a_handler_asks_for_is_bounded_by_what_it_says_only() {
        let asked = Some(Duration::from_secs(7));
        for path in
            [Path::Sequential, Path::Executor(CheckpointMode::OnStart), Path::Executor(CheckpointMode::Watermark)]
        {
            let mut plan = RetryPlan::default();
            for _ in 0..1_000 {
                let decision = plan.failed(&RetryPolicy::default(), path, ErrorClass::Ordinary, asked, 0.5);
                assert_eq!(decision, Decision::Retry(Duration::from_secs(7)), "{path:?}");
            }
            let policy = RetryPolicy { retries: Some(1), ..RetryPolicy::default() };
            let mut plan = RetryPlan::default();
            assert!(matches!(plan.failed(&policy, path, ErrorClass::Ordinary, asked, 0.5), Decision::Retry(_)));
            assert_eq!(plan.failed(&policy, path, ErrorClass::Ordinary, asked, 0.5), Decision::DeadLetter, "{path:?}");
        }
    }

    #[test]
    fn for_ever_is_for_ever_only_without_an_executor() {
        let policy = RetryPolicy::default();
        let mut plan = RetryPlan::default();
        for _ in 0..1_000 {
            assert!(matches!(
                plan.failed(&policy, Path::Sequential, ErrorClass::Ordinary, None, 0.5),
                Decision::Retry(_)
            ));
        }
        let mut plan = RetryPlan::default();
        let path = Path::Executor(CheckpointMode::Watermark);
        assert_eq!(plan.failed(&policy, path, ErrorClass::Ordinary, None, 0.5), Decision::DeadLetter);
    }
}
