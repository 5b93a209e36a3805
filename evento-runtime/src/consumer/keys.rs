//! One queue per key: what of a consumer's parallel work may start. Pure.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::delivery::DeliveryNo;
use super::ready::Ready;

/// Fixed, so that a simulated run repeats itself.
pub(crate) type FixedHasher = foldhash::fast::FixedState;

/// A delivery in the queue of its key.
#[derive(Debug, Clone, Copy)]
struct Queued {
    number: DeliveryNo,
    lane: usize,
    /// Whether it was taken together with the one before it.
    joined: bool,
}

/// Unsettled deliveries of a key, in order; only the first may run, and those that have joined it.
#[derive(Debug)]
struct Queue {
    first: Queued,
    others: VecDeque<Queued>,
}

impl Queue {
    const fn of(first: Queued) -> Self {
        Self { first, others: VecDeque::new() }
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queued> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// What stands behind a delivery.
    fn after(&self, number: DeliveryNo) -> Option<&Queued> {
        if self.first.number == number {
            return self.others.front();
        }
        let at = self.others.iter().position(|queued| queued.number == number)?;
        self.others.get(at + 1)
    }
}

/// Deliveries by key and by lane. A lane is one executor of the consumer; a key holds at most one of its permits.
#[derive(Debug, Default)]
pub struct KeyQueues {
    keys: HashMap<Arc<str>, Queue, FixedHasher>,
    /// May start now, by lane.
    ready: Vec<Ready>,
    active: usize,
}

impl KeyQueues {
    /// For `lanes` executors.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Self { ready: vec![Ready::default(); lanes], ..Self::default() }
    }

    /// Takes a delivery in. With a key it waits for everything unsettled before it under that key.
    pub fn push(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>) {
        self.active += 1;
        if let Some(key) = key {
            let queued = Queued { number, lane, joined: false };
            match self.keys.get_mut(key) {
                Some(queue) => return queue.others.push_back(queued),
                None => self.keys.insert(Arc::clone(key), Queue::of(queued)),
            };
        }
        self.make_ready(number, lane);
    }

    /// The next delivery that may start on a lane, the oldest of its rank; it is taken. Further attempts go first.
    pub fn take(&mut self, lane: usize) -> Option<DeliveryNo> {
        self.ready.get_mut(lane)?.pop()
    }

    /// The next delivery that may start on a lane; it stays there.
    #[must_use]
    pub fn first_ready(&self, lane: usize) -> Option<DeliveryNo> {
        self.ready.get(lane)?.first()
    }

    /// The first delivery that may start on a lane and is `wanted`.
    pub fn find_ready(&self, lane: usize, wanted: impl Fn(DeliveryNo) -> bool) -> Option<DeliveryNo> {
        self.ready.get(lane)?.iter().find(|number| wanted(*number))
    }

    /// Takes a delivery that may start on a lane. Whether it could.
    pub fn take_this(&mut self, number: DeliveryNo, lane: usize) -> bool {
        self.ready.get_mut(lane).is_some_and(|ready| ready.remove(number))
    }

    /// Takes more to run together with `first`, which was taken: at most `most` with it, the oldest first, and behind
    /// one of them what waits for it under its key. `look` answers the key of a delivery that may join; `None`: it may
    /// not.
    pub fn join<'k>(
        &mut self,
        lane: usize,
        first: DeliveryNo,
        most: usize,
        look: impl Fn(DeliveryNo) -> Option<Option<&'k Arc<str>>>,
    ) -> Vec<DeliveryNo> {
        let ready = self.ready.get(lane).into_iter().flat_map(Ready::iter);
        let ready: Vec<_> = ready.filter(|number| look(*number).is_some()).take(most).collect();
        let mut ready = ready.into_iter().peekable();
        let mut group = vec![first];
        let mut followers: BTreeSet<DeliveryNo> = self.follower(lane, first, &look).into_iter().collect();
        while group.len() < most {
            let waiting = followers.first().copied();
            let number = match ready.next_if(|number| waiting.is_none_or(|waiting| *number < waiting)) {
                Some(number) => {
                    self.take_this(number, lane);
                    number
                }
                None => {
                    let Some(number) = followers.pop_first() else { break };
                    if let Some(queued) = self.queued(number, look(number).flatten()) {
                        queued.joined = true;
                    }
                    number
                }
            };
            group.push(number);
            followers.extend(self.follower(lane, number, &look));
        }
        group
    }

    /// What waits for `number` under its key, if it may join.
    fn follower<'k>(
        &self,
        lane: usize,
        number: DeliveryNo,
        look: &impl Fn(DeliveryNo) -> Option<Option<&'k Arc<str>>>,
    ) -> Option<DeliveryNo> {
        let queue = self.keys.get(look(number)??)?;
        let next = queue.after(number).filter(|next| next.lane == lane && !next.joined)?;
        look(next.number).map(|_| next.number)
    }

    fn queued(&mut self, number: DeliveryNo, key: Option<&Arc<str>>) -> Option<&mut Queued> {
        self.keys.get_mut(key?)?.iter_mut().find(|queued| queued.number == number)
    }

    /// A delivery that was taken goes back into its place: ready, or behind what is unsettled before it under its key.
    /// `begun`: it had begun earlier, so nobody counts it anew.
    pub fn give_back(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>, begun: bool) {
        if let Some(queued) = self.queued(number, key) {
            queued.joined = false;
        }
        let first = key.and_then(|key| self.keys.get(key)).map(|queue| queue.first.number);
        if first.is_none_or(|first| first == number) {
            if begun { self.make_ready_again(number, lane) } else { self.make_ready(number, lane) }
        }
    }

    /// Whether something may start on a lane.
    #[must_use]
    pub fn has_ready(&self, lane: usize) -> bool {
        self.ready.get(lane).is_some_and(|ready| !ready.is_empty())
    }

    /// How many may start on a lane.
    #[must_use]
    pub fn ready(&self, lane: usize) -> usize {
        self.ready.get(lane).map_or(0, Ready::len)
    }

    /// Whether something may start on a lane that nobody counts anew: a further attempt, or a redriven letter.
    #[must_use]
    pub fn has_begun(&self, lane: usize) -> bool {
        self.ready.get(lane).is_some_and(Ready::has_begun)
    }

    /// A delivery taken before may start after all: its start did not happen. Its key stays its own.
    pub fn make_ready(&mut self, number: DeliveryNo, lane: usize) {
        self.insert(number, lane, false);
    }

    /// A delivery that has begun may make a further attempt. Its key stays its own.
    pub fn make_ready_again(&mut self, number: DeliveryNo, lane: usize) {
        self.insert(number, lane, true);
    }

    fn insert(&mut self, number: DeliveryNo, lane: usize, begun: bool) {
        if let Some(ready) = self.ready.get_mut(lane) {
            ready.insert(number, begun);
        }
    }

    /// A delivery is settled, or taken out without having begun: the next of its key may start, if it was the first.
    pub fn settle(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>) {
        self.active -= 1;
        self.take_this(number, lane);
        let Some(key) = key else { return };
        let Some(queue) = self.keys.get_mut(key) else { return };
        if queue.first.number != number {
            // What is before it is on its way, or waits.
            return queue.others.retain(|queued| queued.number != number);
        }
        match queue.others.pop_front() {
            Some(next) => {
                queue.first = next;
                let Queued { number, lane, joined } = next;
                // What has joined is on its way already.
                if !joined {
                    self.make_ready(number, lane);
                }
            }
            None => drop(self.keys.remove(key)),
        }
    }

    /// Deliveries that are not settled.
    #[must_use]
    pub const fn active(&self) -> usize {
        self.active
    }
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
                    match action {
                        0 => queues.make_ready(index as u64, 0),
                        _ => queues.make_ready_again(index as u64, 0),
                    }
                }
            }
            prop_assert_eq!(queues.active(), 0);
            prop_assert!(queues.keys.is_empty());
        }
    }

    proptest! {
        /// Groups are taken, and parts of them given back, in whatever order: per key everything runs in order, and
        /// what runs together does so in one group.
        #[test]
        fn groups_keep_the_order_of_a_key(
            pushes in proptest::collection::vec((0_u8..5, any::<bool>(), 0_usize..2), 1..120),
            most in 1_usize..9,
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut queues = KeyQueues::new(2);
            let keys: Vec<Option<Arc<str>>> = pushes.iter().map(|(key, keyed, _)| keyed.then(|| key.to_string().into())).collect();
            let lane_of = |index: usize| pushes[index].2;
            let key_of = |number: DeliveryNo| keys[usize::try_from(number).unwrap()].as_ref();
            let mut pushed = 0;
            let mut running: Vec<Vec<DeliveryNo>> = Vec::new();
            let mut done: BTreeSet<DeliveryNo> = BTreeSet::new();
            while done.len() < keys.len() {
                if pushed < keys.len() && random.u8(..3) != 0 {
                    queues.push(pushed as u64, lane_of(pushed), keys[pushed].as_ref());
                    pushed += 1;
                }
                let lane = random.usize(..2);
                if let Some(first) = queues.take(lane) {
                    // Some do not want to.
                    let refused = random.u64(..7);
                    let group = queues.join(lane, first, most, |number| {
                        (number == first || number % 7 != refused).then(|| key_of(number))
                    });
                    prop_assert!(group.len() <= most && group[0] == first);
                    for (at, number) in group.iter().enumerate() {
                        prop_assert_eq!(lane_of(usize::try_from(*number).unwrap()), lane);
                        let Some(key) = key_of(*number) else { continue };
                        prop_assert!(running.iter().flatten().all(|other| key_of(*other) != Some(key)), "two at once");
                        for earlier in (0..*number).filter(|earlier| key_of(*earlier) == Some(key)) {
                            let before = group[..at].contains(&earlier) || done.contains(&earlier);
                            prop_assert!(before, "{} before {}", number, earlier);
                        }
                    }
                    running.push(group);
                }
                if !running.is_empty() && random.bool() {
                    let group = running.swap_remove(random.usize(..running.len()));
                    let lane = lane_of(usize::try_from(group[0]).unwrap());
                    let failed = random.usize(..=group.len());
                    let stands = group.get(failed).and_then(|number| key_of(*number));
                    for (at, number) in group.iter().enumerate() {
                        let key = key_of(*number);
                        if at < failed || at > failed && (key.is_none() || key != stands) {
                            queues.settle(*number, lane, key);
                            done.insert(*number);
                        } else if at == failed {
                            // It may be its turn again at once, before the others are back.
                            queues.make_ready_again(*number, lane);
                        } else {
                            queues.give_back(*number, lane, key, false);
                        }
                    }
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
}
