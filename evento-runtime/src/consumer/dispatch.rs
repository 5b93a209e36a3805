//! Which deliveries may start: keys, lanes, and the barrier of handlers without an executor. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use super::delivery::DeliveryNo;
use super::keys::KeyQueues;

/// Where a delivery runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In the consumer's own loop: after everything before it, before everything after it.
    Inline,
    /// On the consumer's executor of this index.
    Executor(usize),
}

#[derive(Debug)]
struct Held {
    number: DeliveryNo,
    lane: Lane,
    key: Option<Arc<str>>,
}

/// Deliveries that are not settled, and what may start of them.
#[derive(Debug, Default)]
pub struct Dispatch {
    queues: KeyQueues,
    /// From the first inline delivery on, in order. Empty for a consumer without handlers in its own loop.
    held: VecDeque<Held>,
    inline_running: bool,
}

impl Dispatch {
    /// For `lanes` executors.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Self { queues: KeyQueues::new(lanes), ..Self::default() }
    }

    /// Takes a delivery in. `key`: only where order matters on its lane.
    pub fn push(&mut self, number: DeliveryNo, lane: Lane, key: Option<Arc<str>>) {
        match lane {
            Lane::Executor(lane) if self.held.is_empty() => self.queues.push(number, lane, key.as_ref()),
            lane => self.held.push_back(Held { number, lane, key }),
        }
    }

    /// The inline delivery whose turn it is: everything before it is settled, and it does not run yet.
    #[must_use]
    pub fn next_inline(&self) -> Option<DeliveryNo> {
        if self.inline_running || self.queues.active() > 0 {
            return None;
        }
        self.held.front().map(|held| held.number)
    }

    /// The run of inline deliveries that begins with the one of [`next_inline`](Self::next_inline): at most `most`,
    /// as long as `may_join` holds.
    #[must_use]
    pub fn inline_run(&self, most: usize, may_join: impl Fn(DeliveryNo) -> bool) -> Vec<DeliveryNo> {
        let inline = self.held.iter().take_while(|held| held.lane == Lane::Inline && may_join(held.number));
        inline.take(most).map(|held| held.number).collect()
    }

    /// The inline delivery of [`next_inline`](Self::next_inline) begins, or begins again.
    pub const fn begin_inline(&mut self) {
        self.inline_running = true;
    }

    /// What had the turn gives it back: it begins again in its turn.
    pub const fn give_inline_back(&mut self) {
        self.inline_running = false;
    }

    /// The inline delivery is settled: what was held behind it may go, up to the next inline one.
    pub fn settle_inline(&mut self) {
        self.inline_running = false;
        self.held.pop_front();
        self.release();
    }

    /// What was held behind an inline delivery goes on, up to the next one.
    fn release(&mut self) {
        while let Some(&Held { number, lane: Lane::Executor(lane), ref key }) = self.held.front() {
            self.queues.push(number, lane, key.as_ref());
            self.held.pop_front();
        }
    }

    /// Whether an inline delivery waits for earlier work, or runs.
    #[must_use]
    pub fn at_barrier(&self) -> bool {
        !self.held.is_empty()
    }

    /// The next delivery that may start on a lane; it is taken. Further attempts go first.
    pub fn take(&mut self, lane: usize) -> Option<DeliveryNo> {
        self.queues.take(lane)
    }

    /// Whether something may start on a lane.
    #[must_use]
    pub fn has_ready(&self, lane: usize) -> bool {
        self.queues.has_ready(lane)
    }

    /// How many may start on a lane.
    #[must_use]
    pub fn ready(&self, lane: usize) -> usize {
        self.queues.ready(lane)
    }

    /// Whether something may start on a lane that nobody counts anew: a further attempt, or a redriven letter.
    #[must_use]
    pub fn has_begun(&self, lane: usize) -> bool {
        self.queues.has_begun(lane)
    }

    /// The next delivery that may start on a lane; it stays there.
    #[must_use]
    pub fn first_ready(&self, lane: usize) -> Option<DeliveryNo> {
        self.queues.first_ready(lane)
    }

    /// The first delivery that may start on a lane and is `wanted`.
    pub fn find_ready(&self, lane: usize, wanted: impl Fn(DeliveryNo) -> bool) -> Option<DeliveryNo> {
        self.queues.find_ready(lane, wanted)
    }

    /// Takes a delivery that may start on a lane. Whether it could.
    pub fn take_this(&mut self, number: DeliveryNo, lane: usize) -> bool {
        self.queues.take_this(number, lane)
    }

    /// Takes more to run together with one that was taken; see [`KeyQueues::join`].
    pub fn join<'k>(
        &mut self,
        lane: usize,
        first: DeliveryNo,
        most: usize,
        look: impl Fn(DeliveryNo) -> Option<Option<&'k Arc<str>>>,
    ) -> Vec<DeliveryNo> {
        self.queues.join(lane, first, most, look)
    }

    /// A delivery of an executor that was taken goes back into its place; see [`KeyQueues::give_back`].
    pub fn give_back(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>, begun: bool) {
        self.queues.give_back(number, lane, key, begun);
    }

    /// A delivery taken before may start after all.
    pub fn make_ready(&mut self, number: DeliveryNo, lane: usize) {
        self.queues.make_ready(number, lane);
    }

    /// A delivery that has begun may make a further attempt.
    pub fn make_ready_again(&mut self, number: DeliveryNo, lane: usize) {
        self.queues.make_ready_again(number, lane);
    }

    /// Takes inline deliveries in that come before everything that was not begun.
    pub fn push_first(&mut self, numbers: Vec<DeliveryNo>) {
        let first = usize::from(self.inline_running);
        for number in numbers.into_iter().rev() {
            self.held.insert(first.min(self.held.len()), Held { number, lane: Lane::Inline, key: None });
        }
    }

    /// A delivery that has not begun is taken out.
    pub fn withdraw(&mut self, number: DeliveryNo, lane: Lane, key: Option<&Arc<str>>) {
        if let Some(index) = self.held.iter().rposition(|held| held.number == number) {
            self.held.remove(index);
            if !self.inline_running {
                self.release();
            }
        } else if let Lane::Executor(lane) = lane {
            self.queues.settle(number, lane, key);
        }
    }

    /// A delivery of an executor is settled.
    pub fn settle(&mut self, number: DeliveryNo, lane: usize, key: Option<&Arc<str>>) {
        self.queues.settle(number, lane, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inline_delivery_waits_for_what_is_before_it_and_holds_what_is_after() {
        let mut dispatch = Dispatch::new(1);
        dispatch.push(1, Lane::Executor(0), None);
        dispatch.push(2, Lane::Inline, None);
        dispatch.push(3, Lane::Executor(0), None);
        dispatch.push(4, Lane::Executor(0), None);
        dispatch.push(5, Lane::Inline, None);
        assert_eq!(dispatch.next_inline(), None);
        assert_eq!((dispatch.take(0), dispatch.take(0)), (Some(1), None));
        dispatch.settle(1, 0, None);
        assert_eq!(dispatch.next_inline(), Some(2));
        dispatch.begin_inline();
        assert_eq!((dispatch.next_inline(), dispatch.take(0)), (None, None));
        dispatch.settle_inline();
        assert_eq!((dispatch.take(0), dispatch.take(0)), (Some(3), Some(4)));
        assert_eq!(dispatch.next_inline(), None);
        dispatch.settle(4, 0, None);
        dispatch.settle(3, 0, None);
        assert_eq!(dispatch.next_inline(), Some(5));
        dispatch.begin_inline();
        dispatch.settle_inline();
        assert!(!dispatch.at_barrier());
    }

    #[test]
    fn what_is_taken_out_holds_nobody_up() {
        let mut dispatch = Dispatch::new(1);
        let key: Arc<str> = "k".into();
        for number in 1..=3 {
            dispatch.push(number, Lane::Executor(0), Some(Arc::clone(&key)));
        }
        dispatch.push(4, Lane::Inline, None);
        dispatch.push(5, Lane::Executor(0), Some(Arc::clone(&key)));
        assert_eq!(dispatch.take(0), Some(1));
        // From the middle of a key that runs, and the inline one that waits for it.
        dispatch.withdraw(2, Lane::Executor(0), Some(&key));
        assert!(!dispatch.has_ready(0));
        dispatch.withdraw(4, Lane::Inline, None);
        assert!(!dispatch.at_barrier());
        dispatch.settle(1, 0, Some(&key));
        assert_eq!(dispatch.take(0), Some(3));
        dispatch.settle(3, 0, Some(&key));
        assert_eq!(dispatch.take(0), Some(5));
        // Behind one that runs in the loop.
        dispatch.settle(5, 0, Some(&key));
        dispatch.push(6, Lane::Inline, None);
        dispatch.push(7, Lane::Executor(0), Some(Arc::clone(&key)));
        dispatch.begin_inline();
        dispatch.withdraw(7, Lane::Executor(0), Some(&key));
        dispatch.settle_inline();
        assert!(!dispatch.at_barrier() && !dispatch.has_ready(0));
    }

    #[test]
    fn without_executors_it_is_a_plain_queue() {
        let mut dispatch = Dispatch::new(0);
        for number in 1..=3 {
            dispatch.push(number, Lane::Inline, Some("k".into()));
        }
        for number in 1..=3 {
            assert_eq!(dispatch.next_inline(), Some(number));
            dispatch.begin_inline();
            dispatch.settle_inline();
        }
    }
}
