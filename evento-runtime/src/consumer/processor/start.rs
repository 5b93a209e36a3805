//! From the log into handlers: the window, permits, the consumer's own loop.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::delivery::InlineEnd;
use super::grouping::Turn;
use super::{ConsumerProcessor, Delivery, Inline, Lane, Stage, StopPhase};
use crate::consumer::delivery::{Cover, DeliveryNo, REDRIVEN};
use crate::consumer::work::{Job, Reports};
use crate::context::HandlerContext;
use crate::executor::{Admission, Permit};
use crate::policy::CheckpointMode;

/// Inline deliveries handled in a row before anything else gets its turn.
const INLINE_AT_ONCE: usize = 64;

/// Permits waited for at once, where they are shared.
const MANY_TICKETS: usize = 64;

impl ConsumerProcessor {
    /// Whether anything may begin at all.
    pub(super) fn may_begin(&self) -> bool {
        self.is_owner() && !self.paused
    }

    /// Whether this ownership goes on.
    pub(super) const fn is_owner(&self) -> bool {
        matches!(self.phase, StopPhase::Run) && !self.lost && self.seek.is_none()
    }

    /// Whether the next delivery of a lane may begin now. What has begun before is in the window already: were its
    /// further attempts refused by a full one, nothing would ever make room.
    fn may_start_on(&mut self, lane: usize) -> bool {
        self.may_attempt() && (self.dispatch.has_begun(lane) || (self.has_room() && !self.outage.holds(Instant::now())))
    }

    /// Whether one more delivery may begin now.
    fn may_start(&mut self) -> bool {
        self.may_attempt() && self.has_room()
    }

    /// Whether one more delivery fits the window.
    fn has_room(&self) -> bool {
        self.exposure() + self.claimed_not_begun < self.plan.settings.window
    }

    /// Whether any handler may be called now.
    fn may_attempt(&mut self) -> bool {
        if !self.may_begin() {
            return false;
        }
        if !self.lease.is_valid() {
            self.lose("its time is over");
            return false;
        }
        // `checkpoint_every = 1`: what was started or settled is stored before the next one starts.
        let stored_first = self.plan.settings.checkpoint_every == 1;
        !(stored_first && (self.log.changed() > 0 || self.settler.has_parts() || self.settler.is_writing()))
    }

    /// Runs deliveries of the consumer's own loop as far as they go without waiting. `true`: there is more.
    pub(super) async fn run_inline(&mut self) -> bool {
        for _ in 0..INLINE_AT_ONCE {
            if self.inline.is_none() {
                let Some(number) = self.dispatch.next_inline() else { return false };
                if self.lingers(number) || !self.may_start() {
                    return false;
                }
                if self.is_skipped(number) {
                    self.settle_skipped(number);
                    continue;
                }
                match self.begin_inline_group(number) {
                    Turn::Alone => {
                        self.dispatch.begin_inline();
                        self.begin_claimed(number);
                    }
                    Turn::Taken => {}
                    Turn::NotYet => return false,
                }
            }
            let Some(inline) = &mut self.inline else { return false };
            let Some(end) = inline.step().await else { return false };
            self.inline_ended(end);
        }
        true
    }

    /// An attempt in the consumer's own loop, once nothing of it has to be claimed.
    pub(super) fn begin_claimed(&mut self, number: DeliveryNo) {
        if !self.waits_for_claim(number) && self.claim_first(number, None).is_ok() {
            self.begin_inline(number);
        }
    }

    /// An attempt in the consumer's own loop.
    pub(super) fn begin_inline(&mut self, number: DeliveryNo) {
        self.note_begun(number, Instant::now());
        let Some(delivery) = self.deliveries.get(number) else { return };
        let caller = Arc::clone(&self.callers[delivery.handler]);
        let (scope, event) = (Arc::clone(&self.scope), Arc::clone(&delivery.event));
        let next = self.next_attempt(number);
        let context = HandlerContext::of_delivery(scope, event, next.attempt, number >= REDRIVEN)
            .limited(next.stop, next.abandon);
        let future = if caller.is_blocking() {
            self.on_blocking_thread(async move { InlineEnd::One(caller.call(context).await) }).boxed()
        } else {
            async move { InlineEnd::One(caller.call(context).await) }.boxed()
        };
        self.calls += 1;
        self.inline = Some(Inline { number, future });
    }

    /// Counted until it ends, also by a loop that died meanwhile.
    pub(super) fn on_blocking_thread(
        &self,
        work: impl Future<Output = InlineEnd> + Send + 'static,
    ) -> impl Future<Output = InlineEnd> + Send + 'static {
        let (tasks, running) = (self.tasks.clone(), self.handlers.token());
        async move {
            let runtime = tokio::runtime::Handle::current();
            let call = move || {
                let _running = running;
                runtime.block_on(work)
            };
            match tasks.spawn_blocking(call).await {
                Ok(end) => end,
                // It catches its own panics: only a runtime that ends takes it away.
                Err(_) => std::future::pending().await,
            }
        }
    }

    pub(super) fn note_begun(&mut self, number: DeliveryNo, now: Instant) {
        self.note_running(number, now);
        self.log.start(number);
    }

    /// Its handler begins, and the log is to hear of it later.
    pub(super) fn note_running(&mut self, number: DeliveryNo, now: Instant) {
        self.leave_pending(number);
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        delivery.began.get_or_insert(now);
        delivery.stage = Stage::Running;
        self.in_flight += 1;
        self.counters.started += 1;
    }

    /// It does not count as read ahead any more. The caller gives it another stage.
    pub(super) fn leave_pending(&mut self, number: DeliveryNo) {
        let ahead = |delivery: &&Delivery| matches!(delivery.stage, Stage::Pending | Stage::Behind);
        if let Some(delivery) = self.deliveries.get(number).filter(ahead) {
            self.pending -= 1;
            self.pending_bytes -= delivery.event.weight();
            self.lingering.went(delivery.handler);
        }
    }

    /// Starts what gets a permit without waiting for one.
    pub(super) fn start_admitted(&mut self) {
        for lane in 0..self.executors.len() {
            while self.asked[lane] == 0 && self.has_ready(lane) && self.may_start_on(lane) {
                let executor = Arc::clone(&self.executors[lane]);
                let Some(Some(permit)) = executor.admit(self.admission()).now_or_never() else { break };
                let (id, name) = (&self.plan.id, executor.name());
                self.plan.dispatch.tell(|telemetry| telemetry.permit_awaited(id, name, Duration::ZERO, true));
                self.start(lane, permit);
            }
        }
    }

    /// One ticket for each lane that has something to start; where others wait for the same permits, as many as it
    /// could use: with one, it would not be there when several come back at once.
    pub(super) fn ask_for_permits(&mut self) {
        for lane in 0..self.executors.len() {
            if !self.has_ready(lane) || !self.may_start_on(lane) {
                continue;
            }
            let tickets = match self.executors[lane].is_shared(&self.plan.id) {
                true => self.dispatch.ready(lane).min(self.executors[lane].capacity().unwrap_or(1)).min(MANY_TICKETS),
                false => 1,
            };
            while self.asked[lane] < tickets {
                self.asked[lane] += 1;
                let ticket = self.ticket(lane);
                self.admissions.push(ticket);
            }
        }
    }

    fn ticket(&self, lane: usize) -> BoxFuture<'static, (usize, Option<Permit>)> {
        let (executor, admission) = (Arc::clone(&self.executors[lane]), self.admission());
        let plan = Arc::clone(&self.plan);
        let ticket = async move {
            let asked_at = Instant::now();
            let permit = executor.admit(admission).await;
            let (waited, admitted) = (asked_at.elapsed(), permit.is_some());
            let name = executor.name();
            plan.dispatch.tell(|telemetry| telemetry.permit_awaited(&plan.id, name, waited, admitted));
            (lane, permit)
        };
        ticket.boxed()
    }

    fn admission(&self) -> Admission {
        Admission { consumer: Arc::clone(&self.plan.id), key: None, wait: self.plan.settings.admission_wait }
    }

    pub(super) fn note_admission(&mut self, lane: usize, permit: Option<Permit>) {
        self.asked[lane] = self.asked[lane].saturating_sub(1);
        match permit {
            // Between the question and the answer the turn may have passed: then the permit goes back.
            Some(permit) if self.may_start_on(lane) => self.start(lane, permit),
            Some(_) => {}
            None if self.may_begin() => self.counters.rejected += 1,
            None => {}
        }
    }

    fn start(&mut self, lane: usize, permit: Permit) {
        let Some(number) = self.take_ready(lane) else { return };
        if self.is_skipped(number) {
            return self.settle_skipped(number);
        }
        if self.waits_for_claim(number) {
            return;
        }
        if let Ok(Some(permit)) = self.claim_first(number, Some(permit))
            && let Err(permit) = self.run_group_on(lane, number, permit)
            && let Err(permit) = self.run_series_on(lane, number, permit)
        {
            self.run_on(lane, number, permit);
        }
    }

    pub(super) fn run_on(&mut self, lane: usize, number: DeliveryNo, permit: Permit) {
        self.note_begun(number, Instant::now());
        let mut first = self.next_attempt(number);
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        if cover(self.plan.mode, Lane::Executor(lane)) == Cover::Start {
            delivery.hold = Some(first.hold());
        }
        let job = Job {
            event: Arc::clone(&delivery.event),
            scope: Arc::clone(&self.scope),
            caller: Arc::clone(&self.callers[delivery.handler]),
            first,
            reports: Reports::new(number, self.report_to.clone()),
            _running: self.handlers.token(),
        };
        self.calls += 1;
        self.executors[lane].run(permit, job.into_work());
    }

    /// Its executor has dropped the work that kept the permit: the next attempt asks for one again.
    fn lost_hold(&mut self, number: DeliveryNo) {
        self.limits.remove(&number);
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        delivery.hold = None;
        if let Lane::Executor(lane) = self.lanes[delivery.handler] {
            self.dispatch.make_ready_again(number, lane);
        }
    }

    /// Begins the next attempt of what has waited long enough.
    pub(super) fn resume_due_retries(&mut self, now: Instant) {
        while self.may_begin()
            && let Some((due, number)) = self.retries.first().copied()
            && due <= now
        {
            // Whatever woke the loop: it may have slept past the end of its ownership.
            if !self.lease.is_valid() {
                return self.lose("its time is over");
            }
            self.retries.pop_first();
            let Some(delivery) = self.deliveries.get_mut(number) else { continue };
            match (delivery.hold.take(), self.lanes[delivery.handler]) {
                // The permit is still there: the work itself goes on.
                (Some(hold), _) => {
                    let mut next = self.next_attempt(number);
                    let kept = next.hold();
                    if hold.send(next).is_ok() {
                        if let Some(delivery) = self.deliveries.get_mut(number) {
                            delivery.hold = Some(kept);
                        }
                        self.calls += 1;
                        self.note_begun(number, Instant::now());
                    } else {
                        self.lost_hold(number);
                    }
                }
                // One that waited for another's claim has not begun.
                (None, Lane::Executor(lane)) => self.back_into_place(number, lane),
                (None, Lane::Inline) => self.begin_claimed(number),
            }
        }
    }
}

/// When a delivery of a lane is covered by the checkpoint.
pub(super) const fn cover(mode: CheckpointMode, lane: Lane) -> Cover {
    match (mode, lane) {
        (CheckpointMode::OnStart, Lane::Executor(_)) => Cover::Start,
        _ => Cover::Settle,
    }
}
