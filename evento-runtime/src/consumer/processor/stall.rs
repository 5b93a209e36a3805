//! What a consumer that does not move waits for, and how often that is said in the log.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use tokio::time::Instant;

use super::ConsumerProcessor;
use crate::consumer::status::{HeldBy, StallReason};
use crate::identity::ConsumerId;

/// A reason that lasts is told of after this long, and at each doubling.
const TELLING: Duration = Duration::from_secs(5);

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

impl ConsumerProcessor {
    /// The event that is in the way of the others.
    pub(super) fn held_by(&self, reason: &StallReason) -> Option<HeldBy> {
        let number = match reason {
            StallReason::BackingOff => self.retries.first().map(|(_, number)| *number),
            StallReason::HandlerOverTime { position, .. } => self
                .deliveries
                .iter()
                .find(|(_, delivery)| delivery.event.position == *position)
                .map(|(number, _)| *number),
            StallReason::WindowFull
            | StallReason::NoPermit { .. }
            | StallReason::RateLimited { .. }
            | StallReason::InlineBarrier => self.log.oldest(),
            _ => None,
        };
        let delivery = self.deliveries.get(&number?)?;
        Some(HeldBy {
            handler: self.callers[delivery.handler].label().to_owned(),
            position: delivery.event.position.clone(),
            key: delivery.event.key.clone(),
            failed: delivery.retry.attempt() - 1,
        })
    }
}
