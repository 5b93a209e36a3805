//! How a delivery goes on after an attempt: settled, again later, or to the dead letters.

use std::sync::Arc;
use std::time::Duration;

use super::{AttemptEnd, ConsumerProcessor, Lane, Stage};
use crate::clock::later;
use crate::consumer::attempt::{AttemptError, Done};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::settle::Part;
use crate::consumer::work::Report;
use crate::error::StoreErrorKind;
use crate::outcome::{ErrorClass, Flow};
use crate::policy::{Decision, Path};
use crate::source::PreparedEvent;
use crate::store::{DeadLetter, Failure};

/// Error text kept in the history of a consumer: 1 KiB.
const SHORT_ERROR: usize = 1_024;

impl ConsumerProcessor {
    pub(super) fn note_report(&mut self, report: Report) {
        self.in_flight -= 1;
        match report.end {
            Some(end) => self.attempt_ended(report.number, end),
            None => self.dropped(report.number),
        }
    }

    pub(super) fn inline_ended(&mut self, end: AttemptEnd) {
        let Some(inline) = self.inline.take() else { return };
        self.in_flight -= 1;
        self.attempt_ended(inline.number, end);
    }

    fn attempt_ended(&mut self, number: DeliveryNo, end: AttemptEnd) {
        let asked_again = |text: &str| AttemptError { class: ErrorClass::Ordinary, text: text.to_owned() };
        match end {
            Ok(Done { flow: Flow::Continue, emitted }) => self.succeeded(number, false, emitted),
            Ok(Done { flow: Flow::Skip, emitted }) => self.succeeded(number, true, emitted),
            Ok(Done { flow: Flow::DeadLetter(reason), .. }) => {
                self.failed(number, AttemptError { class: ErrorClass::Permanent, text: reason }, None);
            }
            Ok(Done { flow: Flow::Complete, .. }) => {
                let text = "`Flow::Complete` ends a saga, and this is none".to_owned();
                self.failed(number, AttemptError { class: ErrorClass::Permanent, text }, None);
            }
            Ok(Done { flow: Flow::RetryAfter(delay), .. }) => {
                self.failed(number, asked_again("the handler asked to be called again"), Some(delay));
            }
            Err(error) => self.failed(number, error, None),
        }
    }

    fn succeeded(&mut self, number: DeliveryNo, skipped: bool, emitted: Vec<PreparedEvent>) {
        self.transient_streak = 0;
        self.counters.skipped += u64::from(skipped);
        if self.errors.streak > 0 {
            Arc::make_mut(&mut self.errors).streak = 0;
            self.errors_changed = true;
        }
        if number >= REDRIVEN {
            if let Some(delivery) = self.deliveries.get_mut(&number) {
                delivery.stage = Stage::Emitting;
                self.settler.add(number, Part::Resolved(delivery.event.id, emitted));
            }
            return;
        }
        if emitted.is_empty() {
            return self.settle(number);
        }
        // They are stored together with the checkpoint that passes this event, or before it.
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            delivery.stage = Stage::Emitting;
            self.settler.add(number, Part::Emitted(emitted));
        }
    }

    /// Nothing more has to be stored for it but the checkpoint.
    pub(super) fn settle(&mut self, number: DeliveryNo) {
        let Some(delivery) = self.deliveries.remove(&number) else { return };
        if number < REDRIVEN {
            self.log.settle(number);
            self.counters.settled += 1;
        } else {
            self.redriven -= 1;
            // There may be more than were read at once.
            self.wants_redrive |= self.redriven == 0;
        }
        match self.lanes[delivery.handler] {
            Lane::Inline => self.dispatch.settle_inline(),
            Lane::Executor(lane) => self.dispatch.settle(number, lane, delivery.key.as_ref()),
        }
    }

    /// Its executor dropped it, because the runtime it ran on ends. It runs again, should there be another chance.
    fn dropped(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            // The permit went with the work.
            delivery.hold = None;
        }
        let text = "the executor dropped the handler before it ended".to_owned();
        self.failed(number, AttemptError { class: ErrorClass::Transient, text }, None);
    }

    /// It ended without an outcome, and stays open.
    fn leave(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(&number) {
            delivery.stage = Stage::Left;
            delivery.hold = None;
        }
    }

    fn failed(&mut self, number: DeliveryNo, error: AttemptError, asked: Option<Duration>) {
        if !self.is_owner() {
            // The stop may well be why it failed: no failure, no attempt; it is delivered again.
            return self.leave(number);
        }
        if self.is_skipped(number) {
            return self.settle_skipped(number);
        }
        if self.paused {
            return self.wait_for_resume(number);
        }
        let Some(delivery) = self.deliveries.get_mut(&number) else { return };
        let lane = self.lanes[delivery.handler];
        let handler = &self.plan.handlers[delivery.handler];
        let path = match lane {
            Lane::Inline => Path::Sequential,
            Lane::Executor(_) => Path::Executor(self.plan.mode),
        };
        let (attempt, at) = (delivery.retry.attempt(), self.clock.now());
        let first_failed_at = *delivery.first_failed_at.get_or_insert(at);
        let mut decision = delivery.retry.failed(&handler.retry, path, error.class, asked, fastrand::f64());
        if number >= REDRIVEN {
            // One attempt for each time somebody asks.
            decision = Decision::DeadLetter;
        }
        self.counters.failed += 1;
        if error.class == ErrorClass::Transient {
            self.counters.transient += 1;
            self.transient_streak = self.transient_streak.saturating_add(1);
        }
        Arc::make_mut(&mut self.errors).push(Failure {
            position: delivery.event.position.clone(),
            handler: handler.method.to_owned(),
            class: error.class,
            attempt,
            error: shorten(&error.text),
            at,
        });
        self.errors_changed = true;
        match decision {
            Decision::Retry(delay) => {
                tracing::debug!(consumer = %self.plan.id, handler = handler.label, position = %delivery.event.position,
                    attempt, class = %error.class, error = error.text, ?delay, "attempt failed");
                delivery.stage = Stage::Waiting;
                self.retries.insert((later(delay), number));
            }
            Decision::DeadLetter => {
                tracing::warn!(consumer = %self.plan.id, handler = handler.label, position = %delivery.event.position,
                    attempt, class = %error.class, error = error.text, "event given to the dead letters");
                delivery.stage = Stage::GivenUp;
                let letter = DeadLetter {
                    event: Arc::clone(&delivery.event),
                    handler: handler.method.to_owned(),
                    class: error.class,
                    error: error.text,
                    attempts: attempt,
                    first_failed_at,
                    last_failed_at: at,
                };
                self.settler.add(number, Part::DeadLetter(Box::new(letter)));
            }
        }
    }

    /// Another ownership exists or may exist: nothing more starts, nothing is written, handlers are told.
    pub(super) fn lose(&mut self, why: &str) {
        if self.lost {
            return;
        }
        tracing::warn!(consumer = %self.plan.id, epoch = %self.lease.lease().epoch, why, "ownership lost");
        self.lost = true;
        self.quiet();
    }

    pub(super) fn note_store_failure(&mut self, error: &crate::error::StoreError) {
        if error.kind() != StoreErrorKind::Busy || self.settler.failures() > 1 {
            tracing::warn!(consumer = %self.plan.id, error = error as &dyn std::error::Error, "a settlement was not stored");
        }
        self.store_error = Some(error.to_string());
    }
}

fn shorten(text: &str) -> String {
    let mut end = text.len().min(SHORT_ERROR);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
