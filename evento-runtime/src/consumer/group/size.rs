//! How many deliveries run together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many run together at first, where nobody knows how long they take.
const AT_FIRST: usize = 8;

/// Grows while they take little time and nothing gets in their way.
#[derive(Debug)]
pub(crate) struct GroupSize {
    most: usize,
    /// After so long no further one of a group begins.
    time: Option<Duration>,
    now: AtomicUsize,
}

impl GroupSize {
    /// At most `most` at once, and as many as begin within `time`.
    pub(crate) fn timed(most: usize, time: Duration) -> Self {
        Self { most, time: Some(time), now: AtomicUsize::new(most.min(AT_FIRST)) }
    }

    /// At most `most` at once.
    pub(crate) const fn of(most: usize) -> Self {
        Self { most, time: None, now: AtomicUsize::new(most) }
    }

    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed).max(1)
    }

    /// Whether no further one begins.
    pub(crate) fn is_over(&self, took: Duration) -> bool {
        self.time.is_some_and(|time| took >= time)
    }

    /// `members` of them got in the way of somebody else.
    pub(crate) fn halve(&self, members: usize) {
        self.now.store((members / 2).max(1), Ordering::Relaxed);
    }

    /// So many were handled in one transaction.
    pub(crate) fn note(&self, members: usize, took: Duration) {
        let now = self.now();
        let next = match self.time {
            Some(time) if took >= time => members,
            Some(time) if took > time / 2 => return,
            _ if members >= now => now.saturating_mul(2).min(self.most),
            _ => return,
        };
        self.now.store(next.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: Duration = Duration::from_micros(10);

    #[test]
    fn a_group_is_as_large_as_its_time_allows() {
        let size = GroupSize::timed(100, Duration::from_millis(20));
        for expected in [8, 16, 32, 64, 100, 100] {
            assert_eq!(size.now(), expected);
            size.note(expected, BRIEF);
        }
        // What was all there was says nothing; what took its time does.
        size.note(3, Duration::from_millis(12));
        assert_eq!(size.now(), 100);
        assert!(size.is_over(Duration::from_millis(20)));
        size.note(7, Duration::from_millis(21));
        assert_eq!(size.now(), 7);
        size.note(1, Duration::from_secs(1));
        assert_eq!(size.now(), 1);
        size.note(1, BRIEF);
        assert_eq!(size.now(), 2);
    }

    #[test]
    fn what_gets_in_the_way_is_halved_and_grows_back() {
        let size = GroupSize::of(500);
        assert_eq!(size.now(), 500);
        size.halve(500);
        size.halve(1);
        assert_eq!(size.now(), 1);
        for _ in 0..9 {
            size.note(size.now(), Duration::from_secs(1));
        }
        assert_eq!(size.now(), 500);
    }
}
