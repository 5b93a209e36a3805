//! What the consumer shows of itself, and why it stands.

use std::sync::Arc;

use super::parking::Parking;
use super::{ConsumerProcessor, SILENT};
use crate::consumer::events::Happening;
use crate::consumer::status::StallReason;

impl ConsumerProcessor {
    pub(super) fn show(&mut self) {
        let reason = self.reason_now();
        if !self.scope.progress.has_reached_head() && self.log.watermark() >= self.head.as_ref() {
            self.scope.progress.note_head();
        }
        let stalls = reason.as_ref().filter(|reason| **reason != StallReason::CaughtUp);
        if stalls.is_some() != self.stalled {
            self.stalled = stalls.is_some();
            let what = stalls.map_or(Happening::Resumed, |reason| Happening::Stalled { reason: reason.clone() });
            self.events.tell(&self.plan.id, what);
        }
        let oldest = self.log.oldest().and_then(|number| self.deliveries.get(number));
        let oldest_recorded_at = oldest.map(|delivery| delivery.event.recorded_at);
        let exposure = self.exposure();
        let held_by = reason.as_ref().and_then(|reason| self.held_by(reason));
        self.standing.note(&self.plan.id, reason.as_ref(), held_by.as_ref());
        self.warn_of_window(exposure);
        self.status.update(|status| {
            status.epoch = self.lease.lease().epoch;
            let is_held = |reason: &Option<StallReason>| matches!(reason, Some(StallReason::GapHold { .. }));
            self.counters.gap_holds += u64::from(is_held(&reason) && !is_held(&status.reason));
            status.reason = reason;
            status.held_by = held_by;
            status.watermark = self.log.watermark().cloned();
            status.reach = self.log.reach().cloned();
            status.read_to = self.log.read_to().cloned();
            status.oldest_open = self.log.oldest_position().cloned();
            status.oldest_recorded_at = oldest_recorded_at;
            status.watermark_lag = self.log.watermark_lag();
            status.stored_at = Some(self.settler.stored_at());
            status.in_flight = self.calls;
            status.open = self.log.open_len();
            status.exposure = exposure;
            (status.parked_keys, status.parked_events) = self.parking.as_ref().map_or((0, 0), Parking::counts);
            status.counters = self.counters;
            status.errors = Arc::clone(&self.errors);
        });
    }

    fn reason_now(&self) -> Option<StallReason> {
        let reason = self.reason();
        let held = match &reason {
            Some(StallReason::WindowFull | StallReason::NoPermit { .. } | StallReason::InlineBarrier) => true,
            None => self.in_flight > 0 && self.all_over_time() && (self.inline.is_some() || self.feed.is_at_head()),
            _ => false,
        };
        if held { self.over_time().or(reason) } else { reason }
    }

    /// Why nothing moves; `None` while something does.
    fn reason(&self) -> Option<StallReason> {
        if self.lost {
            return Some(StallReason::LeaseLost);
        }
        if let Some(error) = &self.store_error
            && (self.settler.failures() > 0 || self.feed.failures() > 0 || self.unready > 0)
        {
            return Some(StallReason::Store { error: error.clone() });
        }
        if self.settler.is_writing() && self.settler.last_write().elapsed() >= SILENT {
            let error =
                format!("a settlement has had no answer for {} s", self.settler.last_write().elapsed().as_secs());
            return Some(StallReason::Store { error });
        }
        if self.paused && self.in_flight == 0 {
            return Some(StallReason::Paused);
        }
        let settings = &self.plan.settings;
        let buffered = self.pending >= settings.look_ahead || self.pending_bytes >= settings.look_ahead_bytes;
        if let Some(reason) = self.full_queue().filter(|_| self.is_starved() && (buffered || self.in_flight == 0)) {
            return Some(reason);
        }
        let full = buffered && self.inline.is_none() && self.is_starved();
        if full || self.exposure() >= self.plan.settings.window {
            return Some(StallReason::WindowFull);
        }
        if self.dispatch.at_barrier() && !self.executors.is_empty() {
            return Some(StallReason::InlineBarrier);
        }
        if let Some(lane) = (0..self.executors.len()).find(|lane| self.asked[*lane] > 0 && self.has_ready(*lane)) {
            let (executor, figures) = (self.executors[lane].name().to_owned(), self.executors[lane].stats());
            return Some(match figures.waits_for_rate {
                true => StallReason::RateLimited { executor },
                false => StallReason::NoPermit { executor },
            });
        }
        if self.in_flight == 0 && (!self.retries.is_empty() || self.transient_streak > 0) {
            return Some(StallReason::BackingOff);
        }
        if !(self.deliveries.is_empty() && self.feed.is_at_head()) {
            return None;
        }
        Some(self.feed.held().map_or(StallReason::CaughtUp, |held| StallReason::GapHold { held }))
    }
}
