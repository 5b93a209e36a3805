//! Batch handlers that wait a little for more events, and hold up nobody else on their lane meanwhile.

use std::time::Duration;

use tokio::time::Instant;

use super::{ConsumerProcessor, Stage};
use crate::consumer::delivery::DeliveryNo;
use crate::consumer::plan::ConsumerPlan;

/// Which handlers of one consumer wait for more.
pub(super) struct Lingering {
    /// By handler.
    handlers: Vec<Option<Linger>>,
    /// Whether there is any.
    any: bool,
}

struct Linger {
    most: usize,
    after: Duration,
    /// Events that wait, and since when.
    waiting: usize,
    since: Option<Instant>,
}

impl Linger {
    /// Until when it waits for more.
    fn until(&self) -> Option<Instant> {
        self.since.filter(|_| self.waiting < self.most).map(|since| since + self.after)
    }
}

impl Lingering {
    pub(super) fn new(plan: &ConsumerPlan) -> Self {
        let claims = plan.engine.claiming().is_some();
        let handlers: Vec<Option<Linger>> = plan
            .handlers
            .iter()
            .map(|handler| {
                let batch = handler.batch.filter(|batch| !claims && !batch.linger.is_zero())?;
                Some(Linger { most: batch.most, after: batch.linger, waiting: 0, since: None })
            })
            .collect();
        let any = handlers.iter().any(Option::is_some);
        Self { handlers, any }
    }

    /// One more waits to begin.
    pub(super) fn came(&mut self, handler: usize) {
        if let Some(linger) = &mut self.handlers[handler] {
            linger.waiting += 1;
            linger.since.get_or_insert_with(Instant::now);
        }
    }

    /// One of them does not wait any more: the others wait anew.
    pub(super) fn went(&mut self, handler: usize) {
        if let Some(linger) = &mut self.handlers[handler] {
            linger.waiting -= 1;
            linger.since = (linger.waiting > 0).then(Instant::now);
        }
    }
}

impl ConsumerProcessor {
    /// Whether a delivery waits for others to come before it begins.
    pub(super) fn lingers(&self, number: DeliveryNo) -> bool {
        if !self.lingering.any {
            return false;
        }
        // What has begun before, or is skipped, waits for nobody.
        let Some(delivery) = self.deliveries.get(number) else { return false };
        let linger = self.lingering.handlers[delivery.handler].as_ref();
        let fresh = delivery.stage == Stage::Pending && !delivery.skip && !delivery.retry.is_suspicious();
        fresh && linger.and_then(Linger::until).is_some_and(|until| until > Instant::now())
    }

    /// When the next of them has waited long enough.
    pub(super) fn next_batch(&self, now: Instant) -> Option<Instant> {
        if !self.lingering.any {
            return None;
        }
        let lingering = self.lingering.handlers.iter().flatten();
        lingering.filter_map(Linger::until).filter(|until| *until > now).min()
    }

    /// Whether something may start on a lane now.
    pub(super) fn has_ready(&self, lane: usize) -> bool {
        match self.lingering.any {
            false => self.dispatch.has_ready(lane),
            true => self.dispatch.find_ready(lane, |number| !self.lingers(number)).is_some(),
        }
    }

    /// What starts next on a lane; it is taken.
    pub(super) fn take_ready(&mut self, lane: usize) -> Option<DeliveryNo> {
        if !self.lingering.any {
            return self.dispatch.take(lane);
        }
        let number = self.dispatch.find_ready(lane, |number| !self.lingers(number))?;
        self.dispatch.take_this(number, lane).then_some(number)
    }
}
