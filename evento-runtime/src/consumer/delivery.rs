//! The order of deliveries of one ownership, and what of it a checkpoint may cover. Pure.

use std::collections::BTreeSet;

use super::numbered::Numbered;
use crate::event::Position;
use crate::store::Checkpoint;

/// The number of a delivery within one ownership: 1, 2, 3, … whatever the positions are.
pub type DeliveryNo = u64;

/// Numbers from here on are redriven dead letters: no deliveries of the log.
pub(crate) const REDRIVEN: DeliveryNo = 1 << 63;

/// When a delivery no longer has to be listed as open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Once it has started: `CheckpointMode::OnStart`, handlers with an executor.
    Start,
    /// Once it is settled: everything else.
    Settle,
}

#[derive(Debug, Clone)]
struct Entry {
    position: Position,
    /// Everything up to here is accounted for by earlier deliveries or matched nothing.
    before: Option<Position>,
    cover: Cover,
    started: bool,
}

impl Entry {
    const fn is_covered(&self) -> bool {
        self.started && matches!(self.cover, Cover::Start)
    }
}

/// Remembers which checkpoint was computed when, so that the window knows what a stored one has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

/// Which deliveries are pending, started, settled. Memory grows with the open ones only.
#[derive(Debug, Clone)]
pub struct DeliveryLog {
    next: DeliveryNo,
    /// The highest number started, or settled without.
    begun: DeliveryNo,
    open: Numbered<Entry>,
    /// Open positions of the stored checkpoint that are not read back yet: open all the same.
    unread: BTreeSet<Position>,
    read_to: Option<Position>,
    reach: Option<Position>,
    /// Deliveries covered so far, and how many of them the stored checkpoint knows.
    covered: u64,
    stored: u64,
    /// Started, not covered.
    exposed: usize,
}

impl DeliveryLog {
    /// Goes on from a stored checkpoint. Its open positions are to be pushed first, then
    /// [`read_to`](Self::note_read_to) its reach.
    #[must_use]
    pub fn resume(checkpoint: &Checkpoint) -> Self {
        Self {
            next: 1,
            begun: 0,
            open: Numbered::default(),
            unread: checkpoint.open.iter().cloned().collect(),
            read_to: checkpoint.watermark.clone(),
            reach: checkpoint.reach.clone(),
            covered: 0,
            stored: 0,
            exposed: 0,
        }
    }

    /// Takes the next event in. `None`: it is not after what was read already, so it is in here.
    pub fn push(&mut self, position: &Position, cover: Cover) -> Option<DeliveryNo> {
        if self.has_read(position) {
            return None;
        }
        self.unread.remove(position);
        let number = self.next;
        self.next += 1;
        let before = self.read_to.replace(position.clone());
        self.open.insert(number, Entry { position: position.clone(), before, cover, started: false });
        Some(number)
    }

    /// Nothing more can appear at or below `position`. Open positions of the stored checkpoint that were not found up
    /// to there are nobody's any more; answers how many.
    pub fn note_read_to(&mut self, position: &Position) -> usize {
        let before = self.unread.len();
        self.unread.retain(|unread| unread > position);
        if self.read_to.as_ref().is_none_or(|read_to| position > read_to) {
            self.read_to = Some(position.clone());
        }
        before - self.unread.len()
    }

    /// Its handler begins. Again for a further attempt changes nothing.
    pub fn start(&mut self, number: DeliveryNo) {
        let Some(entry) = self.open.get_mut(number) else { return };
        if entry.started {
            return;
        }
        entry.started = true;
        self.begun = self.begun.max(number);
        if self.reach.as_ref().is_none_or(|reach| entry.position > *reach) {
            self.reach = Some(entry.position.clone());
        }
        match entry.cover {
            Cover::Start => self.covered += 1,
            Cover::Settle => self.exposed += 1,
        }
    }

    /// Its handler was not called after all, or is as if it had not been: it starts another time.
    pub fn give_back(&mut self, number: DeliveryNo) {
        if let Some(entry) = self.open.get_mut(number).filter(|entry| entry.started && !entry.is_covered()) {
            entry.started = false;
            self.exposed -= 1;
        }
    }

    /// Whether everything before a delivery is settled, and it and everything behind it is as new: then a checkpoint at
    /// any delivery from here on says all there is to say once everything up to that one is handled.
    #[must_use]
    pub fn is_fresh(&self, number: DeliveryNo) -> bool {
        let first = self.open.first().filter(|(first, _)| *first == number);
        first.is_some_and(|(_, entry)| self.unread.is_empty() && self.reach.as_ref() < Some(&entry.position))
    }

    /// For [`stored`](Self::stored), where what is stored covers all that is covered by now.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        Mark(self.covered)
    }

    /// Nothing more has to be stored for it but the checkpoint. Also without having started: skipped by rule.
    pub fn settle(&mut self, number: DeliveryNo) {
        let Some(entry) = self.open.remove(number) else { return };
        self.begun = self.begun.max(number);
        if entry.is_covered() {
            return;
        }
        if entry.started {
            self.exposed -= 1;
        } else if self.reach.as_ref().is_none_or(|reach| entry.position > *reach) {
            self.reach = Some(entry.position);
        }
        self.covered += 1;
    }

    /// How far everything is settled.
    #[must_use]
    pub fn watermark(&self) -> Option<&Position> {
        match self.open.first() {
            Some((_, entry)) => entry.before.as_ref(),
            None => self.read_to.as_ref(),
        }
    }

    /// How far everything has started.
    #[must_use]
    pub fn frontier(&self) -> Option<&Position> {
        match self.open.values().find(|entry| !entry.started) {
            Some(entry) => entry.before.as_ref(),
            None => self.read_to.as_ref(),
        }
    }

    /// The highest position started, in this ownership or before.
    #[must_use]
    pub const fn reach(&self) -> Option<&Position> {
        self.reach.as_ref()
    }

    /// How far was read.
    #[must_use]
    pub const fn read_to(&self) -> Option<&Position> {
        self.read_to.as_ref()
    }

    /// Whether reading has come to a position, or past it.
    #[must_use]
    pub fn has_read(&self, position: &Position) -> bool {
        self.read_to.as_ref().is_some_and(|read_to| position <= read_to)
    }

    /// The oldest delivery that is not settled.
    #[must_use]
    pub fn oldest(&self) -> Option<DeliveryNo> {
        self.open.first().map(|(number, _)| number)
    }

    /// What counts as covered because its handler has begun, and is not settled.
    #[must_use]
    pub fn covered_by_start(&self) -> Vec<Position> {
        self.open.values().filter(|entry| entry.is_covered()).map(|entry| entry.position.clone()).collect()
    }

    /// Its position.
    #[must_use]
    pub fn oldest_position(&self) -> Option<&Position> {
        self.open.first().map(|(_, entry)| &entry.position)
    }

    /// Deliveries that are not settled.
    #[must_use]
    pub fn open_len(&self) -> usize {
        self.open.len()
    }

    /// How far the watermark trails: deliveries from the oldest open one to the highest started.
    #[must_use]
    pub fn watermark_lag(&self) -> u64 {
        self.oldest().map_or(0, |oldest| (self.begun + 1).saturating_sub(oldest))
    }

    /// Deliveries covered since the stored checkpoint was computed.
    #[must_use]
    pub const fn changed(&self) -> u64 {
        self.covered - self.stored
    }

    /// Deliveries that would run again if the process died now: begun and not covered, or covered and not stored.
    #[must_use]
    pub fn exposure(&self) -> usize {
        self.exposed.saturating_add(usize::try_from(self.changed()).unwrap_or(usize::MAX))
    }

    /// What may be stored now, in one settlement with what settles the deliveries of `with`.
    #[must_use]
    pub fn checkpoint(&self, with: &BTreeSet<DeliveryNo>) -> (Checkpoint, Mark) {
        self.build(with, |entry| !entry.is_covered())
    }

    /// What is stored at the end: whatever is not settled is open, also what was covered by its start. A stop
    /// loses nothing.
    #[must_use]
    pub fn final_checkpoint(&self, with: &BTreeSet<DeliveryNo>) -> (Checkpoint, Mark) {
        self.build(with, |_| true)
    }

    fn build(&self, with: &BTreeSet<DeliveryNo>, is_open: impl Fn(&Entry) -> bool) -> (Checkpoint, Mark) {
        let mut unsettled = self.open.iter().filter(|(number, _)| !with.contains(number)).map(|(_, entry)| entry);
        let watermark = match unsettled.clone().next() {
            Some(entry) => entry.before.clone(),
            None => self.read_to.clone(),
        };
        let reach = self.reach.clone().max(watermark.clone());
        let open = unsettled
            .by_ref()
            .take_while(|entry| Some(&entry.position) <= reach.as_ref())
            .filter(|entry| is_open(entry))
            .map(|entry| &entry.position)
            .chain(&self.unread)
            .cloned()
            .collect();
        let fresh = with.iter().filter(|number| self.open.get(**number).is_some_and(|entry| !entry.is_covered()));
        let mark = self.covered + u64::try_from(fresh.count()).unwrap_or(u64::MAX);
        (Checkpoint { watermark, reach, open }, Mark(mark))
    }

    /// A checkpoint computed at `mark` is stored; what was stored with it is [settled](Self::settle) first.
    pub fn stored(&mut self, mark: Mark) {
        self.stored = self.stored.max(mark.0);
    }
}

#[cfg(test)]
mod tests;
