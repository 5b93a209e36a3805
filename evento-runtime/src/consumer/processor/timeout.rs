//! Handlers that take longer than they said: their `Stop` fires, and the consumer says who holds it up. A handler is
//! dropped only where its attribute asks for that.

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::{ConsumerProcessor, Stage};
use crate::clock::later;
use crate::consumer::delivery::DeliveryNo;
use crate::consumer::status::StallReason;
use crate::consumer::work::Next;
use crate::context::Stop;
use crate::policy::HandlerTimeout;

/// The time of one attempt.
pub(super) struct Limit {
    due: Instant,
    stop: watch::Sender<bool>,
    /// Has it dropped.
    abandon: Option<oneshot::Sender<()>>,
    over: bool,
}

impl ConsumerProcessor {
    /// The attempt that begins; with a limit, if its handler has one.
    pub(super) fn next_attempt(&mut self, number: DeliveryNo) -> Next {
        let delivery = self.deliveries.get(number);
        let attempt = delivery.map_or(1, |delivery| delivery.retry.attempt());
        let timeout = delivery.and_then(|delivery| self.plan.handlers[delivery.handler].timeout);
        let Some(timeout) = timeout else { return Next { attempt, stop: None, abandon: None, held: None } };
        let (stop, stopped) = watch::channel(*self.handlers_stop.borrow());
        let (abandon, abandoned) = oneshot::channel();
        let HandlerTimeout { after, abandons } = timeout;
        let (abandon, abandoned) = if abandons { (Some(abandon), Some(abandoned)) } else { (None, None) };
        self.limits.insert(number, Limit { due: later(after), stop, abandon, over: false });
        Next { attempt, stop: Some(Stop::new(stopped)), abandon: abandoned, held: None }
    }

    /// When the next attempt will have taken too long.
    pub(super) fn next_limit(&self) -> Option<Instant> {
        self.limits.values().filter(|limit| !limit.over).map(|limit| limit.due).min()
    }

    /// Tells handlers whose time is over.
    pub(super) fn enforce_limits(&mut self, now: Instant) {
        for (number, limit) in self.limits.iter_mut().filter(|(_, limit)| !limit.over && limit.due <= now) {
            limit.over = true;
            limit.stop.send_replace(true);
            let Some(delivery) = self.deliveries.get(*number) else { continue };
            tracing::warn!(consumer = %self.plan.id, handler = self.callers[delivery.handler].label(),
                position = %delivery.event.position, abandoned = limit.abandon.is_some(), "handler over time");
            if let Some(abandon) = limit.abandon.take() {
                // One that has just ended is not dropped any more.
                let _ = abandon.send(());
            }
        }
    }

    /// All handlers are to end early.
    pub(super) fn stop_limited(&self) {
        for limit in self.limits.values() {
            limit.stop.send_replace(true);
        }
    }

    /// The handler that holds the consumer up by taking too long.
    pub(super) fn over_time(&self) -> Option<StallReason> {
        let over = self.limits.iter().filter(|(_, limit)| limit.over).map(|(number, _)| *number).min()?;
        let delivery = self.deliveries.get(over).filter(|delivery| delivery.stage == Stage::Running)?;
        Some(StallReason::HandlerOverTime {
            handler: self.callers[delivery.handler].label().to_owned(),
            position: delivery.event.position.clone(),
        })
    }

    /// Whether nothing else runs.
    pub(super) fn all_over_time(&self) -> bool {
        self.in_flight == self.limits.values().filter(|limit| limit.over).count()
    }
}
