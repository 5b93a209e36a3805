//! After an ownership that did not end: attempts are recorded before they begin, and what was running whenever the
//! process ended is not tried again.

use tokio::time::Instant;

use super::{ConsumerProcessor, Stage};
use crate::consumer::attempt::AttemptError;
use crate::consumer::delivery::DeliveryNo;
use crate::consumer::suspects::Begin;
use crate::event::Position;
use crate::outcome::ErrorClass;
use crate::policy::RetryPlan;
use crate::store::RecordedAttempt;

/// Whether the attempt that is to begin is recorded, where it must be.
pub(super) enum Recording {
    Done,
    /// It begins once it is.
    UnderWay,
    /// It does not begin now.
    NotItsTurn,
}

impl ConsumerProcessor {
    /// Has an attempt recorded that may be the end of the process.
    pub(super) fn record_first(&mut self, number: DeliveryNo) -> Recording {
        match self.suspects.begin(number) {
            Begin::Now => Recording::Done,
            Begin::Recorded(record) => {
                if let Some(record) = record {
                    self.settler.record(number, record);
                }
                Recording::UnderWay
            }
            Begin::Turn => {
                self.leave_pending(number);
                if let Some(delivery) = self.deliveries.get_mut(number) {
                    delivery.stage = Stage::Waiting;
                }
                Recording::NotItsTurn
            }
            Begin::Never(ends) => {
                self.leave_pending(number);
                if let Some(delivery) = self.deliveries.get_mut(number) {
                    delivery.retry = RetryPlan::after(ends.saturating_sub(1));
                }
                let text = format!("the process ended while this event was being handled, {ends} times in a row");
                self.failed(number, AttemptError { class: ErrorClass::Permanent, text }, None);
                Recording::NotItsTurn
            }
        }
    }

    /// Attempts are recorded.
    pub(super) fn attempts_recorded(&mut self, numbers: Vec<DeliveryNo>) {
        numbers.iter().for_each(|number| self.suspects.recorded(*number));
        numbers.into_iter().for_each(|number| self.begin_stored(number));
    }

    /// An attempt has ended, and the process has not.
    pub(super) fn survived(&mut self, number: DeliveryNo) {
        if let Some(before) = self.suspects.survived(number) {
            self.settler.note_attempt(before);
            self.next_turn();
        }
    }

    /// A delivery is settled: with the checkpoint that says so its record goes.
    pub(super) fn suspect_settled(&mut self, number: DeliveryNo) {
        if let Some(position) = self.suspects.settled(number) {
            self.settler.note_attempt(RecordedAttempt { position, attempts: 0 });
        }
        self.next_turn();
    }

    /// A delivery was settled when it was read.
    pub(super) fn suspect_passed(&mut self, position: &Position) {
        if self.suspects.passed(position) {
            self.settler.note_attempt(RecordedAttempt { position: position.clone(), attempts: 0 });
        }
    }

    fn next_turn(&mut self) {
        // One that waits for something else by now asks again when it could begin.
        while let Some(number) = self.suspects.next_turn() {
            if self.deliveries.get(number).is_some_and(|delivery| delivery.stage == Stage::Waiting) {
                self.retries.insert((Instant::now(), number));
                return;
            }
        }
    }
}
