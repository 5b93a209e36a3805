//! What may start on a lane, and what of it goes first. Pure.

use std::collections::BTreeSet;

use super::delivery::{DeliveryNo, REDRIVEN};

/// Deliveries that may start on one lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Ready {
    /// Redriven letters go first: there are few.
    redriven: BTreeSet<DeliveryNo>,
    /// Then further attempts: the window counts them already, so they go also where it is full.
    again: BTreeSet<DeliveryNo>,
    /// Then what has not begun.
    new: BTreeSet<DeliveryNo>,
}

impl Ready {
    /// `begun`: it makes a further attempt.
    pub(super) fn insert(&mut self, number: DeliveryNo, begun: bool) {
        let rank = match number {
            REDRIVEN.. => &mut self.redriven,
            _ if begun => &mut self.again,
            _ => &mut self.new,
        };
        rank.insert(number);
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, number: DeliveryNo) -> bool {
        // Most that are settled were taken, and what is there now has come since.
        let is_among = |rank: &BTreeSet<DeliveryNo>| rank.first().is_some_and(|first| *first <= number);
        [&mut self.redriven, &mut self.again, &mut self.new]
            .into_iter()
            .any(|rank| is_among(rank) && rank.remove(&number))
    }

    /// The one that goes first; it is taken.
    pub(super) fn pop(&mut self) -> Option<DeliveryNo> {
        self.redriven.pop_first().or_else(|| self.again.pop_first()).or_else(|| self.new.pop_first())
    }

    /// The one that goes first.
    pub(super) fn first(&self) -> Option<DeliveryNo> {
        [&self.redriven, &self.again, &self.new].into_iter().find_map(BTreeSet::first).copied()
    }

    /// In the order in which they go.
    pub(super) fn iter(&self) -> impl Iterator<Item = DeliveryNo> {
        self.redriven.iter().chain(&self.again).chain(&self.new).copied()
    }

    /// Whether what goes first is nobody's first attempt.
    pub(super) fn has_begun(&self) -> bool {
        !self.redriven.is_empty() || !self.again.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.redriven.len() + self.again.len() + self.new.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
