//! A run of transient failures that end in the dead letters: nothing new begins for a while, longer with each pass of
//! events that fails, so that an outage costs a few letters and not the backlog.

use std::time::Duration;

use tokio::time::Instant;

use crate::policy::RetryPolicy;

/// 100 ms, doubling, at most 30 s.
pub(super) const STREAK: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(100), max_delay: Duration::from_secs(30) };

#[derive(Debug, Default)]
pub(super) struct Outage {
    passes: u32,
    until: Option<Instant>,
}

impl Outage {
    /// An event has failed. Those that ran beside it belong to the same pass.
    pub(super) fn failed(&mut self, now: Instant) {
        if !self.holds(now) {
            self.passes = self.passes.saturating_add(1);
            self.until = Some(now + STREAK.backoff(self.passes, fastrand::f64()));
        }
    }

    /// Whether nothing new is to begin.
    pub(super) fn holds(&self, now: Instant) -> bool {
        self.due().is_some_and(|until| now < until)
    }

    /// When something may begin again.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.until
    }

    /// An event was handled.
    pub(super) fn over(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_pass_counts_once_and_each_holds_longer() {
        let (mut outage, began) = (Outage::default(), Instant::now());
        let mut now = began;
        assert!(!outage.holds(now));
        let mut passes = 0;
        while now < began + Duration::from_secs(60) {
            outage.failed(now);
            let due = outage.due().unwrap();
            // Of the same pass.
            outage.failed(now + Duration::from_millis(1));
            assert_eq!(outage.due(), Some(due));
            (now, passes) = (due, passes + 1);
        }
        assert!((8..=12).contains(&passes), "{passes}");
        outage.over();
        assert!(!outage.holds(now));
    }
}
