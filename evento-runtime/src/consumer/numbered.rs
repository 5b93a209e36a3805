//! Values by delivery number. Pure.
//!
//! Numbers come one after the other and go roughly in that order, so most values stand in a ring, where finding one is
//! counting. What many later ones have overtaken is put aside: memory grows with the values there are.

use std::collections::{BTreeMap, VecDeque};

use super::delivery::{DeliveryNo, REDRIVEN};

/// Places of the ring that may be empty without anything being put aside, beside as many as there are values.
const SPARE: usize = 64;

/// A map whose keys are delivery numbers.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<T> {
    /// The number of the ring's first place, which is never empty.
    first: DeliveryNo,
    ring: VecDeque<Option<T>>,
    /// Values in the ring.
    within: usize,
    /// Everything else: what was overtaken, and redriven letters.
    aside: BTreeMap<DeliveryNo, T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { first: 0, ring: VecDeque::new(), within: 0, aside: BTreeMap::new() }
    }
}

impl<T> Numbered<T> {
    pub(crate) fn insert(&mut self, number: DeliveryNo, value: T) {
        if number >= REDRIVEN || (!self.ring.is_empty() && number < self.first) {
            self.aside.insert(number, value);
            return;
        }
        if self.ring.is_empty() {
            self.first = number;
        }
        let mut place = self.place(number);
        while place > 2 * self.within + SPARE {
            // A leap, or what is before it has been overtaken.
            self.put_aside();
            if self.ring.is_empty() {
                self.first = number;
            }
            place = self.place(number);
        }
        while self.ring.len() <= place {
            self.ring.push_back(None);
        }
        self.within += usize::from(self.ring[place].replace(value).is_none());
    }

    pub(crate) fn get(&self, number: DeliveryNo) -> Option<&T> {
        match self.ring.get(self.place(number)) {
            Some(Some(value)) => Some(value),
            _ if self.aside.is_empty() => None,
            _ => self.aside.get(&number),
        }
    }

    pub(crate) fn get_mut(&mut self, number: DeliveryNo) -> Option<&mut T> {
        let place = self.place(number);
        match self.ring.get_mut(place) {
            Some(Some(value)) => Some(value),
            _ if self.aside.is_empty() => None,
            _ => self.aside.get_mut(&number),
        }
    }

    pub(crate) fn contains(&self, number: DeliveryNo) -> bool {
        self.get(number).is_some()
    }

    pub(crate) fn remove(&mut self, number: DeliveryNo) -> Option<T> {
        let place = self.place(number);
        let Some(value) = self.ring.get_mut(place).and_then(Option::take) else {
            return if self.aside.is_empty() { None } else { self.aside.remove(&number) };
        };
        self.within -= 1;
        self.trim();
        while self.ring.len() > 2 * self.within + SPARE {
            self.put_aside();
        }
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.within + self.aside.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one with the lowest number.
    pub(crate) fn first(&self) -> Option<(DeliveryNo, &T)> {
        self.iter().next()
    }

    /// In the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (DeliveryNo, &T)> + Clone {
        let overtaken = self.aside.range(..self.first).map(|(number, value)| (*number, value));
        let within = (self.first..).zip(&self.ring).filter_map(|(number, value)| Some((number, value.as_ref()?)));
        let others = self.aside.range(self.first..).map(|(number, value)| (*number, value));
        overtaken.chain(within).chain(others)
    }

    /// In no particular order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (DeliveryNo, &mut T)> {
        let within = (self.first..).zip(&mut self.ring).filter_map(|(number, value)| Some((number, value.as_mut()?)));
        within.chain(self.aside.iter_mut().map(|(number, value)| (*number, value)))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The place of a number in the ring; beyond it, if it is not there.
    fn place(&self, number: DeliveryNo) -> usize {
        usize::try_from(number.wrapping_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// The first value of the ring has been overtaken.
    fn put_aside(&mut self) {
        if let Some(Some(value)) = self.ring.pop_front() {
            self.aside.insert(self.first, value);
            self.within -= 1;
            self.first += 1;
            self.trim();
        }
    }

    /// No empty place comes first.
    fn trim(&mut self) {
        while let Some(None) = self.ring.front() {
            self.ring.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes in and out, it is the map it stands for, and no larger than what it holds.
        #[test]
        fn it_is_a_map(
            steps in proptest::collection::vec((0_u8..8, any::<u16>()), 0..600),
            keeps in proptest::collection::vec(any::<bool>(), 1..8),
        ) {
            let (mut numbered, mut map) = (Numbered::default(), BTreeMap::new());
            let (mut next, mut redriven) = (1, REDRIVEN);
            for (step, value) in steps {
                match step {
                    0..4 => {
                        numbered.insert(next, value);
                        map.insert(next, value);
                        next += 1;
                    }
                    4 => {
                        // Some are passed as they come, now and then many.
                        next += if value % 16 == 0 { 500 } else { 1 };
                        redriven += u64::from(value % 4 == 0);
                        numbered.insert(redriven, value);
                        map.insert(redriven, value);
                    }
                    5 => {
                        let some = map.keys().copied().nth(usize::from(value) % map.len().max(1));
                        if let Some(number) = some {
                            *numbered.get_mut(number).unwrap() += u16::from(value < 9);
                            *map.get_mut(&number).unwrap() += u16::from(value < 9);
                        }
                    }
                    _ => {
                        // Some numbers are kept for long.
                        let kept = |number: &DeliveryNo| keeps[usize::try_from(number % 8).unwrap() % keeps.len()];
                        let some = map.keys().copied().filter(|number| !kept(number) || value < 99).nth(usize::from(value) % 4);
                        if let Some(number) = some {
                            prop_assert_eq!(numbered.remove(number), map.remove(&number));
                            prop_assert_eq!(numbered.remove(number), None);
                        }
                    }
                }
                prop_assert_eq!(numbered.len(), map.len());
                prop_assert_eq!(numbered.is_empty(), map.is_empty());
                prop_assert_eq!(numbered.first(), map.first_key_value().map(|(number, value)| (*number, value)));
                prop_assert!(numbered.ring.len() <= 2 * numbered.within + SPARE + 1);
                prop_assert!(numbered.get(next).is_none() && !numbered.contains(0));
            }
            prop_assert!(numbered.iter().eq(map.iter().map(|(number, value)| (*number, value))));
            let mut all: Vec<_> = numbered.iter_mut().map(|(number, value)| (number, *value)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_that_stays_keeps_no_room_for_those_that_went() {
        let mut numbered = Numbered::default();
        numbered.insert(1, 1);
        for number in 2..100_000 {
            numbered.insert(number, number);
            assert_eq!(numbered.remove(number), Some(number));
            assert!(numbered.ring.len() <= SPARE + 2);
        }
        assert_eq!((numbered.len(), numbered.first()), (1, Some((1, &1))));
    }
}
