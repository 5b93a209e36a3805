//! One queue per key: what of a consumer's parallel work may start. Pure.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::delivery::{DeliveryNo, REDRIVEN};

/// Fixed, so that a simulated run repeats itself.
pub(crate) type FixedHasher = BuildHasherDefault<DefaultHasher>;

/// Deliveries by key and by lane. A lane is one executor of the consumer; a key holds at most one of its permits.
#[derive(Debug, Default)]
pub struct KeyQueues {
    /// Unsettled deliveries of a key, in order; only the first may run.
    keys: HashMap<Arc<str>, VecDeque<(DeliveryNo, usize)>, FixedHasher>,
    /// May start now, by lane: what was taken before and redriven letters (there are few), then the oldest.
    ready: Vec<BTreeSet<(bool, DeliveryNo)>>,
    active: usize,
}

impl KeyQueues {
    /// For `lanes` executors.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Self { ready: vec![BTreeSet::new(); lanes], ..Self::default() }
    }

    /// Takes a delivery in. With a key it waits for everything unsettled before it under that key.
    pub fn push(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>) {
        self.active += 1;
        if let Some(key) = key {
            match self.keys.entry(Arc::clone(key)) {
                Entry::Occupied(mut queue) => return queue.get_mut().push_back((number, lane)),
                Entry::Vacant(empty) => {
                    empty.insert(VecDeque::from([(number, lane)]));
                }
            }
        }
        self.make_first_ready(number, lane);
    }

    /// The oldest delivery that may start on a lane; it is taken.
    pub fn take(&mut self, lane: usize) -> Option<DeliveryNo> {
        self.ready.get_mut(lane)?.pop_first().map(|(_, number)| number)
    }

    /// Whether something may start on a lane.
    #[must_use]
    pub fn has_ready(&self, lane: usize) -> bool {
        self.ready.get(lane).is_some_and(|ready| !ready.is_empty())
    }

    /// A delivery taken before may start again: its retry is due, or its start did not happen. Its key stays its own.
    /// It goes before everything new, or more would be begun than there are permits.
    pub fn make_ready(&mut self, number: DeliveryNo, lane: usize) {
        if let Some(ready) = self.ready.get_mut(lane) {
            ready.insert((AGAIN, number));
        }
    }

    fn make_first_ready(&mut self, number: DeliveryNo, lane: usize) {
        if let Some(ready) = self.ready.get_mut(lane) {
            ready.insert(ranked(number));
        }
    }

    /// A delivery is settled: the next of its key may start.
    pub fn settle(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>) {
        self.active -= 1;
        if let Some(ready) = self.ready.get_mut(lane) {
            ready.remove(&ranked(number));
            ready.remove(&(AGAIN, number));
        }
        let Some(queue) = key.and_then(|key| self.keys.get_mut(key)) else { return };
        if queue.front().is_some_and(|(first, _)| *first == number) {
            queue.pop_front();
        } else {
            queue.retain(|(queued, _)| *queued != number);
        }
        match (queue.front().copied(), key) {
            (Some((next, lane)), _) => self.make_first_ready(next, lane),
            (None, Some(key)) => {
                self.keys.remove(key);
            }
            (None, None) => {}
        }
    }

    /// Deliveries that are not settled.
    #[must_use]
    pub const fn active(&self) -> usize {
        self.active
    }
}

/// The rank of what was taken before.
const AGAIN: bool = false;

const fn ranked(number: DeliveryNo) -> (bool, DeliveryNo) {
    (number < REDRIVEN, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is taken, retried and settled in whatever order: per key, one at a time and in order.
        #[test]
        fn a_key_runs_in_order_and_alone(
            pushes in proptest::collection::vec((0_u8..5, any::<bool>()), 1..120),
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut queues = KeyQueues::new(1);
            let keys: Vec<Option<Arc<str>>> = pushes.iter().map(|(key, keyed)| keyed.then(|| key.to_string().into())).collect();
            let mut pushed = 0;
            let mut running: Vec<usize> = Vec::new();
            let mut waiting: Vec<usize> = Vec::new();
            let mut done: Vec<usize> = Vec::new();
            while done.len() < keys.len() {
                let (pick, action) = (random.usize(..), random.u8(..3));
                if pushed < keys.len() && pick % 3 != 0 {
                    queues.push(pushed as u64, 0, keys[pushed].as_ref());
                    pushed += 1;
                }
                if let Some(number) = queues.take(0) {
                    let index = usize::try_from(number).unwrap();
                    if let Some(key) = &keys[index] {
                        for other in running.iter().chain(&waiting) {
                            prop_assert!(keys[*other].as_ref() != Some(key), "two of one key at once");
                        }
                        for (earlier, other) in keys.iter().enumerate().take(index) {
                            prop_assert!(other.as_ref() != Some(key) || done.contains(&earlier), "out of order");
                        }
                    }
                    running.push(index);
                }
                if !running.is_empty() && action > 0 {
                    let index = running.swap_remove(pick % running.len());
                    if action == 1 {
                        queues.settle(index as u64, 0, keys[index].as_ref());
                        done.push(index);
                    } else {
                        waiting.push(index);
                    }
                }
                if !waiting.is_empty() && pick % 2 == 0 {
                    let index = waiting.swap_remove(pick % waiting.len());
                    queues.make_ready(index as u64, 0);
                }
            }
            prop_assert_eq!(queues.active(), 0);
            prop_assert!(queues.keys.is_empty());
        }
    }

    #[test]
    fn a_waiting_key_stops_no_other() {
        let mut queues = KeyQueues::new(1);
        let hot: Arc<str> = "hot".into();
        for number in 1..=500 {
            queues.push(number, 0, Some(&hot));
        }
        assert_eq!(queues.take(0), Some(1));
        assert_eq!(queues.take(0), None);
        queues.push(501, 0, Some(&"cold".into()));
        queues.push(502, 0, None);
        assert_eq!((queues.take(0), queues.take(0)), (Some(501), Some(502)));
    }

    #[test]
    fn what_was_taken_before_goes_first() {
        let mut queues = KeyQueues::new(1);
        let key: Arc<str> = "k".into();
        queues.push(1, 0, Some(&key));
        queues.push(2, 0, Some(&key));
        queues.push(3, 0, None);
        assert_eq!((queues.take(0), queues.take(0)), (Some(1), Some(3)));
        // The second of the key becomes ready while the third waits to start again.
        queues.make_ready(3, 0);
        queues.settle(1, 0, Some(&key));
        assert_eq!((queues.take(0), queues.take(0), queues.take(0)), (Some(3), Some(2), None));
        queues.make_ready(2, 0);
        queues.settle(2, 0, Some(&key));
        assert!(!queues.has_ready(0));
    }
}
