//! Which deliveries run together, and what becomes of those that come back without having begun.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::delivery::InlineEnd;
use super::outcome::UNREADY;
use super::{ConsumerProcessor, Delivery, Inline, Lane, Stage};
use crate::clock::later;
use crate::consumer::attempt::{AttemptEnd, Committed, Done, Failed};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::group::{Ends, Gate, Group, GroupSize, Member, Together};
use crate::consumer::numbered::Numbered;
use crate::consumer::plan::{ConsumerPlan, HandlerPlan};
use crate::executor::{Permit, Work};
use crate::store::Checkpoint;

/// The most events that share a transaction on an executor, and the time after which no further one begins.
const ON_LANE: (usize, Duration) = (100, Duration::from_millis(20));

/// The same in the consumer's own loop.
const IN_LINE: (usize, Duration) = (1_000, Duration::from_millis(50));

/// What of one consumer runs together.
pub(super) struct Groups {
    /// By handler; `None`: each of its deliveries runs by itself.
    handlers: Vec<Option<Grouped>>,
    /// Whether any handler of the consumer's own loop has groups.
    inline: bool,
    pub(super) gate: Arc<Gate>,
    /// Members of the group in the consumer's own loop. The log hears of them when they end.
    pub(super) running: usize,
    /// Whether that group stores the checkpoint itself.
    pub(super) covering: bool,
}

/// How deliveries of one handler run together.
#[derive(Clone)]
struct Grouped {
    together: Together,
    size: Arc<GroupSize>,
    in_transaction: bool,
}

impl Groups {
    /// What a saga changes is loaded outside of a transaction and an observer's events are claimed one by one, and the
    /// time of an attempt is limited for one event: those run by themselves.
    pub(super) fn new(plan: &ConsumerPlan, lanes: &[Lane], executors: usize) -> Self {
        let timed = |(most, time)| Arc::new(GroupSize::timed(most, time));
        let (in_line, on_lane) = (timed(IN_LINE), (0..executors).map(|_| timed(ON_LANE)).collect::<Vec<_>>());
        let claims = plan.engine.claiming().is_some();
        let of = |(handler, lane): (&HandlerPlan, &Lane)| {
            if claims || handler.timeout.is_some() || plan.engine.binding(handler).is_some() {
                return None;
            }
            let in_transaction = handler.transactions.is_some();
            if let Some(batch) = handler.batch {
                let size = Arc::new(GroupSize::of(batch.most));
                return Some(Grouped { together: Together::Batch, size, in_transaction });
            }
            let size = match lane {
                _ if !in_transaction => return None,
                Lane::Inline => &in_line,
                Lane::Executor(lane) => &on_lane[*lane],
            };
            Some(Grouped { together: Together::Calls, size: Arc::clone(size), in_transaction })
        };
        let handlers: Vec<Option<Grouped>> = plan.handlers.iter().zip(lanes).map(of).collect();
        let inline = handlers.iter().zip(lanes).any(|(grouped, lane)| grouped.is_some() && *lane == Lane::Inline);
        Self { handlers, inline, gate: Arc::default(), running: 0, covering: false }
    }
}

/// What became of the turn of an inline delivery.
pub(super) enum Turn {
    /// It begins by itself.
    Alone,
    /// It has begun, with others.
    Taken,
    /// It waits for the write under way.
    NotYet,
}

impl ConsumerProcessor {
    /// Deliveries that would run again if the process died now.
    pub(super) fn exposure(&self) -> usize {
        self.log.exposure() + self.groups.running
    }

    /// The handler of a delivery, and how it runs together with others, if it may.
    fn grouped(&self, first: DeliveryNo) -> Option<(usize, Grouped)> {
        let handler = self.deliveries.get(first)?.handler;
        let grouped = self.groups.handlers[handler].as_ref()?;
        joining(&self.deliveries, &self.groups, (handler, grouped.together), first)?;
        Some((handler, grouped.clone()))
    }

    /// As many as the group and the window allow.
    fn most(&self, grouped: &Grouped) -> usize {
        if self.plan.settings.checkpoint_every == 1 {
            return 1;
        }
        let room = self.plan.settings.window.saturating_sub(self.exposure());
        grouped.size.now().min(room).max(1)
    }

    /// Begins an inline delivery together with those that follow it.
    pub(super) fn begin_inline_group(&mut self, first: DeliveryNo) -> Turn {
        if !self.groups.inline {
            return Turn::Alone;
        }
        let Some((handler, grouped)) = self.grouped(first) else { return Turn::Alone };
        if grouped.in_transaction && self.settler.is_writing() {
            // What it stores may stand beside no other checkpoint. The write takes less than a handler may.
            return Turn::NotYet;
        }
        let covering = grouped.in_transaction
            && !self.settler.has_parts()
            && self.settler.failures() == 0
            && self.log.is_fresh(first);
        let like = (handler, grouped.together);
        let may_join = |number| joining(&self.deliveries, &self.groups, like, number).is_some();
        let members = self.dispatch.inline_run(self.most(&grouped), may_join);
        self.dispatch.begin_inline();
        let now = Instant::now();
        members.iter().for_each(|number| self.note_running(*number, now));
        let mut group = self.group(&members, &grouped);
        group.in_order = true;
        group.covering = covering.then(|| self.settler.store());
        self.groups.running = members.len();
        self.groups.covering = covering;
        let caller = Arc::clone(&self.callers[handler]);
        let future = async move {
            let mut ends = Ends::Kept(Vec::new());
            group.run(&mut ends).await;
            InlineEnd::Together(ends.kept())
        };
        let future = if caller.is_blocking() { self.on_blocking_thread(future).boxed() } else { future.boxed() };
        self.calls += 1;
        self.inline = Some(Inline { future, number: first });
        Turn::Taken
    }

    /// The group in the consumer's own loop has ended.
    pub(super) fn inline_group_ended(&mut self, ends: Vec<(DeliveryNo, AttemptEnd)>) {
        self.groups.running = 0;
        self.groups.covering = false;
        let mut covered = None;
        // Were all of it to come back unbegun, by a pause, nobody else would ever have the turn.
        self.dispatch.give_inline_back();
        for (number, end) in ends {
            self.in_flight -= 1;
            let begun = !matches!(end, Err(Failed::NotBegun));
            if begun {
                self.log.start(number);
            }
            let position = match end {
                Ok(Done { committed: Committed::Covered, .. }) => {
                    self.deliveries.get(number).map(|delivery| delivery.event.position.clone())
                }
                _ => None,
            };
            self.attempt_ended(number, end);
            if position.is_some() {
                covered = position.map(|position| (position, self.log.mark()));
            }
            if begun && self.deliveries.contains(number) {
                // It keeps its turn: nothing goes past it.
                self.dispatch.begin_inline();
            }
        }
        if let Some((position, mark)) = covered {
            let checkpoint = Checkpoint { watermark: Some(position.clone()), reach: Some(position), open: Vec::new() };
            self.settler.stored_elsewhere(checkpoint);
            self.log.stored(mark);
            self.counters.checkpoints += 1;
        }
    }

    /// Runs a delivery that was taken under its permit, together with what else may start on the lane.
    pub(super) fn run_group_on(&mut self, lane: usize, first: DeliveryNo, permit: Permit) -> Result<(), Permit> {
        let Some((handler, grouped)) = self.grouped(first) else { return Err(permit) };
        let most = self.most(&grouped);
        let (deliveries, groups) = (&self.deliveries, &self.groups);
        let like = (handler, grouped.together);
        let look = |number| Some(joining(deliveries, groups, like, number)?.key.as_ref());
        let members = self.dispatch.join(lane, first, most, look);
        let now = Instant::now();
        members.iter().for_each(|number| self.note_begun(*number, now));
        let group = self.group(&members, &grouped);
        let (mut ends, running) = (Ends::sent(self.report_to.clone(), &members), self.handlers.token());
        let blocking = group.members.first().is_some_and(|member| member.caller.is_blocking());
        let future = async move {
            group.run(&mut ends).await;
            drop(running);
        };
        self.calls += 1;
        self.executors[lane].run(permit, Work { future: future.boxed(), blocking });
        Ok(())
    }

    fn group(&mut self, members: &[DeliveryNo], grouped: &Grouped) -> Group {
        for number in members.iter().skip(1) {
            if let Some(delivery) = self.deliveries.get_mut(*number) {
                delivery.stage = Stage::Joined;
            }
        }
        let member = |number: &DeliveryNo| {
            let delivery = self.deliveries.get(*number)?;
            Some(Member {
                number: *number,
                event: Arc::clone(&delivery.event),
                key: delivery.key.clone(),
                caller: Arc::clone(&self.callers[delivery.handler]),
                attempt: delivery.retry.attempt(),
            })
        };
        Group {
            members: members.iter().filter_map(member).collect(),
            together: grouped.together,
            scope: Arc::clone(&self.scope),
            size: Arc::clone(&grouped.size),
            gate: Arc::clone(&self.groups.gate),
            in_order: false,
            covering: None,
        }
    }

    /// Its handler was not called, or is as if it had not been: it waits in its place again.
    pub(super) fn give_back(&mut self, number: DeliveryNo) {
        if !self.is_owner() {
            return self.leave(number);
        }
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        self.counters.started -= 1;
        let begun = delivery.retry.attempt() > 1;
        if !begun {
            delivery.began = None;
            self.log.give_back(number);
        }
        match self.lanes[delivery.handler] {
            // The store is not ready: for this one no more than for the one that found out.
            Lane::Executor(_) if self.unready > 0 => {
                delivery.stage = Stage::Waiting;
                self.retries.insert((later(UNREADY.backoff(self.unready, fastrand::f64())), number));
            }
            lane => {
                delivery.stage = Stage::Pending;
                self.pending += 1;
                self.pending_bytes += delivery.event.weight();
                self.lingering.came(delivery.handler);
                if let Lane::Executor(lane) = lane {
                    self.dispatch.give_back(number, lane, delivery.key.as_ref(), begun);
                }
            }
        }
        if !begun {
            // One before it may have been given up meanwhile.
            self.queue_behind(number);
        }
    }

    /// It has waited in vain for its turn: it is ready once it is the first of its key.
    pub(super) fn back_into_place(&mut self, number: DeliveryNo, lane: usize) {
        let Some(delivery) = self.deliveries.get(number) else { return };
        let begun = delivery.began.is_some();
        self.dispatch.give_back(number, lane, delivery.key.as_ref(), begun);
    }
}

/// A delivery that may run together with one of this handler. What has failed by itself before runs by itself, and so
/// does what may have ended the process.
fn joining<'d>(
    deliveries: &'d Numbered<Delivery>,
    groups: &Groups,
    (handler, together): (usize, Together),
    number: DeliveryNo,
) -> Option<&'d Delivery> {
    let delivery = deliveries.get(number).filter(|_| number < REDRIVEN)?;
    let alike = delivery.handler == handler
        || together == Together::Calls
            && groups.handlers[delivery.handler].as_ref().is_some_and(|other| other.together == Together::Calls);
    (alike && !delivery.alone && !delivery.skip && !delivery.retry.is_suspicious()).then_some(delivery)
}
