//! How far the log can be read. Numbers are given out in order but committed in any order, so there are holes: a
//! number whose transaction still runs, or one that was rolled back. Which of the two it is, transaction ids say.
//!
//! Whoever appends takes a transaction id first and a number second. So all who took a number below one that was seen
//! have ids below any id given out after it was seen: once no transaction below that id runs, what is still missing
//! will never come. An older transaction may have nothing to do with this log; so has whoever wrote to it by the time of
//! the fence ended, that is proof as well. Time proves nothing and is not asked.

use std::fmt;
use std::time::Instant;

use crate::clock::monotonic;

/// A stretch of neighbouring positions that are there: first and last.
pub(super) type Island = (i64, i64);

/// A place in the log that a running transaction may still fill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The lowest position that is missing.
    pub from: i64,
    /// Since when it has been waited for.
    pub since: Instant,
    /// The sessions that may fill it, as the server describes them: process id, application, state, age.
    pub sessions: Vec<String>,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = monotonic().saturating_duration_since(self.since).as_secs();
        write!(f, "position {} is waited for since {seconds} s; ", self.from)?;
        match self.sessions.split_first() {
            None => f.write_str("no session is seen that could fill it"),
            Some((first, others)) => {
                write!(f, "held by {first}")?;
                others.iter().try_for_each(|session| write!(f, ", {session}"))
            }
        }
    }
}

/// All who took a number at or below `upto` have transaction ids below `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    id: u64,
    upto: i64,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Everything seen is safe, and more may be there if the look was cut short.
    Nothing,
    /// A hole without a fence: have an id given out, then call [`Head::fence`] with this bound, then look again.
    Fence(i64),
    /// Transactions with ids below the fence still run.
    Wait,
}

/// Everything at or below `safe` is visible, or will never come.
#[derive(Debug, Default)]
pub(super) struct Head {
    safe: i64,
    fence: Option<Fence>,
    /// The lowest missing position, and since when.
    hole: Option<(i64, Instant)>,
}

impl Head {
    pub(super) const fn safe(&self) -> i64 {
        self.safe
    }

    pub(super) const fn hole(&self) -> Option<(i64, Instant)> {
        self.hole
    }

    /// Takes in one look at the log: the stretches above the safe head, ascending, and the lowest transaction id that
    /// ran, both of one snapshot.
    pub(super) fn look(&mut self, islands: &[Island], lowest_running: u64) -> Next {
        if let Some(fence) = self.fence.filter(|fence| lowest_running >= fence.id) {
            self.safe = self.safe.max(fence.upto);
            self.fence = None;
        }
        for &(first, last) in islands {
            if last <= self.safe {
                continue;
            }
            if first > self.safe.saturating_add(1) {
                let missing = self.safe.saturating_add(1);
                if self.hole.is_none_or(|(known, _)| known != missing) {
                    self.hole = Some((missing, monotonic()));
                }
                let highest = islands.last().map_or(last, |(_, last)| *last);
                return if self.fence.is_some() { Next::Wait } else { Next::Fence(highest) };
            }
            self.safe = last;
        }
        self.hole = None;
        self.fence = self.fence.filter(|fence| fence.upto > self.safe);
        Next::Nothing
    }

    /// `id` was given out after everything up to `upto` had been seen.
    pub(super) fn fence(&mut self, upto: i64, id: u64) {
        self.fence = Some(Fence { id, upto });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_safe_at_once() {
        let mut head = Head::default();
        assert_eq!(head.look(&[], 5), Next::Nothing);
        assert_eq!(head.safe(), 0);
        assert_eq!(head.look(&[(1, 9)], 5), Next::Nothing);
        assert_eq!(head.safe(), 9);
        assert_eq!(head.look(&[(10, 10)], 5), Next::Nothing);
        assert_eq!(head.safe(), 10);
    }

    /// Transaction 7 has 3, transaction 8 has 4 and has committed.
    #[test]
    fn a_hole_holds_until_all_below_the_fence_have_ended() {
        let mut head = Head::default();
        assert_eq!(head.look(&[(1, 2), (4, 4)], 7), Next::Fence(4));
        assert_eq!(head.safe(), 2);
        head.fence(4, 9);
        assert_eq!(head.look(&[(3, 5), (7, 7)], 7), Next::Wait, "3 may have come; 6 is new");
        assert_eq!(head.safe(), 5);
        // Below 9 nobody runs: up to 4 all is decided, but 6 was not fenced.
        assert_eq!(head.look(&[(7, 7)], 9), Next::Fence(7));
        assert_eq!(head.safe(), 5);
        head.fence(7, 12);
        assert_eq!(head.look(&[(7, 8)], 12), Next::Nothing, "6 was rolled back");
        assert_eq!(head.safe(), 8);
        assert!(head.hole().is_none());
    }

    /// A later snapshot shows the row that has filled the hole: nothing is passed that was not looked for.
    #[test]
    fn a_hole_in_the_middle_is_filled_before_it_is_passed() {
        let mut head = Head::default();
        assert_eq!(head.look(&[(1, 5), (7, 12)], 100), Next::Fence(12));
        head.fence(12, 101);
        assert_eq!(head.look(&[(6, 12)], 101), Next::Nothing);
        assert_eq!(head.safe(), 12);
    }
}
