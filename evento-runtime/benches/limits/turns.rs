//! A B A B: what changes on the machine meanwhile changes both.

use std::time::Duration;

use crate::report::{Report, Turn};

/// How often each side has its turn.
pub(crate) const TURNS: usize = 5;

/// One whole run.
pub(crate) struct Run {
    pub(crate) took: Duration,
    /// Events, or whatever is counted.
    pub(crate) events: u64,
    /// What came out of it, the same for both sides.
    pub(crate) check: Check,
}

impl Run {
    pub(crate) const fn new(took: Duration, events: u64, check: Check) -> Self {
        Self { took, events, check }
    }

    /// With what came out of it, where that is known only now.
    pub(crate) fn with(mut self, check: impl FnOnce() -> Check) -> Self {
        self.check = check();
        self
    }

    fn rate(&self) -> f64 {
        as_f64(self.events) / self.took.as_secs_f64()
    }
}

/// Counts and a checksum of the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) count: u64,
    pub(crate) sum: u64,
}

impl Check {
    pub(crate) const fn new(count: u64, sum: u64) -> Self {
        Self { count, sum }
    }

    pub(crate) const fn count(count: u64) -> Self {
        Self { count, sum: 0 }
    }
}

/// Both sides in turn, after one turn each that is not counted.
pub(crate) async fn alternate(
    report: &mut Report,
    scenario: &str,
    store: &str,
    aim: f64,
    ours: impl AsyncFn() -> Run,
    limit: impl AsyncFn() -> Run,
) {
    let expected = limit().await.check;
    same(scenario, store, expected, ours().await.check);
    let mut turns = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let (ours, limit) = (ours().await, limit().await);
        same(scenario, store, expected, ours.check);
        same(scenario, store, expected, limit.check);
        turns.push(Turn { ours: ours.rate(), limit: limit.rate() });
    }
    report.ratio(scenario, store, aim, &turns);
}

fn same(scenario: &str, store: &str, expected: Check, found: Check) {
    assert!(expected == found, "{scenario} on {store}: {found:?} where there should be {expected:?}");
}

#[allow(clippy::cast_precision_loss, reason = "figures are printed with fewer digits")]
pub(crate) const fn as_f64(number: u64) -> f64 {
    number as f64
}
