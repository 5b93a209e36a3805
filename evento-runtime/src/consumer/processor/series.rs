//! Which deliveries are handled one after the other by one task.

use std::sync::Arc;

use tokio::time::Instant;

use super::{ConsumerProcessor, Delivery, Lane, Stage};
use crate::component::Invoke;
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::group::GroupSize;
use crate::consumer::plan::{ConsumerPlan, HandlerPlan};
use crate::consumer::series::{LONGEST, Member, Members, Series};
use crate::executor::{ConsumerExecutor, Permit};
use crate::policy::CheckpointMode;

/// Where an executor has no capacity: so many series beside each other are enough.
const MANY: usize = 64;

/// How many deliveries of each handler go together well. `None`: each has a task of its own.
pub(super) type SeriesSizes = Vec<Option<Arc<GroupSize>>>;

/// Under `OnStart` only what runs may have begun, a rate counts starts, and a plain `fn` may block whatever stands
/// behind it; the others are claimed, limited in time, or run together in another way.
pub(super) fn sizes(plan: &ConsumerPlan, lanes: &[Lane], executors: &[Arc<dyn ConsumerExecutor>]) -> SeriesSizes {
    let apart =
        plan.mode == CheckpointMode::OnStart || plan.settings.checkpoint_every == 1 || plan.engine.claiming().is_some();
    let of = |(handler, lane): (&HandlerPlan, &Lane)| {
        let Lane::Executor(lane) = lane else { return None };
        let apart = apart
            || executors[*lane].rate_limit().is_some()
            || handler.timeout.is_some()
            || handler.batch.is_some()
            || handler.transactions.is_some()
            || matches!(handler.invoke, Invoke::Blocking(_));
        (!apart).then(|| Arc::new(GroupSize::timed(LONGEST.0, LONGEST.1)))
    };
    plan.handlers.iter().zip(lanes).map(of).collect()
}

impl ConsumerProcessor {
    /// Runs a delivery that was taken under its permit, and others behind it that may start on the lane.
    pub(super) fn run_series_on(&mut self, lane: usize, first: DeliveryNo, permit: Permit) -> Result<(), Permit> {
        // Its equal share: the others are for the other permits.
        let capacity = self.executors[lane].capacity().unwrap_or(MANY).max(1);
        let share = (self.dispatch.ready(lane) + 1).div_ceil(capacity);
        let room = self.plan.settings.window.saturating_sub(self.exposure());
        let Some(size) = self.size_of_series(first).filter(|_| share > 1 && room > 1) else { return Err(permit) };
        let size = Arc::clone(size);
        let most = size.now().min(share).min(room);
        let mut numbers = vec![first];
        while numbers.len() < most {
            let next = self.dispatch.first_ready(lane);
            let Some(next) =
                next.filter(|next| self.size_of_series(*next).is_some_and(|size| size.now() > numbers.len()))
            else {
                break;
            };
            self.dispatch.take(lane);
            numbers.push(next);
        }
        if numbers.len() == 1 {
            return Err(permit);
        }
        self.calls += 1;
        let now = Instant::now();
        let mut members = Vec::with_capacity(numbers.len());
        for number in numbers {
            self.note_begun(number, now);
            let Some(delivery) = self.deliveries.get(number) else { continue };
            let (event, caller) = (Arc::clone(&delivery.event), Arc::clone(&self.callers[delivery.handler]));
            members.push(Member { number, event, caller });
        }
        let series = Series {
            scope: Arc::clone(&self.scope),
            size,
            gate: Arc::clone(&self.groups.gate),
            members: Members::new(members, self.report_to.clone()),
            _running: self.handlers.token(),
        };
        self.executors[lane].run(permit, series.into_work(false));
        Ok(())
    }

    /// How many go together with a delivery, if any may: it makes its first attempt, and nothing is known against it.
    fn size_of_series(&self, number: DeliveryNo) -> Option<&Arc<GroupSize>> {
        let fresh = |delivery: &&Delivery| {
            delivery.stage == Stage::Pending
                && !delivery.alone
                && !delivery.skip
                && delivery.held_until.is_none()
                && delivery.retry.attempt() == 1
        };
        let delivery = self.deliveries.get(number).filter(|_| number < REDRIVEN).filter(fresh)?;
        self.series[delivery.handler].as_ref()
    }
}
