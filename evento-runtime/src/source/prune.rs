//! Taking events out of a log that nobody needs any more.

use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;

/// What is to be looked at next, and taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prune {
    /// Only what was recorded before.
    pub before: Timestamp,
    /// Events looked at, at most: one transaction each.
    pub events: usize,
    /// Counts, and takes nothing out.
    pub dry: bool,
    /// Where a count goes on; what was taken out is remembered by the log.
    pub after: Option<Position>,
}

impl Prune {
    /// Up to a point in time, a few hundred events at once.
    #[must_use]
    pub const fn before(before: Timestamp) -> Self {
        Self { before, events: 500, dry: false, after: None }
    }

    /// Only counts.
    #[must_use]
    pub const fn dry(mut self) -> Self {
        self.dry = true;
        self
    }
}

/// What was taken out of a log, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// How many events.
    pub events: u64,
    /// Everything up to there was looked at; of it only the last event of each key is left. `None`: nothing ever was.
    pub to: Option<Position>,
    /// Whether there is more: ask again.
    pub more: bool,
    /// The consumer that has come least far, and how far: nothing above that is taken out. `None`: nobody reads this
    /// log, and nothing is taken out of it.
    pub slowest: Option<(ConsumerId, Option<Position>)>,
}
