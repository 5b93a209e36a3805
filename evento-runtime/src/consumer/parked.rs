//! What of a consumer is parked: keys whose events queue behind one that was given up. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::delivery::DeliveryNo;
use super::keys::FixedHasher;
use crate::event::Position;
use crate::store::{LetterKind, ParkedKey, ParkedRow};

/// Where an event belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing before it is parked: it may run.
    Free,
    /// In the queue of its key, where it is already.
    Known,
    /// In the queue of its key.
    Row,
    /// In the queue of its key, which is full: it waits for room in there.
    Behind,
}

/// The parked keys of one ownership; nobody else adds to them or resolves what is in them. In a healthy consumer there
/// are none, and a look costs nothing.
#[derive(Debug, Default)]
pub struct ParkedKeys {
    keys: HashMap<ParkedKey, Queue, FixedHasher>,
    events: usize,
    /// How many keys have events that wait for room.
    full: usize,
    /// How often the store was asked.
    looks: u64,
    /// Of instances: both names of one that could not begin.
    names: HashMap<String, ParkedKey, FixedHasher>,
}

#[derive(Debug)]
struct Row {
    kind: LetterKind,
    /// Since which look it is stored.
    stored: Option<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Unresolved letters, stored or about to be.
    rows: BTreeMap<Position, Row>,
    /// What does not fit in any more, in order.
    behind: VecDeque<DeliveryNo>,
    /// Whether everything in it is to be tried again.
    redrive: bool,
    /// Whether its first one is being tried.
    trying: bool,
}

impl ParkedKeys {
    /// As they were left.
    #[must_use]
    pub fn load(rows: Vec<ParkedRow>) -> Self {
        let mut parked = Self::default();
        for row in rows {
            parked.park(&row.key, row.position.clone(), row.kind);
            parked.stored(&row.key, &row.position);
        }
        parked
    }

    /// The store is asked what it holds.
    pub const fn look(&mut self) {
        self.looks += 1;
    }

    /// What was stored when the store was [asked](Self::look) and is not in its answer: somebody has discarded it.
    #[must_use]
    pub fn discarded(&self, answer: Vec<ParkedRow>) -> Vec<(ParkedKey, Position)> {
        let there: BTreeSet<(ParkedKey, Position)> = answer.into_iter().map(|row| (row.key, row.position)).collect();
        let before = |row: &Row| row.stored.is_some_and(|since| since < self.looks);
        let rows = self.keys.iter().flat_map(|(key, queue)| queue.rows.iter().map(move |(at, row)| (key, at, row)));
        let rows = rows.filter(|(_, _, row)| before(row)).map(|(key, at, _)| (key.clone(), at.clone()));
        rows.filter(|row| !there.contains(row)).collect()
    }

    /// Keys whose first event was not tried: what they were parked for is gone.
    #[must_use]
    pub fn without_reason(&self) -> Vec<ParkedKey> {
        let untried =
            |queue: &Queue| queue.rows.first_key_value().is_some_and(|(_, row)| row.kind == LetterKind::Parked);
        let keys = self.keys.iter().filter(|(_, queue)| !queue.redrive && untried(queue)).map(|(key, _)| key.clone());
        let mut keys: Vec<ParkedKey> = keys.collect();
        keys.sort();
        keys
    }

    /// Whether nothing is parked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many keys are parked.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// How many of their events are in their queues.
    #[must_use]
    pub const fn events(&self) -> usize {
        self.events
    }

    /// Whether a key is parked.
    #[must_use]
    pub fn is_parked(&self, key: &ParkedKey) -> bool {
        self.keys.contains_key(key)
    }

    /// The parked key of an instance, by one of its names.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<ParkedKey> {
        if self.names.is_empty() { None } else { self.names.get(name).cloned() }
    }

    /// Whether an event is in the queue of `key`.
    #[must_use]
    pub fn holds(&self, key: &ParkedKey, position: &Position) -> bool {
        self.keys.get(key).is_some_and(|queue| queue.rows.contains_key(position))
    }

    /// Where an event of `key` belongs, if a queue takes `capacity` events.
    #[must_use]
    pub fn place(&self, key: &ParkedKey, position: &Position, capacity: usize) -> Place {
        let Some(queue) = self.keys.get(key) else { return Place::Free };
        match queue.rows.first_key_value() {
            Some(_) if queue.rows.contains_key(position) => Place::Known,
            // It comes again, and was handled before what the key is parked for.
            Some((first, _)) if position < first => Place::Free,
            _ if queue.rows.len() < capacity && queue.behind.is_empty() => Place::Row,
            _ => Place::Behind,
        }
    }

    /// A letter of `key` is about to be stored. `true`: the key was not parked.
    pub fn park(&mut self, key: &ParkedKey, position: Position, kind: LetterKind) -> bool {
        let first = !self.keys.contains_key(key);
        if first && key.context.is_empty() {
            self.names.extend(key.key.splitn(2, ' ').map(|name| (name.to_owned(), key.clone())));
        }
        let queue = self.keys.entry(key.clone()).or_default();
        self.events += usize::from(queue.rows.insert(position, Row { kind, stored: None }).is_none());
        first
    }

    /// It is stored.
    pub fn stored(&mut self, key: &ParkedKey, position: &Position) {
        if let Some(row) = self.keys.get_mut(key).and_then(|queue| queue.rows.get_mut(position)) {
            row.stored = Some(self.looks);
        }
    }

    /// A delivery of `key` waits for room. They come in order.
    pub fn wait_behind(&mut self, key: &ParkedKey, number: DeliveryNo) {
        let queue = self.keys.entry(key.clone()).or_default();
        self.full += usize::from(queue.behind.is_empty());
        queue.behind.push_back(number);
    }

    /// The next that has room in the queue of `key`; the caller [parks](Self::park) it.
    pub fn next_with_room(&mut self, key: &ParkedKey, capacity: usize) -> Option<DeliveryNo> {
        let queue = self.keys.get_mut(key).filter(|queue| queue.rows.len() < capacity)?;
        let next = queue.behind.pop_front()?;
        self.full -= usize::from(queue.behind.is_empty());
        Some(next)
    }

    /// One that waited for room does not any more.
    pub fn leave(&mut self, key: &ParkedKey, number: DeliveryNo) {
        if let Some(queue) = self.keys.get_mut(key).filter(|queue| !queue.behind.is_empty()) {
            queue.behind.retain(|waiting| *waiting != number);
            self.full -= usize::from(queue.behind.is_empty());
        }
    }

    /// A letter of `key` is resolved. If it was the last one the key is free, and what waited for room may run, in
    /// order.
    pub fn resolved(&mut self, key: &ParkedKey, position: &Position) -> Vec<DeliveryNo> {
        let Some(queue) = self.keys.get_mut(key) else { return Vec::new() };
        self.events -= usize::from(queue.rows.remove(position).is_some());
        if !queue.rows.is_empty() {
            return Vec::new();
        }
        if key.context.is_empty() {
            self.names.retain(|_, of| of != key);
        }
        let behind = self.keys.remove(key).map(|queue| queue.behind).unwrap_or_default();
        self.full -= usize::from(!behind.is_empty());
        behind.into()
    }

    /// Whether everything of `key` is to be tried again.
    #[must_use]
    pub fn is_redriven(&self, key: &ParkedKey) -> bool {
        self.keys.get(key).is_some_and(|queue| queue.redrive)
    }

    /// Everything of `key` is to be tried again, or is not. `true`: that is news.
    pub fn redrive(&mut self, key: &ParkedKey, redrive: bool) -> bool {
        self.keys.get_mut(key).is_some_and(|queue| std::mem::replace(&mut queue.redrive, redrive) != redrive)
    }

    /// Whether one of `key` is being tried: the next one waits for its outcome.
    #[must_use]
    pub fn is_tried(&self, key: &ParkedKey) -> bool {
        self.keys.get(key).is_some_and(|queue| queue.trying)
    }

    /// One of `key` is being tried, or is not any more.
    pub fn tries(&mut self, key: &ParkedKey, trying: bool) {
        if let Some(queue) = self.keys.get_mut(key) {
            queue.trying = trying;
        }
    }

    /// A key whose queue is full, with events that wait for room.
    #[must_use]
    pub fn full(&self) -> Option<&ParkedKey> {
        // Nobody looks through all of them for nothing.
        (self.full > 0).then(|| self.keys.iter().find(|(_, queue)| !queue.behind.is_empty()))?.map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(key: u8) -> ParkedKey {
        ParkedKey { context: "default".into(), key: key.to_string().into() }
    }

    fn at(position: u64) -> Position {
        Position::from_u64(position)
    }

    proptest! {
        /// Whatever fails, comes, is tried again and fails again: the events of a key leave in the order they came in, and
        /// no queue has more rows than it may.
        #[test]
        fn events_of_a_key_leave_in_order(steps in proptest::collection::vec((0_u8..3, 0_u8..6), 1..300)) {
            const CAPACITY: usize = 4;
            let mut parked = ParkedKeys::default();
            let mut handled: HashMap<u8, Vec<u64>> = HashMap::new();
            let mut waiting: HashMap<u64, u8> = HashMap::new();
            let mut position = 0;
            for (k, action) in steps {
                let of = key(k);
                if action < 4 {
                    position += 1;
                    let before = parked.events();
                    match parked.place(&of, &at(position), CAPACITY) {
                        // One in four is given up.
                        Place::Free if action == 0 => prop_assert!(parked.park(&of, at(position), LetterKind::Dead)),
                        Place::Free => handled.entry(k).or_default().push(position),
                        Place::Row => {
                            prop_assert!(!parked.park(&of, at(position), LetterKind::Parked));
                            prop_assert_eq!(parked.place(&of, &at(position), CAPACITY), Place::Known);
                            prop_assert_eq!(parked.events(), before + 1);
                        }
                        Place::Behind => {
                            waiting.insert(position, k);
                            parked.wait_behind(&of, position);
                            prop_assert!(parked.full().is_some());
                        }
                        Place::Known => prop_assert!(false, "{position} is new"),
                    }
                    continue;
                }
                // The first of the key is handled after all.
                let Some(first) = parked.keys.get(&of).and_then(|queue| queue.rows.keys().next().cloned()) else { continue };
                handled.entry(k).or_default().push(first.as_u64().unwrap());
                let free = parked.resolved(&of, &first);
                prop_assert!(free.is_empty() || !parked.is_parked(&of));
                for number in free {
                    waiting.remove(&number);
                    handled.entry(k).or_default().push(number);
                }
                while let Some(number) = parked.next_with_room(&of, CAPACITY) {
                    waiting.remove(&number);
                    parked.park(&of, at(number), LetterKind::Parked);
                }
                prop_assert!(parked.keys.values().all(|queue| queue.rows.len() <= CAPACITY && !queue.rows.is_empty()));
            }
            for (k, numbers) in &handled {
                prop_assert!(numbers.is_sorted(), "{k}: {numbers:?}");
            }
            let queued: usize = parked.keys.values().map(|queue| queue.rows.len()).sum();
            prop_assert_eq!(parked.events(), queued);
            prop_assert_eq!(parked.full, parked.keys.values().filter(|queue| !queue.behind.is_empty()).count());
            prop_assert_eq!(handled.values().map(Vec::len).sum::<usize>() + queued + waiting.len(), usize::try_from(position).unwrap());
        }
    }

    #[test]
    fn what_comes_again_is_told_from_what_is_new() {
        let row =
            |position| ParkedRow { key: key(1), position: at(position), kind: LetterKind::Dead, requested: false };
        let parked = ParkedKeys::load(vec![row(5), row(9)]);
        assert_eq!((parked.keys(), parked.events()), (1, 2));
        let place = |position| parked.place(&key(1), &at(position), 3);
        assert_eq!([place(4), place(5), place(9), place(10)], [Place::Free, Place::Known, Place::Known, Place::Row]);
        assert_eq!(parked.place(&key(2), &at(10), 3), Place::Free);
        assert_eq!(parked.place(&key(1), &at(10), 2), Place::Behind);
    }

    #[test]
    fn what_is_discarded_is_told_from_what_was_not_there_yet() {
        let row =
            |position| ParkedRow { key: key(1), position: at(position), kind: LetterKind::Dead, requested: false };
        let mut parked = ParkedKeys::load(vec![row(1), row(2)]);
        parked.park(&key(1), at(3), LetterKind::Parked);
        parked.look();
        // Stored since: the answer may be older.
        parked.stored(&key(1), &at(3));
        assert_eq!(parked.discarded(vec![row(2)]), [(key(1), at(1))]);
        assert!(parked.without_reason().is_empty());
        parked.resolved(&key(1), &at(1));
        parked.resolved(&key(1), &at(2));
        assert_eq!(parked.without_reason(), [key(1)]);
        parked.look();
        assert_eq!(parked.discarded(Vec::new()), [(key(1), at(3))]);
        parked.redrive(&key(1), true);
        assert!(parked.without_reason().is_empty());
    }

    #[test]
    fn an_instance_is_known_by_its_names_until_its_queue_is_empty() {
        let instance = |key: &str| ParkedKey { context: "".into(), key: key.into() };
        let (lives, begins) = (instance("a"), instance("b order_id=5 6"));
        let mut parked = ParkedKeys::default();
        parked.park(&lives, at(1), LetterKind::Dead);
        parked.park(&begins, at(2), LetterKind::Dead);
        parked.park(&begins, at(3), LetterKind::Parked);
        assert_eq!(
            ["a", "b", "order_id=5 6"].map(|name| parked.named(name)),
            [Some(lives.clone()), Some(begins.clone()), Some(begins.clone())]
        );
        parked.resolved(&begins, &at(2));
        assert_eq!((parked.named("b"), parked.named("5")), (Some(begins.clone()), None));
        parked.resolved(&begins, &at(3));
        assert_eq!((parked.named("b"), parked.named("a")), (None, Some(lives)));
    }

    #[test]
    fn a_wish_ends_with_the_key() {
        let mut parked = ParkedKeys::default();
        assert!(!parked.redrive(&key(1), true), "it is not parked");
        parked.park(&key(1), at(1), LetterKind::Dead);
        assert!(parked.redrive(&key(1), true) && !parked.redrive(&key(1), true));
        parked.tries(&key(1), true);
        assert!(parked.is_tried(&key(1)) && parked.is_redriven(&key(1)) && !parked.is_redriven(&key(2)));
        assert!(parked.resolved(&key(1), &at(1)).is_empty() && parked.is_empty());
        parked.park(&key(1), at(2), LetterKind::Dead);
        assert!(!parked.is_redriven(&key(1)) && !parked.is_tried(&key(1)));
    }
}
