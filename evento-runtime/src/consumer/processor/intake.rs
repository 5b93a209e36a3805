//! From the source into the log: how far to read ahead, and what becomes of a page.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::delivery::Claim;
use super::outage::STREAK;
use super::start::cover;
use super::{ConsumerProcessor, Delivery, Lane, Stage};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::feed::{FeedEvent, Page};
use crate::event::{EventId, StoredEvent};
use crate::policy::RetryPlan;
use crate::source::{Batch, FetchLimits};
use crate::store::ClaimState;

impl ConsumerProcessor {
    /// Asks for the next page where there is room for a good one, or for any where nothing else is left to start.
    pub(super) fn read_ahead(&mut self) {
        if !self.may_begin() {
            return;
        }
        let settings = &self.plan.settings;
        let events = settings.look_ahead.saturating_sub(self.pending).min(settings.page);
        let bytes = settings.look_ahead_bytes.saturating_sub(self.pending_bytes);
        let worthwhile = events >= settings.page.min(settings.look_ahead / 2);
        if events > 0 && bytes > 0 && (worthwhile || self.is_starved()) {
            self.feed.read(FetchLimits { events, bytes });
        }
    }

    /// Whether nothing that was read could start, whatever permits there are.
    pub(super) fn is_starved(&self) -> bool {
        self.dispatch.next_inline().is_none() && !(0..self.executors.len()).any(|lane| self.dispatch.has_ready(lane))
    }

    pub(super) fn note_feed(&mut self, event: FeedEvent) {
        match event {
            FeedEvent::Awake => {}
            FeedEvent::Failed(error) => {
                tracing::warn!(consumer = %self.plan.id, error = &error as &dyn std::error::Error, "reading failed");
                self.store_error = Some(error.to_string());
            }
            FeedEvent::Page(Page { batch, claims, .. }) => {
                let events = batch.events.len();
                self.plan.dispatch.tell(|telemetry| telemetry.page_read(&self.plan.id, events));
                self.take_in(batch, &claims);
                self.redrive_next();
                if self.transient_streak > 0 {
                    self.feed.not_before(Instant::now() + STREAK.backoff(self.transient_streak, fastrand::f64()));
                }
            }
        }
    }

    fn take_in(&mut self, batch: Batch, claims: &HashMap<EventId, ClaimState>) {
        for event in batch.events {
            let Some(handler) = self.routes.find(&event.name) else { continue };
            let lane = self.lanes[handler];
            let cover = cover(self.plan.mode, lane);
            // What was read before is in here already, or settled.
            let Some(number) = self.log.push(&event.position, cover) else { continue };
            if self.completed.remove(&event.position) {
                self.pass(number, &event);
                self.suspect_passed(&event.position);
                self.settler.completed(event.position);
                continue;
            }
            let id = event.id;
            match claims.get(&id) {
                // Handled already, by an ownership that could not say so in its checkpoint.
                Some(ClaimState::Done) => {
                    self.pass(number, &event);
                    self.suspect_passed(&event.position);
                }
                claim => {
                    self.enqueue(number, handler, Arc::new(event));
                    self.note_claim(number, claim);
                    self.queue_behind(number);
                }
            }
        }
        if let Some(read_to) = &batch.read_to {
            let gone = self.log.note_read_to(read_to);
            if gone > 0 {
                tracing::warn!(consumer = %self.plan.id, events = gone,
                    "events that were open have no handler any more and are passed; a changed set of handlers wants a new version");
            }
        }
    }

    /// Into the queue of its key, where its lane keeps one.
    pub(super) fn enqueue(&mut self, number: DeliveryNo, handler: usize, event: Arc<StoredEvent>) {
        let lane = self.lanes[handler];
        let ordered = match lane {
            Lane::Inline => false,
            Lane::Executor(lane) => self.executors[lane].keeps_key_order(),
        };
        let own = if ordered { self.own_key(handler, &event) } else { None };
        let own_key = own.is_some();
        let key = own.unwrap_or_else(|| event.key.clone().filter(|_| ordered));
        let suspected = match number {
            ..REDRIVEN => self.suspects.note(number, &event.position),
            _ => self.suspects.note_redriven(number, &event.position),
        };
        self.pending += 1;
        self.pending_bytes += event.weight();
        self.lingering.came(handler);
        self.dispatch.push(number, lane, key.clone());
        self.deliveries.insert(
            number,
            Delivery {
                event,
                handler,
                key,
                own_key,
                retry: RetryPlan::after(suspected.unwrap_or(0)),
                alone: suspected.is_some(),
                stage: Stage::Pending,
                hold: None,
                first_failed_at: None,
                began: None,
                skip: false,
                claim: Claim::Free,
                held_until: None,
                admitted: None,
                parks: None,
                dispatched: true,
                timer: None,
            },
        );
    }
}
