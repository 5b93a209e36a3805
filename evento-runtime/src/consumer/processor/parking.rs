//! Parked keys: once an event of a key was given up, later ones of that key queue behind it, as rows beside its own, and
//! are settled without having begun. They are handled when the letters of the key are tried again: then every event
//! that comes meanwhile queues behind them, until none is left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{ConsumerProcessor, Delivery, Stage};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::consumer::parked::{ParkedKeys, Place};
use crate::consumer::plan::ConsumerPlan;
use crate::consumer::settle::Part;
use crate::consumer::standing::Standing;
use crate::consumer::status::StallReason;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::outcome::ErrorClass;
use crate::policy::DeadLetterPolicy;
use crate::store::{DeadLetter, LetterKind, ParkedKey, ParkedRow, StoredDeadLetter};
use crate::sync::{Mutex, lock};

/// How often the store is asked what is still parked, while a little is.
const LOOK: Duration = Duration::from_secs(1);

/// The longest pause between two looks.
const LONGEST_LOOK: Duration = Duration::from_secs(60);

/// The parked keys of a consumer that parks.
pub(super) struct Parking {
    keys: Arc<Mutex<ParkedKeys>>,
    /// Deliveries that were to be given up when no further key could be parked.
    refused: BTreeMap<DeliveryNo, ParkedKey>,
    /// Where it is not an event's own key that says what it queues behind.
    standing: Option<Arc<Standing>>,
    /// What the store holds is being read.
    reading: Option<JoinHandle<Result<Vec<ParkedRow>, StoreError>>>,
    look_at: Instant,
}

impl Parking {
    /// `rows`: what earlier ownerships have left.
    pub(super) fn of(plan: &ConsumerPlan, rows: Vec<ParkedRow>) -> Option<Self> {
        (plan.dead_letter == DeadLetterPolicy::Park).then(|| {
            let settings = &plan.settings;
            let keys = ParkedKeys::new(settings.parked_queue, settings.parked_events).load(rows);
            let keys = Arc::new(Mutex::new(keys));
            let standing = (!plan.engine.orders_by_key()).then(|| Arc::new(Standing::new(Arc::clone(&keys))));
            Self { keys, refused: BTreeMap::new(), standing, reading: None, look_at: Instant::now() }
        })
    }

    /// For attempts, where only these find out what an event belongs to.
    pub(super) fn standing(&self) -> Option<Arc<Standing>> {
        self.standing.clone()
    }

    /// What the store holds, if it is being read; never, if not. Cancel-safe: the read goes on in its own task.
    pub(super) async fn read(parking: &mut Option<Self>) -> Result<Vec<ParkedRow>, StoreError> {
        match parking.as_mut().and_then(|parking| parking.reading.as_mut()) {
            Some(reading) => reading
                .await
                .unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Other, "parked keys").caused_by(error))),
            None => std::future::pending().await,
        }
    }

    /// Keys that are parked, and events in their queues.
    pub(super) fn counts(&self) -> (usize, usize) {
        let keys = lock(&self.keys);
        (keys.keys(), keys.events())
    }

    /// What later events queue behind if this delivery is given up.
    pub(super) fn key_of(&self, delivery: &Delivery) -> Option<ParkedKey> {
        if let (None, Some(standing)) = (&delivery.parks, &self.standing) {
            return standing.of(&delivery.event.position);
        }
        delivery.parks.clone().or_else(|| self.own_key_of(delivery))
    }

    fn own_key_of(&self, delivery: &Delivery) -> Option<ParkedKey> {
        let event = &delivery.event;
        let key = if delivery.own_key { &delivery.key } else { &event.key };
        let key = key.as_ref().filter(|_| self.standing.is_none())?;
        Some(ParkedKey { context: Arc::clone(&event.context), key: Arc::clone(key) })
    }

    /// Whether an event that is to be given up cannot be parked, as too many are: then it is tried again, with its later
    /// ones behind it, until there is room.
    pub(super) fn refuses(&mut self, number: DeliveryNo, delivery: &Delivery, consumer: &ConsumerId) -> bool {
        let key = self.key_of(delivery).filter(|key| number < REDRIVEN && !lock(&self.keys).takes(key));
        let Some(key) = key else {
            self.refused.remove(&number);
            return false;
        };
        if self.refused.is_empty() {
            tracing::warn!(%consumer, %key, position = %delivery.event.position,
                "too many parked events for one more parked key: its event is tried again until some are redriven or discarded");
        }
        self.refused.insert(number, key);
        true
    }

    /// It is settled.
    pub(super) fn settled(&mut self, number: DeliveryNo) {
        self.refused.remove(&number);
    }

    /// The key of an event that is to queue behind others.
    fn key_behind(&self, delivery: &Delivery) -> Option<(ParkedKey, Place)> {
        let keys = lock(&self.keys);
        if keys.is_empty() {
            return None;
        }
        let key = self.own_key_of(delivery)?;
        let place = keys.place(&key, &delivery.event.position);
        (place != Place::Free).then_some((key, place))
    }
}

impl ConsumerProcessor {
    /// When the store is to be asked what is still parked: only where something is.
    pub(super) fn next_parked_look(&self) -> Option<Instant> {
        let parking = self.parking.as_ref().filter(|parking| self.may_begin() && parking.reading.is_none())?;
        (!lock(&parking.keys).is_empty()).then_some(parking.look_at)
    }

    /// Letters may be discarded by anybody, and their rows are gone then.
    pub(super) fn read_parked(&mut self, now: Instant) {
        if self.next_parked_look().is_none_or(|look_at| look_at > now) {
            return;
        }
        let (queue, id) = (Arc::clone(&self.dead_letters), Arc::clone(&self.plan.id));
        let Some(parking) = &mut self.parking else { return };
        let events = {
            let mut keys = lock(&parking.keys);
            keys.look();
            keys.events()
        };
        // A thousand of them more, a second later.
        let more = Duration::from_millis(u64::try_from(events).unwrap_or(u64::MAX));
        parking.look_at = now + (LOOK + more).min(LONGEST_LOOK);
        parking.reading = Some(self.tasks.spawn(async move { queue.parked(&id).await }));
    }

    pub(super) fn take_parked(&mut self, read: Result<Vec<ParkedRow>, StoreError>) {
        let Some(parking) = &mut self.parking else { return };
        parking.reading = None;
        let rows = match read {
            Ok(rows) => rows,
            Err(error) => return self.note_store_failure(&error),
        };
        let discarded = self.with_parked(|keys| keys.discarded(rows));
        for (key, position) in discarded {
            tracing::info!(consumer = %self.plan.id, %key, %position, "a parked event was discarded");
            self.backlog.retain(|stored| stored.letter.event.position != position);
            self.note_resolved(&key, &position);
        }
        // What they were parked for is gone: the rest goes on.
        for key in self.with_parked(|keys| keys.without_reason()) {
            if self.with_parked(|keys| keys.redrive(&key, true)) {
                self.settler.wish(key, true);
                self.wants_redrive = true;
            }
        }
    }

    /// Puts a delivery that has not begun behind what its key is parked for, if it is.
    pub(super) fn queue_behind(&mut self, number: DeliveryNo) {
        let Some(parking) = &self.parking else { return };
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        let Some((key, place)) = parking.key_behind(delivery) else { return };
        delivery.dispatched = false;
        if delivery.stage == Stage::Waiting {
            delivery.stage = Stage::Pending;
            self.pending += 1;
            self.pending_bytes += delivery.event.weight();
            self.lingering.came(delivery.handler);
            self.retries.retain(|(_, waiting)| *waiting != number);
        }
        let (lane, of_lane) = (self.lanes[delivery.handler], delivery.key.clone());
        let (event, skip) = (Arc::clone(&delivery.event), delivery.skip);
        self.dispatch.withdraw(number, lane, of_lane.as_ref());
        match place {
            _ if skip => {
                self.leave_pending(number);
                self.counters.skipped += 1;
                self.settle(number);
            }
            Place::Free | Place::Known => {
                self.leave_pending(number);
                self.deliveries.remove(number);
                self.suspect_settled(number);
                self.pass(number, &event);
            }
            Place::Row => self.park(number, &key),
            Place::Behind => {
                delivery_stage(self, number, Stage::Behind);
                self.with_parked(|keys| keys.wait_behind(&key, number));
            }
        }
    }

    /// Has it stored in the queue of its key, which settles it.
    fn park(&mut self, number: DeliveryNo, key: &ParkedKey) {
        self.leave_pending(number);
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        delivery.stage = Stage::Parked;
        let (event, now) = (Arc::clone(&delivery.event), self.clock.now());
        let handler = self.plan.handlers[delivery.handler].method.to_owned();
        let position = event.position.clone();
        let letter = DeadLetter {
            event,
            kind: LetterKind::Parked,
            parks: Some(key.clone()),
            handler,
            class: ErrorClass::Ordinary,
            error: String::new(),
            attempts: 0,
            first_failed_at: now,
            last_failed_at: now,
        };
        self.settler.add(number, Part::DeadLetter(Box::new(letter)));
        let redriven = self.with_parked(|keys| {
            keys.park(key, position, LetterKind::Parked);
            keys.is_redriven(key)
        });
        if redriven {
            // What comes while the key is tried again is tried as well.
            self.settler.wish(key.clone(), true);
        }
    }

    /// What the event belongs to stands, as its attempt has found out.
    pub(super) fn stands(&mut self, number: DeliveryNo, key: &ParkedKey) {
        if !self.is_owner() {
            return self.leave(number);
        }
        if self.is_skipped(number) {
            return self.settle_skipped(number);
        }
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        let position = delivery.event.position.clone();
        let (is_parked, place) = self.parking.as_ref().map_or((false, Place::Free), |parking| {
            let keys = lock(&parking.keys);
            (keys.is_parked(key), keys.place(key, &position))
        });
        if !is_parked {
            // It has gone on since.
            delivery.stage = Stage::Waiting;
            self.retries.insert((Instant::now(), number));
            return;
        }
        delivery.parks = Some(key.clone());
        match place {
            Place::Known => {
                self.counters.skipped += 1;
                self.settle(number);
            }
            Place::Free | Place::Row => self.park(number, key),
            Place::Behind => {
                delivery.stage = Stage::Behind;
                delivery.dispatched = false;
                self.pending += 1;
                self.pending_bytes += delivery.event.weight();
                self.dispatch.settle_inline();
                self.with_parked(|keys| keys.wait_behind(key, number));
            }
        }
    }

    /// An event of a key is given up: what is behind it queues up.
    pub(super) fn park_key(&mut self, key: &ParkedKey, position: Position, number: DeliveryNo) {
        if self.with_parked(|keys| keys.park(key, position, LetterKind::Dead)) {
            tracing::warn!(consumer = %self.plan.id, %key, "key parked: its later events wait until the dead letter is resolved");
        }
        if number >= REDRIVEN {
            return self.stop_redrive(key);
        }
        let Some(parking) = &self.parking else { return };
        let behind = |(other, delivery): (DeliveryNo, &Delivery)| {
            let unbegun = delivery.stage == Stage::Waiting && delivery.began.is_none();
            let waits = other < REDRIVEN && other != number && (unbegun || delivery.stage == Stage::Pending);
            (waits && parking.own_key_of(delivery).as_ref() == Some(key)).then_some(other)
        };
        let behind: BTreeSet<DeliveryNo> = self.deliveries.iter().filter_map(behind).collect();
        behind.into_iter().for_each(|number| self.queue_behind(number));
    }

    /// One that waits for room in the queue of its key does not any more.
    pub(super) fn leave_behind(&mut self, number: DeliveryNo) {
        let behind = self.deliveries.get(number).filter(|delivery| delivery.stage == Stage::Behind);
        let (Some(delivery), Some(parking)) = (behind, &self.parking) else { return };
        let Some(key) = parking.key_of(delivery) else { return };
        self.leave_pending(number);
        self.with_parked(|keys| keys.leave(&key, number));
    }

    /// Its row, in the queue of its key, is stored.
    pub(super) fn note_parked(&mut self, number: DeliveryNo) {
        let Some(delivery) = self.deliveries.get(number) else { return };
        let parked = delivery.stage == Stage::Parked;
        if (parked || delivery.stage == Stage::GivenUp)
            && let Some(parking) = &self.parking
            && let Some(key) = parking.key_of(delivery)
        {
            lock(&parking.keys).stored(&key, &delivery.event.position);
            self.counters.parked += u64::from(parked);
        }
    }

    /// A letter of a key is resolved, and its row says so.
    fn note_resolved(&mut self, key: &ParkedKey, position: &Position) {
        let free = self.with_parked(|keys| keys.resolved(key, position));
        for number in &free {
            delivery_stage(self, *number, Stage::Pending);
        }
        let in_order = self.parking.as_ref().is_some_and(|parking| parking.standing.is_some());
        if in_order {
            // What is behind them was read, and not looked at yet.
            self.dispatch.push_first(free.clone());
        }
        for number in free {
            let Some(delivery) = self.deliveries.get_mut(number) else { continue };
            delivery.dispatched = true;
            delivery.parks = None;
            if in_order {
                continue;
            }
            let (lane, of_lane) = (self.lanes[delivery.handler], delivery.key.clone());
            self.dispatch.push(number, lane, of_lane);
        }
        while let Some((key, number)) = self.with_parked(ParkedKeys::next_with_room) {
            self.park(number, &key);
        }
    }

    /// The letters that may be tried, of those that are marked. Where a key is parked everything of it is to be marked
    /// first: then the oldest of it is among those that are read.
    pub(super) fn with_all_of_their_keys(&mut self, letters: Vec<StoredDeadLetter>) -> VecDeque<StoredDeadLetter> {
        let Some(parking) = &self.parking else { return letters.into() };
        let mut keys = lock(&parking.keys);
        let mut meant: BTreeSet<ParkedKey> = BTreeSet::new();
        let mut ready = VecDeque::new();
        for stored in letters {
            match &stored.letter.parks {
                Some(key) if keys.is_parked(key) && (meant.contains(key) || keys.redrive(key, true)) => {
                    meant.insert(key.clone());
                }
                // Resolved since it was read.
                Some(key) if !keys.holds(key, &stored.letter.event.position) => {}
                _ => ready.push_back(stored),
            }
        }
        self.wants_redrive |= !meant.is_empty();
        meant.into_iter().for_each(|key| self.settler.wish(key, true));
        ready
    }

    /// Whether a letter has to wait for another of its key.
    pub(super) fn is_tried(&self, letter: &DeadLetter) -> bool {
        let (Some(key), Some(parking)) = (&letter.parks, &self.parking) else { return false };
        lock(&parking.keys).is_tried(key)
    }

    /// A letter is being tried.
    pub(super) fn note_trying(&mut self, number: DeliveryNo, parks: Option<ParkedKey>) {
        let Some(key) = parks.filter(|_| self.parking.is_some()) else { return };
        self.with_parked(|keys| keys.tries(&key, true));
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.parks = Some(key);
        }
    }

    /// A letter was tried, and its row says how that ended.
    pub(super) fn note_tried(&mut self, delivery: &Delivery) {
        let Some(key) = delivery.parks.as_ref().filter(|_| self.parking.is_some()) else { return };
        self.with_parked(|keys| keys.tries(key, false));
        if delivery.stage != Stage::GivenUp {
            self.note_resolved(key, &delivery.event.position);
        }
    }

    /// A letter cannot be tried: neither is anything behind it.
    pub(super) fn give_up_redrive(&mut self, letter: &DeadLetter) {
        if let Some(key) = letter.parks.as_ref().filter(|_| self.parking.is_some()) {
            self.stop_redrive(key);
        }
    }

    /// The key stays where it is.
    fn stop_redrive(&mut self, key: &ParkedKey) {
        self.backlog.retain(|stored| stored.letter.parks.as_ref() != Some(key));
        if self.with_parked(|keys| keys.redrive(key, false)) {
            self.settler.wish(key.clone(), false);
        }
    }

    /// A key whose further events wait for room in its queue, or that has no queue because there are too many parked
    /// events, and the event that waits.
    pub(super) fn first_without_room(&self) -> Option<(String, DeliveryNo)> {
        let parking = self.parking.as_ref()?;
        let refused = parking.refused.first_key_value().map(|(number, key)| (key.to_string(), *number));
        refused.or_else(|| lock(&parking.keys).full().map(|(key, number)| (key.to_string(), number)))
    }

    /// What fills what is read ahead, if that is parked keys.
    pub(super) fn full_queue(&self) -> Option<StallReason> {
        self.first_without_room().map(|(key, _)| StallReason::ParkedQueueFull { key })
    }

    fn with_parked<T: Default>(&self, work: impl FnOnce(&mut ParkedKeys) -> T) -> T {
        self.parking.as_ref().map(|parking| work(&mut lock(&parking.keys))).unwrap_or_default()
    }
}

fn delivery_stage(processor: &mut ConsumerProcessor, number: DeliveryNo, stage: Stage) {
    if let Some(delivery) = processor.deliveries.get_mut(number) {
        delivery.stage = stage;
    }
}
