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
/// are none, and a look costs nothing. A row takes little here (a position, and of each key one copy): the payloads are
/// in the store, so that a bound of their number is one of their bytes.
#[derive(Debug)]
pub struct ParkedKeys {
    keys: HashMap<ParkedKey, Queue, FixedHasher>,
    events: usize,
    /// How many the queue of a key takes.
    per_key: usize,
    /// How many there may be of all keys.
    in_all: usize,
    /// Keys that have events which wait for room.
    waiting: BTreeSet<ParkedKey>,
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
    /// None yet. A queue takes `per_key` events, and all of them together `in_all`.
    #[must_use]
    pub fn new(per_key: usize, in_all: usize) -> Self {
        Self {
            keys: HashMap::default(),
            events: 0,
            per_key,
            in_all,
            waiting: BTreeSet::new(),
            looks: 0,
            names: HashMap::default(),
        }
    }

    /// As they were left, whatever their number: more are not taken until they are fewer.
    #[must_use]
    pub fn load(mut self, rows: Vec<ParkedRow>) -> Self {
        for row in rows {
            self.park(&row.key, row.position.clone(), row.kind);
            self.stored(&row.key, &row.position);
        }
        self
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

    /// Whether an event of `key` that is given up can be parked. A key that is parked has room for its own.
    #[must_use]
    pub fn takes(&self, key: &ParkedKey) -> bool {
        self.has_room() || self.is_parked(key)
    }

    /// Whether one more event is taken.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.events < self.in_all
    }

    /// Where an event of `key` belongs.
    #[must_use]
    pub fn place(&self, key: &ParkedKey, position: &Position) -> Place {
        let Some(queue) = self.keys.get(key) else { return Place::Free };
        match queue.rows.first_key_value() {
            Some(_) if queue.rows.contains_key(position) => Place::Known,
            // It comes again, and was handled before what the key is parked for.
            Some((first, _)) if position < first => Place::Free,
            _ if self.has_room() && queue.rows.len() < self.per_key && queue.behind.is_empty() => Place::Row,
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
        self.keys.entry(key.clone()).or_default().behind.push_back(number);
        if !self.waiting.contains(key) {
            self.waiting.insert(key.clone());
        }
    }

    /// The next that has room in the queue of its key; the caller [parks](Self::park) it.
    pub fn next_with_room(&mut self) -> Option<(ParkedKey, DeliveryNo)> {
        if !self.has_room() {
            return None;
        }
        let fits = |key: &&ParkedKey| self.keys.get(*key).is_some_and(|queue| queue.rows.len() < self.per_key);
        let key = self.waiting.iter().find(fits)?.clone();
        let queue = self.keys.get_mut(&key)?;
        let next = queue.behind.pop_front()?;
        if queue.behind.is_empty() {
            self.waiting.remove(&key);
        }
        Some((key, next))
    }

    /// One that waited for room does not any more.
    pub fn leave(&mut self, key: &ParkedKey, number: DeliveryNo) {
        let Some(queue) = self.keys.get_mut(key) else { return };
        queue.behind.retain(|waiting| *waiting != number);
        if queue.behind.is_empty() {
            self.waiting.remove(key);
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
        self.waiting.remove(key);
        self.keys.remove(key).map(|queue| queue.behind).unwrap_or_default().into()
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

    /// A key with events that wait for room, and the first of them.
    #[must_use]
    pub fn full(&self) -> Option<(&ParkedKey, DeliveryNo)> {
        let key = self.waiting.first()?;
        Some((key, *self.keys.get(key)?.behind.front()?))
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
        /// no queue has more rows than it may, nor have all of them.
        #[test]
        fn events_of_a_key_leave_in_order(
            steps in proptest::collection::vec((0_u8..3, 0_u8..6), 1..300),
            in_all in 1_usize..14,
        ) {
            const CAPACITY: usize = 4;
            let mut parked = ParkedKeys::new(CAPACITY, in_all);
            let mut handled: HashMap<u8, Vec<u64>> = HashMap::new();
            let mut waiting: HashMap<u64, u8> = HashMap::new();
            let mut position = 0;
            for (k, action) in steps {
                let of = key(k);
                if action < 4 {
                    position += 1;
                    let before = parked.events();
                    match parked.place(&of, &at(position)) {
                        // One in four is given up, if it can be; otherwise it is tried until it is handled.
                        Place::Free if action == 0 && parked.takes(&of) => {
                            prop_assert!(parked.park(&of, at(position), LetterKind::Dead));
                        }
                        Place::Free => handled.entry(k).or_default().push(position),
                        Place::Row => {
                            prop_assert!(!parked.park(&of, at(position), LetterKind::Parked));
                            prop_assert_eq!(parked.place(&of, &at(position)), Place::Known);
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
                while let Some((key, number)) = parked.next_with_room() {
                    waiting.remove(&number);
                    prop_assert!(!parked.park(&key, at(number), LetterKind::Parked));
                }
                prop_assert!(parked.events() <= in_all);
                // Nothing waits for room that is there.
                for key in &parked.waiting {
                    prop_assert!(!parked.has_room() || parked.keys[key].rows.len() == CAPACITY);
                }
                prop_assert!(parked.keys.values().all(|queue| queue.rows.len() <= CAPACITY && !queue.rows.is_empty()));
            }
            for (k, numbers) in &handled {
                prop_assert!(numbers.is_sorted(), "{k}: {numbers:?}");
            }
            let queued: usize = parked.keys.values().map(|queue| queue.rows.len()).sum();
            prop_assert_eq!(parked.events(), queued);
            let full = parked.keys.iter().filter(|(_, queue)| !queue.behind.is_empty()).map(|(key, _)| key);
            prop_assert_eq!(full.collect::<BTreeSet<_>>(), parked.waiting.iter().collect());
            prop_assert_eq!(handled.values().map(Vec::len).sum::<usize>() + queued + waiting.len(), usize::try_from(position).unwrap());
        }
    }

    #[test]
    fn what_comes_again_is_told_from_what_is_new() {
        let row =
            |position| ParkedRow { key: key(1), position: at(position), kind: LetterKind::Dead, requested: false };
        let load = |per_key, in_all| ParkedKeys::new(per_key, in_all).load(vec![row(5), row(9)]);
        let parked = load(3, 3);
        assert_eq!((parked.keys(), parked.events()), (1, 2));
        let place = |position| parked.place(&key(1), &at(position));
        assert_eq!([place(4), place(5), place(9), place(10)], [Place::Free, Place::Known, Place::Known, Place::Row]);
        assert_eq!(parked.place(&key(2), &at(10)), Place::Free);
        for (per_key, in_all) in [(2, 3), (3, 2), (3, 1)] {
            assert_eq!(load(per_key, in_all).place(&key(1), &at(10)), Place::Behind);
        }
        assert!(load(2, 3).takes(&key(2)), "the queue of another key is full");
        assert!(!load(3, 2).takes(&key(2)) && load(3, 2).takes(&key(1)), "a parked key has room for its own");
    }

    #[test]
    fn what_is_discarded_is_told_from_what_was_not_there_yet() {
        let row =
            |position| ParkedRow { key: key(1), position: at(position), kind: LetterKind::Dead, requested: false };
        let mut parked = ParkedKeys::new(9, 9).load(vec![row(1), row(2)]);
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
        let mut parked = ParkedKeys::new(9, 9);
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
        let mut parked = ParkedKeys::new(9, 9);
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
