//! Pausing, skipping, moving: what the loop does when it is asked.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::delivery::Delivery;
use super::{ConsumerProcessor, Lane, Stage};
use crate::consumer::command::Command;
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::error::AdminError;
use crate::event::Position;

impl ConsumerProcessor {
    /// A paused consumer begins nothing; what runs finishes, and the ownership stays.
    pub(super) fn note_wishes(&mut self) {
        let paused = self.wishes.borrow().paused.contains(&*self.plan.id);
        if paused && !self.paused {
            self.admissions.clear();
            self.asked.fill(0);
            self.give_permits_back();
        }
        self.paused = paused;
    }

    /// What waits for another attempt waits for the end of the pause: a permit kept for it is for others until then.
    fn give_permits_back(&mut self) {
        let keeps = |(number, delivery): (DeliveryNo, &Delivery)| {
            (delivery.stage == Stage::Waiting && delivery.hold.is_some()).then_some(number)
        };
        let kept: BTreeSet<DeliveryNo> = self.deliveries.iter().filter_map(keeps).collect();
        self.retries.retain(|(_, number)| !kept.contains(number));
        kept.into_iter().for_each(|number| self.wait_for_resume(number));
    }

    /// There are dead letters to be tried again, perhaps.
    pub(super) fn note_redrive(&mut self) {
        self.wants_redrive |= self.wishes.borrow_and_update().redrive.contains(&*self.plan.id);
    }

    /// Its attempt failed while the consumer is paused: no failure, no attempt; it runs once it goes on, before
    /// anything new begins, so that without its permit no more is begun than there are permits.
    pub(super) fn wait_for_resume(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.stage = Stage::Waiting;
            delivery.hold = None;
            self.retries.insert((Instant::now(), number));
        }
    }

    pub(super) fn carry_out(&mut self, command: Command) {
        if !self.is_owner() {
            return command.refuse(AdminError::not_owner(&self.plan.id));
        }
        match command {
            // Whoever asked may have gone.
            Command::Ping { reply } => drop(reply.send(Ok(()))),
            Command::Skip { position, reply } => {
                // Whoever asked may have gone; it is carried out all the same.
                let _ = reply.send(self.skip(&position));
            }
            Command::Seek { to, keep, reply } => {
                self.seek = Some((to, keep, reply));
                self.quiet();
            }
        }
    }

    /// Another end came first.
    pub(super) fn refuse_seek(&mut self) {
        if let Some((_, _, reply)) = self.seek.take() {
            // Whoever asked may have gone.
            let _ = reply.send(Err(AdminError::not_owner(&self.plan.id)));
        }
    }

    fn skip(&mut self, position: &Position) -> Result<(), AdminError> {
        let of_log = self.deliveries.iter().filter(|(number, _)| *number < REDRIVEN);
        let found = of_log.into_iter().find(|(_, delivery)| delivery.event.position == *position);
        let Some((number, delivery)) = found else {
            return Err(AdminError::NotOpen { consumer: self.plan.id.to_string(), position: position.clone() });
        };
        match delivery.stage {
            Stage::GivenUp | Stage::Parked | Stage::Storing => {
                return Err(AdminError::NotOpen { consumer: self.plan.id.to_string(), position: position.clone() });
            }
            Stage::Waiting | Stage::Behind => self.settle_skipped(number),
            // What runs ends as it likes; if it fails, or before it begins, it is skipped.
            Stage::Pending | Stage::Claiming | Stage::Running | Stage::Joined | Stage::Left => {
                if let Some(delivery) = self.deliveries.get_mut(number) {
                    delivery.skip = true;
                }
            }
        }
        tracing::info!(consumer = %self.plan.id, %position, "event skipped by request");
        Ok(())
    }

    /// Settles without handling.
    pub(super) fn settle_skipped(&mut self, number: DeliveryNo) {
        self.retries.retain(|(_, waiting)| *waiting != number);
        let pending = self.deliveries.get(number).filter(|delivery| delivery.stage == Stage::Pending);
        if let Some(handler) = pending.map(|delivery| delivery.handler) {
            self.leave_pending(number);
            if self.lanes[handler] == Lane::Inline {
                self.dispatch.begin_inline();
            }
        }
        self.leave_behind(number);
        self.counters.skipped += 1;
        self.settle(number);
    }

    /// Whether a delivery is to be settled instead of begun.
    pub(super) fn is_skipped(&self, number: DeliveryNo) -> bool {
        self.deliveries.get(number).is_some_and(|delivery| delivery.skip)
    }
}
