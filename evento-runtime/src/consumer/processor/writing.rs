//! When a settlement is written.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::{ConsumerProcessor, Stage};
use crate::consumer::delivery::{DeliveryNo, Mark, REDRIVEN};
use crate::consumer::events::Happening;
use crate::consumer::settle::Settled;
use crate::store::Checkpoint;

/// A checkpoint that moved only past events nobody handles is stored at most this often.
const PASSING: Duration = Duration::from_secs(1);

impl ConsumerProcessor {
    /// Begins a write if one is due and none is under way.
    pub(super) fn write_if_due(&mut self, now: Instant) {
        // A group that stores the checkpoint itself is the one write under way.
        if self.lost || self.groups.covering || !self.settler.is_free(now) {
            return;
        }
        if !self.is_owner() {
            if self.in_flight == 0 && self.has_final_news() {
                self.begin_final_write();
            } else if self.in_flight > 0 && self.settler.has_claims() {
                // What still runs is not for others yet, however long it takes.
                self.begin_write(self.log.checkpoint(&self.settler.waiting()));
            }
            return;
        }
        let changed = usize::try_from(self.log.changed()).unwrap_or(usize::MAX);
        let settings = &self.plan.settings;
        let full = changed >= settings.checkpoint_every || self.exposure() >= settings.window;
        let idle = changed > 0 && self.is_idle();
        let due = self.next_write(now).is_some_and(|instant| instant <= now);
        if self.settler.has_parts() || (full && changed > 0) || idle || due {
            self.begin_write(self.log.checkpoint(&self.settler.waiting()));
        }
    }

    /// What a write held is there.
    pub(super) fn stored(&mut self, mark: Mark, deliveries: Vec<DeliveryNo>) {
        for number in deliveries {
            self.note_parked(number);
            if let Some(delivery) = self.deliveries.get(number).filter(|delivery| delivery.stage == Stage::GivenUp) {
                self.counters.dead_lettered += u64::from(number < REDRIVEN);
                let position = delivery.event.position.clone();
                let handler = self.callers[delivery.handler].label().to_owned();
                let (id, event) = (&self.plan.id, &delivery.event);
                self.plan.dispatch.tell(|telemetry| telemetry.dead_lettered(id, &handler, event));
                self.events.tell(&self.plan.id, Happening::DeadLetter { position, handler });
            }
            if let Some(due_at) = self.deliveries.get(number).and_then(|delivery| delivery.timer) {
                self.timer_stored(due_at);
            }
            self.settle(number);
        }
        self.log.stored(mark);
    }

    /// What was written beside is there as well.
    fn noted(&mut self, claimed: Vec<DeliveryNo>, fired: bool, recorded: Vec<DeliveryNo>) {
        self.attempts_recorded(recorded);
        claimed.into_iter().for_each(|number| self.claim_stored(number));
        if fired {
            self.timers_fired();
        }
    }

    pub(super) fn begin_write(&mut self, checkpoint: (Checkpoint, Mark)) {
        let errors = std::mem::take(&mut self.errors_changed).then(|| (*self.errors).clone());
        self.settler.begin(checkpoint, errors, false);
    }

    /// The last write, which says that nothing comes after it.
    pub(super) fn begin_final_write(&mut self) {
        self.only_end = !self.has_unstored();
        let errors = std::mem::take(&mut self.errors_changed).then(|| (*self.errors).clone());
        self.settler.begin(self.log.final_checkpoint(&self.settler.waiting()), errors, true);
    }

    /// When a write is due although nothing happens.
    pub(super) fn next_write(&self, now: Instant) -> Option<Instant> {
        if self.lost || self.groups.covering || self.settler.is_writing() {
            return None;
        }
        if !self.is_owner() {
            let news = self.in_flight == 0 && self.has_final_news();
            return news.then(|| self.settler.not_before().unwrap_or(now));
        }
        let last = self.settler.last_write();
        let news = self.settler.has_news() || self.errors_changed || self.log.changed() > 0;
        let at = if news {
            last + self.plan.settings.checkpoint_interval
        } else if self.log.watermark() > self.stored_checkpoint().watermark.as_ref() {
            last + PASSING
        } else {
            return None;
        };
        Some(self.settler.not_before().map_or(at, |instant| at.max(instant)))
    }

    /// Whether nothing moves until its time has come, or something new has.
    fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.feed.is_at_head() && self.is_starved()
    }

    /// Whether the end of this ownership has something to store, and be it that it has ended.
    pub(super) fn has_final_news(&self) -> bool {
        self.end_due || self.has_unstored()
    }

    pub(super) fn has_unstored(&self) -> bool {
        self.settler.has_news()
            || self.errors_changed
            || self.log.final_checkpoint(&BTreeSet::new()).0 != *self.stored_checkpoint()
    }

    pub(super) fn note_settled(&mut self, settled: Settled) {
        let took = self.settler.last_write().elapsed();
        let result = match &settled {
            Settled::Stored { .. } => Ok(()),
            Settled::Failed(error) | Settled::Fenced(error) => Err(error),
        };
        self.plan.dispatch.tell(|telemetry| telemetry.checkpoint_written(&self.plan.id, took, result));
        match settled {
            Settled::Stored { mark, deliveries, claimed, fired, recorded, ends } => {
                self.end_due &= !ends;
                self.stored(mark, deliveries);
                self.noted(claimed, fired, recorded);
                self.counters.checkpoints += 1;
                if self.feed.failures() == 0 && self.unready == 0 {
                    self.store_error = None;
                }
            }
            // Nothing is worth a wait any more: the next ownership is suspicious, and that is all.
            Settled::Failed(_) if std::mem::take(&mut self.only_end) => self.end_due = false,
            Settled::Failed(error) => {
                self.errors_changed = true;
                self.note_store_failure(&error);
            }
            Settled::Fenced(error) => {
                tracing::debug!(consumer = %self.plan.id, error = &error as &dyn std::error::Error, "fenced");
                self.lose("a later ownership wrote");
            }
        }
    }
}
