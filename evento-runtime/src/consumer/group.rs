//! Deliveries that run together: handlers one after the other in one transaction, or one call for many events.
//!
//! Whatever fails leaves nothing of its transaction. What ran before it runs again and is committed; then it runs alone,
//! and that run is its attempt. Where nobody knows who failed (a batch handler, a commit), halves run again, down to the
//! one that fails alone.

mod ends;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use ends::Ends;
pub(crate) use size::GroupSize;
use tokio::time::Instant;

use super::attempt::{AttemptEnd, AttemptError, Caller, Committed, Done, Effects, Failed};
use super::delivery::DeliveryNo;
use super::settle::add;
use super::transaction::{Called, Transactions};
use crate::context::{ConsumerScope, HandlerContext};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::{Position, StoredEvent};
use crate::outcome::{ErrorClass, Flow};
use crate::store::{Checkpoint, ConsumerStateStore, OpenTransaction, Settlement};

/// One delivery of a group.
pub(crate) struct Member {
    pub(crate) number: DeliveryNo,
    pub(crate) event: Arc<StoredEvent>,
    /// Its key, where order matters.
    pub(crate) key: Option<Arc<str>>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) attempt: u32,
}

/// How a group runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    /// A call for each event, all in one transaction.
    Calls,
    /// One call for all events; in a transaction, if the handler takes one.
    Batch,
}

/// Whether another handler of a group may begin; closed by whatever ends or pauses the consumer.
#[derive(Debug, Default)]
pub(crate) struct Gate(AtomicBool);

impl Gate {
    pub(crate) fn set_open(&self, open: bool) {
        self.0.store(open, Ordering::Release);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Deliveries that run together, under one permit or in the consumer's own loop.
pub(crate) struct Group {
    pub(crate) members: Vec<Member>,
    pub(crate) together: Together,
    pub(crate) scope: Arc<ConsumerScope>,
    pub(crate) size: Arc<GroupSize>,
    pub(crate) gate: Arc<Gate>,
    /// Whether nothing goes past what has failed; else only nothing of its key.
    pub(crate) in_order: bool,
    /// Where the checkpoint is stored that each commit carries, instead of a row for each event.
    pub(crate) covering: Option<Arc<dyn ConsumerStateStore>>,
}

/// Members by their place in the group, ascending.
type Places = Vec<usize>;

/// What became of members that ran together.
enum Tried {
    /// The first of them are handled, and so many; for the others there was no time left.
    Handled(Vec<Done>),
    /// This one failed. Unless it is the first, those before it are undone.
    One(usize, AttemptEnd),
    /// One of them failed, or all together did.
    Some(AttemptEnd),
    /// These were handled by an earlier run; the others are undone.
    Known(BTreeSet<Position>),
    /// No transaction could be had, or it was lost.
    Unready(StoreError),
    /// Nothing is to begin.
    Closed,
}

impl Group {
    /// Runs all, and tells how each of them ended, in the order of their keys.
    pub(crate) async fn run(self, ends: &mut Ends) {
        let mut left: Vec<Places> = vec![(0..self.members.len()).collect()];
        let mut held = Held::default();
        while let Some(places) = left.pop() {
            let mut places = self.without_held(places, &held, ends).await;
            if places.is_empty() {
                continue;
            }
            let most = self.size.now();
            if places.len() > most {
                left.push(places.split_off(most));
            }
            match self.attempt(&places).await {
                Tried::Handled(done) => {
                    let others = places.split_off(done.len());
                    for (place, done) in places.into_iter().zip(done) {
                        ends.note(self.members[place].number, Ok(done)).await;
                    }
                    if !others.is_empty() {
                        held.all = true;
                        left.push(others);
                    }
                }
                Tried::One(at, _) if at > 0 => {
                    let after = places.split_off(at + 1);
                    let failed = places.split_off(at);
                    left.extend([after, failed, places]);
                }
                Tried::Some(_) if places.len() > 1 => {
                    let second = places.split_off(places.len() / 2);
                    left.extend([second, places]);
                }
                Tried::One(_, end) | Tried::Some(end) => {
                    left.push(places.split_off(1));
                    self.failed(places[0], end, &mut held, ends).await;
                }
                Tried::Unready(error) => {
                    left.push(places.split_off(1));
                    self.failed(places[0], Err(Failed::Store(error)), &mut held, ends).await;
                }
                Tried::Known(known) => self.pass(places, &known, &mut left, ends).await,
                Tried::Closed => {
                    held.all = true;
                    left.push(places);
                }
            }
        }
    }

    /// Gives back what may not go past something that has failed.
    async fn without_held(&self, places: Places, held: &Held, ends: &mut Ends) -> Places {
        let mut free = Places::new();
        for place in places {
            let member = &self.members[place];
            if held.all || member.key.as_ref().is_some_and(|key| held.keys.contains(key)) {
                ends.note(member.number, Err(Failed::NotBegun)).await;
            } else {
                free.push(place);
            }
        }
        free
    }

    async fn failed(&self, place: usize, end: AttemptEnd, held: &mut Held, ends: &mut Ends) {
        let member = &self.members[place];
        // The world around is not ready: for the others no more than for this one.
        held.all |= self.in_order || is_transient(&end);
        held.keys.extend(member.key.clone());
        ends.note(member.number, end).await;
    }

    /// What an earlier run has handled is handled; the others run again.
    async fn pass(&self, places: Places, known: &BTreeSet<Position>, left: &mut Vec<Places>, ends: &mut Ends) {
        let mut others = Places::new();
        for place in places {
            let member = &self.members[place];
            if known.contains(&member.event.position) {
                ends.note(member.number, Ok(handled(Flow::Continue, Committed::Noted))).await;
            } else {
                others.push(place);
            }
        }
        left.push(others);
    }

    async fn attempt(&self, places: &[usize]) -> Tried {
        if !self.gate.is_open() {
            return Tried::Closed;
        }
        let Some(first) = places.first().map(|place| &self.members[*place]) else { return Tried::Closed };
        let Some(within) = first.caller.transactions() else { return self.call(places, first).await };
        let mut stop = self.scope.stop.clone();
        let open = tokio::select! {
            biased;
            () = stop.stopped() => return Tried::Closed,
            open = within.store.begin() => open,
        };
        let open = match open {
            Ok(open) if self.gate.is_open() => open,
            Ok(open) => {
                open.roll_back().await;
                return Tried::Closed;
            }
            Err(error) => return Tried::Unready(error),
        };
        match self.together {
            Together::Calls => self.call_each(within, open, places).await,
            Together::Batch => self.call_within(within, open, places, first).await,
        }
    }

    /// Handlers one after the other, as many as there is time for.
    async fn call_each(&self, within: &Transactions, mut open: Box<dyn OpenTransaction>, places: &[usize]) -> Tried {
        let began = Instant::now();
        let mut left = Left::default();
        for place in places {
            let at = left.flows.len();
            if at > 0 && (self.size.is_over(began.elapsed()) || !self.gate.is_open()) {
                break;
            }
            let member = &self.members[*place];
            let (scope, event) = (Arc::clone(&self.scope), Arc::clone(&member.event));
            let context = HandlerContext::of_delivery(scope, event, member.attempt, false);
            match member.caller.call_watched(&context, open).await {
                Called::Passed(done, still_open) => {
                    left.add(done);
                    open = still_open;
                }
                Called::Failed(end) => {
                    if at > 0 && is_transient(&end) {
                        self.size.halve(at + 1);
                    }
                    return Tried::One(at, end);
                }
            }
        }
        self.size.note(left.flows.len(), began.elapsed());
        self.commit(within, open, places, left).await
    }

    /// One call, outside of a transaction.
    async fn call(&self, places: &[usize], first: &Member) -> Tried {
        let context = self.context(places);
        match first.caller.call(context.clone()).await {
            Ok(Done { flow, .. }) if is_handled(&flow) => {
                Tried::Handled(places.iter().map(|_| handled(flow.clone(), Committed::No)).collect())
            }
            end => self.not_called(end, &context, false),
        }
    }

    /// One call, in a transaction.
    async fn call_within(
        &self,
        within: &Transactions,
        open: Box<dyn OpenTransaction>,
        places: &[usize],
        first: &Member,
    ) -> Tried {
        let began = Instant::now();
        let context = self.context(places);
        match first.caller.call_watched(&context, open).await {
            Called::Passed(done, open) => {
                self.size.note(places.len(), began.elapsed());
                let mut left = Left::default();
                left.add(done);
                left.flows = vec![left.flows[0].clone(); places.len()];
                self.commit(within, open, places, left).await
            }
            Called::Failed(end) => {
                if is_transient(&end) {
                    self.size.halve(places.len());
                }
                self.not_called(end, &context, true)
            }
        }
    }

    fn not_called(&self, end: AttemptEnd, context: &HandlerContext, within: bool) -> Tried {
        match context.undecodable() {
            Some(at) => Tried::One(at, end),
            // Smaller batches would find the world no readier, and repeat what they did outside.
            None if is_transient(&end) && !within => Tried::One(0, end),
            None => Tried::Some(end),
        }
    }

    /// The context of one call for all of them.
    fn context(&self, places: &[usize]) -> HandlerContext {
        let events = places.iter().map(|place| Arc::clone(&self.members[*place].event)).collect();
        let attempt = places.iter().map(|place| self.members[*place].attempt).max().unwrap_or(1);
        HandlerContext::of_batch(Arc::clone(&self.scope), events, attempt)
    }

    /// Stores that they are handled, as the last statements, and commits.
    async fn commit(
        &self,
        within: &Transactions,
        mut open: Box<dyn OpenTransaction>,
        places: &[usize],
        left: Left,
    ) -> Tried {
        let Left { flows, mut settlement } = left;
        let handled_here = &places[..flows.len()];
        let mut positions: Vec<Position> =
            handled_here.iter().map(|place| self.members[*place].event.position.clone()).collect();
        let committed = if self.covering.is_some() {
            let last = positions.pop();
            settlement.checkpoint = Some(Checkpoint { watermark: last.clone(), reach: last, open: Vec::new() });
            Committed::Covered
        } else {
            settlement.completed = positions;
            Committed::Noted
        };
        let handled = || Tried::Handled(flows.iter().map(|flow| handled(flow.clone(), committed)).collect());
        let Some(last) = handled_here.last().map(|place| &self.members[*place]) else { return Tried::Closed };
        if let Err(error) = open.settle(&within.lease, settlement).await {
            open.roll_back().await;
            return self.not_settled(within, error, handled_here, last).await;
        }
        let Err(error) = open.commit().await else { return handled() };
        match error.kind() {
            StoreErrorKind::Connection => {
                tracing::warn!(consumer = %self.scope.consumer, position = %last.event.position,
                    error = &error as &dyn std::error::Error, "a commit without an answer; asking what became of it");
                if self.became_of(within, last).await { handled() } else { Tried::Unready(error) }
            }
            kind if kind.is_transient() => self.conflict(error, places.len()),
            // Such as a constraint that is checked at the commit.
            _ if self.became_of(within, last).await => handled(),
            _ => Tried::Some(Err(Failed::Attempt(last.caller.explain(error.into())))),
        }
    }

    async fn not_settled(&self, within: &Transactions, error: StoreError, places: &[usize], last: &Member) -> Tried {
        match error.kind() {
            StoreErrorKind::Aborted => Tried::Some(Err(Failed::Attempt(last.caller.swallowed(error)))),
            StoreErrorKind::Conflict => {
                let known: BTreeSet<Position> = within.completed().await.into_iter().collect();
                if places.iter().any(|place| known.contains(&self.members[*place].event.position)) {
                    return Tried::Known(known);
                }
                Tried::Some(Err(Failed::Store(error)))
            }
            StoreErrorKind::Connection | StoreErrorKind::Fenced | StoreErrorKind::Closed => Tried::Unready(error),
            kind if kind.is_transient() => self.conflict(error, places.len()),
            _ => Tried::Some(Err(Failed::Store(error))),
        }
    }

    /// A deadlock, or what cannot be put in order with what others did: smaller groups get in less ways.
    fn conflict(&self, error: StoreError, members: usize) -> Tried {
        self.size.halve(members);
        Tried::Some(Err(Failed::Store(error)))
    }

    /// Whether the commit that ended with `last` was one. Asked until there is an answer.
    async fn became_of(&self, within: &Transactions, last: &Member) -> bool {
        match &self.covering {
            Some(state) => within.covered(state.as_ref()).await.as_ref() >= Some(&last.event.position),
            None => within.completed().await.contains(&last.event.position),
        }
    }
}

/// What nothing may go past.
#[derive(Default)]
struct Held {
    all: bool,
    keys: BTreeSet<Arc<str>>,
}

/// What handlers have left in a transaction.
#[derive(Default)]
struct Left {
    flows: Vec<Flow>,
    settlement: Settlement,
}

impl Left {
    fn add(&mut self, done: Done) {
        add(&mut self.settlement, &done.effects);
        self.flows.push(done.flow);
    }
}

fn handled(flow: Flow, committed: Committed) -> Done {
    Done { flow, effects: Effects::default(), committed }
}

const fn is_handled(flow: &Flow) -> bool {
    !matches!(flow, Flow::DeadLetter(_) | Flow::RetryAfter(_))
}

const fn is_transient(end: &AttemptEnd) -> bool {
    matches!(end, Err(Failed::Attempt(AttemptError { class: ErrorClass::Transient, .. }) | Failed::Store(_)))
}
