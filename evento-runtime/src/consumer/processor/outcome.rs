//! How a delivery goes on after an attempt: settled, again later, or to the dead letters.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::delivery::{Claim, InlineEnd};
use super::{AttemptEnd, ConsumerProcessor, Lane, Stage};
use crate::clock::later;
use crate::consumer::attempt::{AttemptError, Committed, Done, Effects, Failed};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::settle::Part;
use crate::consumer::work::Report;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::ConsumerId;
use crate::outcome::{ErrorClass, Flow};
use crate::policy::{CheckpointMode, Decision, Path, RetryPolicy};
use crate::store::{DeadLetter, Failure, LetterKind};

/// Error text kept in the history of a consumer: 1 KiB.
const SHORT_ERROR: usize = 1_024;

/// Pauses while attempts cannot be made: 100 ms, doubling, at most 5 s.
pub(super) const UNREADY: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(100), max_delay: Duration::from_secs(5) };

/// Dead letters logged one by one in so much time; of more only the number is.
const TOLD: (u32, Duration) = (10, Duration::from_secs(10));

/// Keeps the log readable where everything fails.
#[derive(Debug, Default)]
pub(super) struct DeadLettersTold {
    since: Option<Instant>,
    count: u32,
}

impl DeadLettersTold {
    fn is_to_be_told(&mut self, consumer: &ConsumerId, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= TOLD.1) {
            let untold = self.count.saturating_sub(TOLD.0);
            if untold > 0 {
                tracing::warn!(%consumer, events = untold, "more events were given to the dead letters");
            }
            (self.since, self.count) = (Some(now), 0);
        }
        self.count = self.count.saturating_add(1);
        self.count <= TOLD.0
    }
}

impl ConsumerProcessor {
    pub(super) fn note_report(&mut self, report: Report) {
        self.in_flight -= 1;
        self.calls -= usize::from(report.over);
        match report.end {
            Some(end) => self.attempt_ended(report.number, end),
            None => self.dropped(report.number),
        }
    }

    pub(super) fn inline_ended(&mut self, end: InlineEnd) {
        let Some(inline) = self.inline.take() else { return };
        self.calls -= 1;
        match end {
            InlineEnd::One(end) => {
                self.in_flight -= 1;
                self.attempt_ended(inline.number, end);
            }
            InlineEnd::Together(ends) => self.inline_group_ended(ends),
        }
    }

    pub(super) fn attempt_ended(&mut self, number: DeliveryNo, end: AttemptEnd) {
        self.limits.remove(&number);
        let asked_again = |text: &str| AttemptError { class: ErrorClass::Ordinary, text: text.to_owned() };
        if !matches!(end, Err(Failed::Store(_) | Failed::Behind(_) | Failed::NotBegun)) {
            self.unready = 0;
        }
        match end {
            Ok(Done { flow: Flow::Continue | Flow::Complete, effects, committed }) => {
                self.succeeded(number, false, effects, committed);
            }
            Ok(Done { flow: Flow::Skip, effects, committed }) => self.succeeded(number, true, effects, committed),
            Ok(Done { flow: Flow::DeadLetter(reason), .. }) => {
                self.failed(number, AttemptError { class: ErrorClass::Permanent, text: reason }, None);
            }
            Ok(Done { flow: Flow::RetryAfter(delay), .. }) => {
                self.failed(number, asked_again("the handler asked to be called again"), Some(delay));
            }
            Err(Failed::Attempt(error)) => self.failed(number, error, None),
            Err(Failed::Store(error)) => self.not_attempted(number, &error),
            Err(Failed::Behind(key)) => self.stands(number, &key),
            Err(Failed::NotBegun) => self.give_back(number),
        }
    }

    /// The framework's own work failed before the handler ran, or after it: no attempt, it is made again.
    fn not_attempted(&mut self, number: DeliveryNo, error: &StoreError) {
        if !self.is_owner() {
            return self.leave(number);
        }
        if error.kind() == StoreErrorKind::Fenced {
            self.leave(number);
            return self.lose("a later ownership wrote");
        }
        self.unready = self.unready.saturating_add(1);
        self.note_store_failure(error);
        if self.is_skipped(number) {
            return self.settle_skipped(number);
        }
        if self.paused {
            return self.wait_for_resume(number);
        }
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.stage = Stage::Waiting;
            self.retries.insert((later(UNREADY.backoff(self.unready, fastrand::f64())), number));
        }
    }

    fn succeeded(&mut self, number: DeliveryNo, skipped: bool, effects: Effects, committed: Committed) {
        self.transient_streak = 0;
        self.outage.over();
        self.counters.skipped += u64::from(skipped);
        if self.errors.streak > 0 {
            Arc::make_mut(&mut self.errors).streak = 0;
            self.errors_changed = true;
        }
        if committed != Committed::No {
            return self.committed(number, &effects, committed);
        }
        if effects.is_empty() && number < REDRIVEN {
            return self.settle(number);
        }
        // Stored together with the checkpoint that passes this event, or before it.
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        delivery.stage = Stage::Storing;
        delivery.timer = effects.scheduled.iter().map(|timer| timer.due_at).min();
        let effects = Box::new(effects);
        let part = if number < REDRIVEN { Part::Handled(effects) } else { Part::Resolved(delivery.event.id, effects) };
        self.settler.add(number, part);
    }

    /// Everything of it is stored, and that it was handled.
    fn committed(&mut self, number: DeliveryNo, effects: &Effects, committed: Committed) {
        if let Some(due_at) = effects.scheduled.iter().map(|timer| timer.due_at).min() {
            self.timer_stored(due_at);
        }
        let position = self.deliveries.get(number).map(|delivery| delivery.event.position.clone());
        self.settle(number);
        if let Some(position) = position.filter(|_| committed == Committed::Noted) {
            self.settler.completed(position);
        }
    }

    /// Nothing more has to be stored for it but the checkpoint.
    pub(super) fn settle(&mut self, number: DeliveryNo) {
        let Some(delivery) = self.deliveries.remove(number) else { return };
        if delivery.claim != Claim::Free {
            self.settler.done(number, delivery.event.id);
        }
        self.suspect_settled(number);
        if let Some(parking) = &mut self.parking {
            parking.settled(number);
        }
        if number < REDRIVEN {
            self.log.settle(number);
            self.counters.settled += 1;
            self.plan.dispatch.tell(|telemetry| telemetry.settled(&self.plan.id, &delivery.event));
        } else {
            self.redriven -= 1;
        }
        match self.lanes[delivery.handler] {
            _ if !delivery.dispatched => {}
            Lane::Inline => self.dispatch.settle_inline(),
            Lane::Executor(lane) => self.dispatch.settle(number, lane, delivery.key.as_ref()),
        }
        if number >= REDRIVEN {
            self.redriven_settled(&delivery);
        }
    }

    /// Its executor dropped it, because the runtime it ran on ends. It runs again, should there be another chance.
    fn dropped(&mut self, number: DeliveryNo) {
        self.limits.remove(&number);
        if let Some(delivery) = self.deliveries.get_mut(number) {
            // The permit went with the work.
            delivery.hold = None;
        }
        let text = "the executor dropped the handler before it ended".to_owned();
        self.failed(number, AttemptError { class: ErrorClass::Transient, text }, None);
    }

    /// It ended without an outcome, and stays open.
    pub(super) fn leave(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.stage = Stage::Left;
            delivery.hold = None;
        }
        self.release_claim(number);
    }

    pub(super) fn failed(&mut self, number: DeliveryNo, error: AttemptError, asked: Option<Duration>) {
        if !self.is_owner() {
            // The stop may well be why it failed: no failure, no attempt; it is delivered again.
            return self.leave(number);
        }
        if self.is_skipped(number) {
            return self.settle_skipped(number);
        }
        if self.paused {
            self.survived(number);
            return self.wait_for_resume(number);
        }
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
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
        if decision == Decision::DeadLetter
            && self.parking.as_mut().is_some_and(|parking| parking.refuses(number, delivery, &self.plan.id))
        {
            decision = Decision::Retry(handler.retry.max_delay);
        }
        self.counters.failed += 1;
        if error.class == ErrorClass::Transient {
            self.counters.transient += 1;
            // What is tried again beside the events says nothing about the events.
            self.transient_streak = self.transient_streak.saturating_add(u32::from(number < REDRIVEN));
            if number < REDRIVEN && path == Path::Executor(CheckpointMode::OnStart) {
                self.outage.failed(Instant::now());
            }
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
                self.counters.retried += 1;
                tracing::debug!(consumer = %self.plan.id, handler = handler.label, position = %delivery.event.position,
                    attempt, class = %error.class, error = error.text, ?delay, "attempt failed");
                delivery.stage = Stage::Waiting;
                let held = delivery.hold.is_some();
                self.retries.insert((later(delay), number));
                let (id, event) = (&self.plan.id, &delivery.event);
                self.plan.dispatch.tell(|telemetry| telemetry.retry_planned(id, &handler.label, event, delay));
                if !held {
                    self.survived(number);
                }
            }
            Decision::DeadLetter => {
                if self.told.is_to_be_told(&self.plan.id, Instant::now()) {
                    tracing::warn!(consumer = %self.plan.id, handler = handler.label, position = %delivery.event.position,
                        attempt, class = %error.class, error = error.text, "event given to the dead letters");
                }
                delivery.stage = Stage::GivenUp;
                let parks = self.parking.as_ref().and_then(|parking| parking.key_of(delivery));
                let letter = DeadLetter {
                    event: Arc::clone(&delivery.event),
                    kind: LetterKind::Dead,
                    parks: parks.clone(),
                    handler: handler.method.to_owned(),
                    class: error.class,
                    error: error.text,
                    attempts: attempt,
                    first_failed_at,
                    last_failed_at: at,
                };
                delivery.parks.clone_from(&parks);
                let position = delivery.event.position.clone();
                self.settler.add(number, Part::DeadLetter(Box::new(letter)));
                if let Some(key) = parks {
                    self.park_key(&key, position, number);
                }
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

    pub(super) fn note_store_failure(&mut self, error: &StoreError) {
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
