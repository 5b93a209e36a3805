//! Events that may have ended the process: which they are, and what has to be recorded before one begins. Pure.
//!
//! After an ownership that did not end, whatever may have been running is suspected: the events open up to the stored
//! reach, and the next ones above it. Each is recorded before it begins, those that begin together in one write, so that
//! a record says that it was running whenever the process ended. One that was begins only once the one before it is
//! settled: of those beside each other at one end, the next end points at one.

use std::collections::{BTreeMap, BTreeSet};

use super::delivery::DeliveryNo;
use crate::event::Position;
use crate::store::{Checkpoint, RecordedAttempt};

/// What is known of an ownership before this one that did not end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unended {
    /// What it and those before it have recorded.
    pub(crate) recorded: Vec<RecordedAttempt>,
}

/// What a delivery has to wait for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// For nothing.
    Now,
    /// For its record, which is to be stored now, unless it is on its way already.
    Recorded(Option<RecordedAttempt>),
    /// For its turn.
    Turn,
    /// It does not begin any more: it ran when so many processes ended.
    Never(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its record does not count an attempt that begins now.
    Before,
    /// Being recorded.
    Asked,
    /// Recorded: it may run.
    Recorded,
}

#[derive(Debug)]
struct Suspect {
    position: Position,
    /// Processes that have ended while it ran, as far as that was recorded.
    ends: u32,
    stage: Stage,
}

/// The suspects of one ownership. Empty, and free, after one that ended.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Recorded before, and not read back yet.
    recorded: BTreeMap<Position, u32>,
    reach: Option<Position>,
    /// How many more above the reach are suspected.
    above: usize,
    /// Whether there can be any.
    watching: bool,
    /// An event that was running at so many ends is not tried again.
    limit: u32,
    open: BTreeMap<DeliveryNo, Suspect>,
    /// The only one that may run of those recorded before.
    turn: Option<DeliveryNo>,
    waiting: BTreeSet<DeliveryNo>,
}

impl Suspects {
    /// After an ownership that left `checkpoint`, of which at most `above` deliveries above its reach had been read.
    /// `limit`: at least 1.
    pub(crate) fn after(unended: Unended, checkpoint: &Checkpoint, above: usize, limit: u32) -> Self {
        Self {
            recorded: unended.recorded.into_iter().map(|record| (record.position, record.attempts)).collect(),
            reach: checkpoint.reach.clone(),
            above,
            watching: true,
            limit: limit.max(1),
            ..Self::default()
        }
    }

    /// A delivery was read. Answers how often it was recorded, if it is suspected.
    pub(crate) fn note(&mut self, number: DeliveryNo, position: &Position) -> Option<u32> {
        if !self.watching {
            return None;
        }
        let known = self.recorded.remove(position);
        if Some(position) > self.reach.as_ref() {
            if self.above == 0 && known.is_none() {
                return None;
            }
            self.above = self.above.saturating_sub(1);
        }
        Some(self.add(number, position, known.unwrap_or(0)))
    }

    /// A dead letter is about to be tried again: of those, any may have been running.
    pub(crate) fn note_redriven(&mut self, number: DeliveryNo, position: &Position) -> Option<u32> {
        if !self.watching {
            return None;
        }
        let known = self.recorded.remove(position).unwrap_or(0);
        Some(self.add(number, position, known))
    }

    fn add(&mut self, number: DeliveryNo, position: &Position, ends: u32) -> u32 {
        self.open.insert(number, Suspect { position: position.clone(), ends, stage: Stage::Before });
        ends
    }

    /// A delivery was settled as soon as it was read. Whether it was recorded.
    pub(crate) fn passed(&mut self, position: &Position) -> bool {
        self.recorded.remove(position).is_some()
    }

    /// A delivery could begin.
    pub(crate) fn begin(&mut self, number: DeliveryNo) -> Begin {
        let Some(suspect) = self.open.get_mut(&number) else { return Begin::Now };
        match (suspect.stage, suspect.ends) {
            (Stage::Recorded, _) => Begin::Now,
            (Stage::Asked, _) => Begin::Recorded(None),
            (Stage::Before, ends) if ends >= self.limit => Begin::Never(ends),
            (Stage::Before, 1..) if self.turn.is_some_and(|turn| turn != number) => {
                self.waiting.insert(number);
                Begin::Turn
            }
            (Stage::Before, ends) => {
                if ends > 0 {
                    self.turn = Some(number);
                }
                suspect.stage = Stage::Asked;
                let attempts = ends.saturating_add(1);
                Begin::Recorded(Some(RecordedAttempt { position: suspect.position.clone(), attempts }))
            }
        }
    }

    /// Its record is stored.
    pub(crate) fn recorded(&mut self, number: DeliveryNo) {
        if let Some(suspect) = self.open.get_mut(&number).filter(|suspect| suspect.stage == Stage::Asked) {
            suspect.stage = Stage::Recorded;
        }
    }

    /// Whether it waits for its record.
    pub(crate) fn is_asked(&self, number: DeliveryNo) -> bool {
        self.open.get(&number).is_some_and(|suspect| suspect.stage == Stage::Asked)
    }

    /// Its attempt has ended, and the process has not: what is recorded of it is what was before.
    pub(crate) fn survived(&mut self, number: DeliveryNo) -> Option<RecordedAttempt> {
        let suspect = self.open.get_mut(&number).filter(|suspect| suspect.stage == Stage::Recorded)?;
        suspect.stage = Stage::Before;
        self.turn = self.turn.filter(|turn| *turn != number);
        Some(RecordedAttempt { position: suspect.position.clone(), attempts: suspect.ends })
    }

    /// It is settled: the position, if it was recorded.
    pub(crate) fn settled(&mut self, number: DeliveryNo) -> Option<Position> {
        let suspect = self.open.remove(&number)?;
        self.waiting.remove(&number);
        self.turn = self.turn.filter(|turn| *turn != number);
        (suspect.ends > 0 || suspect.stage != Stage::Before).then_some(suspect.position)
    }

    /// Whose turn it is now, of those that wait for it. Answered once.
    pub(crate) fn next_turn(&mut self) -> Option<DeliveryNo> {
        if self.turn.is_some() {
            return None;
        }
        self.waiting.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn position(number: u64) -> Position {
        Position::from_u64(number)
    }

    fn suspects(recorded: &[(u64, u32)], reach: u64, above: usize) -> Suspects {
        let record =
            |(number, attempts): &(u64, u32)| RecordedAttempt { position: position(*number), attempts: *attempts };
        let unended = Unended { recorded: recorded.iter().map(record).collect() };
        let checkpoint = Checkpoint { watermark: None, reach: Some(position(reach)), open: Vec::new() };
        Suspects::after(unended, &checkpoint, above, 3)
    }

    #[test]
    fn after_an_ownership_that_ended_nothing_waits() {
        let mut suspects = Suspects::default();
        assert_eq!(suspects.note(1, &position(1)), None);
        assert_eq!(suspects.begin(1), Begin::Now);
        assert_eq!((suspects.settled(1), suspects.next_turn()), (None, None));
    }

    #[test]
    fn suspected_is_what_was_open_and_the_next_above_the_reach() {
        let mut suspects = suspects(&[], 10, 2);
        for (number, at) in [(1, 4), (2, 10), (3, 11), (4, 15), (5, 16)] {
            suspects.note(number, &position(at));
        }
        for (number, at) in [(1, 4), (2, 10), (3, 11), (4, 15)] {
            let record = RecordedAttempt { position: position(at), attempts: 1 };
            assert_eq!(suspects.begin(number), Begin::Recorded(Some(record)));
            assert_eq!(suspects.begin(number), Begin::Recorded(None), "on its way already");
        }
        assert_eq!(suspects.begin(5), Begin::Now);
        suspects.recorded(2);
        assert_eq!(suspects.begin(2), Begin::Now);
        assert!(suspects.is_asked(1));
    }

    #[test]
    fn at_the_limit_it_does_not_begin() {
        let mut suspects = suspects(&[(7, 3)], 10, 0);
        assert_eq!(suspects.note(1, &position(7)), Some(3));
        assert_eq!(suspects.begin(1), Begin::Never(3));
        assert_eq!(suspects.settled(1), Some(position(7)));
    }

    proptest! {
        /// Whatever the order: nothing runs without its record, and of those recorded before one at a time, each in the
        /// end. What the records say is what a process that ends now leaves behind.
        #[test]
        fn of_the_recorded_one_at_a_time(
            recorded in proptest::collection::btree_map(1_u64..60, 1_u32..3, 0..40),
            fails in 0_u8..4,
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let given: Vec<_> = recorded.iter().map(|(at, attempts)| (*at, *attempts)).collect();
            let mut suspects = suspects(&given, 40, 5);
            let mut table = recorded.clone();
            let mut ready: Vec<DeliveryNo> = (1..60).collect();
            for number in 1..60 {
                suspects.note(number, &position(number));
            }
            let (mut asked, mut running): (Vec<DeliveryNo>, Vec<DeliveryNo>) = (Vec::new(), Vec::new());
            let mut fails = u32::from(fails);
            let mut settled = 0;
            while settled < 59 {
                let step = random.u8(0..3);
                if step == 0 && !ready.is_empty() {
                    let number = ready.swap_remove(random.usize(..ready.len()));
                    match suspects.begin(number) {
                        Begin::Now => running.push(number),
                        Begin::Recorded(record) => {
                            let record = record.unwrap();
                            table.insert(record.position.as_u64().unwrap(), record.attempts);
                            asked.push(number);
                        }
                        Begin::Turn => {}
                        Begin::Never(_) => prop_assert!(false, "nothing is at the limit"),
                    }
                } else if step == 1 {
                    for number in asked.drain(..) {
                        suspects.recorded(number);
                        running.push(number);
                    }
                } else if !running.is_empty() {
                    let number = running.swap_remove(random.usize(..running.len()));
                    if fails > 0 && random.bool() {
                        fails -= 1;
                        match suspects.survived(number) {
                            Some(record) if record.attempts > 0 => { table.insert(number, record.attempts); }
                            _ => { table.remove(&number); }
                        }
                        ready.push(number);
                    } else {
                        settled += 1;
                        if let Some(over) = suspects.settled(number) {
                            table.remove(&over.as_u64().unwrap());
                        }
                    }
                    ready.extend(suspects.next_turn());
                }
                let again: Vec<_> = running.iter().filter(|number| recorded.contains_key(number)).collect();
                prop_assert!(again.len() <= 1, "{again:?} run beside each other");
                for number in &running {
                    let suspected = *number <= 45 || recorded.contains_key(number);
                    let ends = recorded.get(number).copied().unwrap_or(0) + 1;
                    prop_assert_eq!(table.get(number).copied(), suspected.then_some(ends));
                }
            }
            prop_assert!(table.is_empty(), "{:?}", table);
        }
    }
}
