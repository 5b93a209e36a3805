//! What a consumer that does not move waits for, and how often that is said in the log.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use tokio::time::Instant;

use super::{ConsumerProcessor, Delivery};
use crate::consumer::status::{HeldBy, StallReason};
use crate::identity::ConsumerId;

/// A reason that lasts is told of after this long, and at each doubling.
const TELLING: Duration = Duration::from_secs(5);

/// What pins half of the window is told of once it has run for so long, and at each doubling of its age.
const PINNING: Duration = Duration::from_millis(500);

/// Since when a consumer stands, and for what.
#[derive(Default)]
pub(super) struct Standing(Option<Since>);

struct Since {
    reason: Discriminant<StallReason>,
    began: Instant,
    /// When it is told of next, counted from its beginning.
    after: Duration,
}

impl Standing {
    /// Says that a consumer stands, if it has done so for long enough. A pause is somebody's wish, and no news.
    pub(super) fn note(&mut self, id: &ConsumerId, reason: Option<&StallReason>, held_by: Option<&HeldBy>) {
        let stands = |reason: &&StallReason| !matches!(reason, StallReason::CaughtUp | StallReason::Paused);
        let Some(reason) = reason.filter(stands) else {
            self.0 = None;
            return;
        };
        let kind = discriminant(reason);
        let since = match &mut self.0 {
            Some(since) if since.reason == kind => since,
            other => other.insert(Since { reason: kind, began: Instant::now(), after: TELLING }),
        };
        let age = since.began.elapsed();
        if age >= since.after {
            since.after = age * 2;
            let held_by = held_by.map(tracing::field::display);
            tracing::warn!(consumer = %id, %reason, held_by, seconds = age.as_secs(), "the consumer does not move");
        }
    }

    /// When it is to be said although nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.as_ref().and_then(|since| since.began.checked_add(since.after))
    }
}

/// How old what pins half of the window is to be when it is told of; `None`: nothing does.
#[derive(Debug, Default)]
pub(super) struct Pinned(Option<Duration>);

impl ConsumerProcessor {
    /// The oldest delivery that is not settled, where half of the window would run again because of it.
    fn pins(&self, exposure: usize) -> Option<(&Delivery, Instant)> {
        if exposure * 2 < self.plan.settings.window {
            return None;
        }
        let oldest = self.deliveries.get(self.log.oldest()?)?;
        Some((oldest, oldest.began?))
    }

    /// Warns of a window that is half full, of the event that keeps it so, and again at each doubling of its age.
    pub(super) fn warn_of_window(&mut self, exposure: usize) {
        let Some((oldest, began)) = self.pins(exposure) else {
            self.pinned.0 = None;
            return;
        };
        let (age, due) = (began.elapsed(), self.pinned.0.unwrap_or(PINNING));
        if age >= due {
            tracing::warn!(
                consumer = %self.plan.id,
                gap = self.log.watermark_lag(),
                window = self.plan.settings.window,
                would_run_again = exposure,
                handler = self.callers[oldest.handler].label(),
                event = %oldest.event.name,
                position = %oldest.event.position,
                age_seconds = age.as_secs_f64(),
                "half of the window would run again after a crash; this event pins it"
            );
        }
        self.pinned.0 = Some(if age >= due { age * 2 } else { due });
    }

    /// When the window is to be warned of although nothing happens.
    pub(super) fn next_window_warning(&self) -> Option<Instant> {
        let (_, began) = self.pins(self.exposure()).filter(|_| self.pinned.0.is_some())?;
        began.checked_add(self.pinned.0?)
    }

    /// The event that is in the way of the others.
    pub(super) fn held_by(&self, reason: &StallReason) -> Option<HeldBy> {
        let number = match reason {
            StallReason::BackingOff => self.retries.first().map(|(_, number)| *number),
            StallReason::HandlerOverTime { position, .. } => self
                .deliveries
                .iter()
                .find(|(_, delivery)| delivery.event.position == *position)
                .map(|(number, _)| number),
            StallReason::ParkedQueueFull { .. } => self.first_without_room().map(|(_, number)| number),
            StallReason::WindowFull
            | StallReason::NoPermit { .. }
            | StallReason::RateLimited { .. }
            | StallReason::InlineBarrier => self.log.oldest(),
            _ => None,
        };
        let delivery = self.deliveries.get(number?)?;
        Some(HeldBy {
            handler: self.callers[delivery.handler].label().to_owned(),
            position: delivery.event.position.clone(),
            key: delivery.event.key.clone(),
            failed: delivery.retry.attempt() - 1,
        })
    }
}
