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
        let (room, worthwhile) = self.room(0, 0);
        if worthwhile || self.is_starved() {
            self.read(room);
        }
    }

    /// The same while a page is there that is not taken in yet: the next one comes meanwhile.
    fn read_beside(&mut self, batch: &Batch) {
        let bytes = batch.events.iter().map(StoredEvent::weight).sum();
        let (room, worthwhile) = self.room(batch.events.len(), bytes);
        // After failures the next read waits, and at the head there is nothing to read.
        if worthwhile && batch.more && self.transient_streak == 0 {
            self.read(room);
        }
    }

    fn read(&mut self, room: FetchLimits) {
        if self.may_begin() && room.events > 0 && room.bytes > 0 {
            self.feed.read(room);
        }
    }

    /// What may be read beside what waits and `events` more, and whether that is a good page.
    fn room(&self, events: usize, bytes: usize) -> (FetchLimits, bool) {
        let settings = &self.plan.settings;
        let events = settings.look_ahead.saturating_sub(self.pending + events).min(settings.page);
        let bytes = settings.look_ahead_bytes.saturating_sub(self.pending_bytes + bytes);
        (FetchLimits { events, bytes }, events >= settings.page.min(settings.look_ahead / 2))
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
                self.read_beside(&batch);
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
