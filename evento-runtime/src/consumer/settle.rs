//! The consumer's only way to write: at most one settlement under way, newer values overtake older ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::attempt::Effects;
use super::delivery::{DeliveryNo, Mark};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::{EventId, Position};
use crate::policy::RetryPolicy;
use crate::source::PreparedEvent;
use crate::store::{
    Checkpoint, Claims, ConsumerStateStore, DeadLetter, ErrorHistory, Lease, OwnershipMark, ParkedKey, ParkedWish,
    RecordedAttempt, Settlement,
};
use crate::task::Tasks;

/// Pauses after failed writes: 50 ms, doubling, at most 5 s.
const WRITE_RETRY: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(50), max_delay: Duration::from_secs(5) };

/// A write under way, and what it settles once it is there.
struct Write {
    task: JoinHandle<Result<(), StoreError>>,
    mark: Mark,
    checkpoint: Checkpoint,
    parts: Parts,
    notes: Notes,
    ends: bool,
}

/// What a settlement writes for a delivery, beside the checkpoint that passes it.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// It was given up.
    DeadLetter(Box<DeadLetter>),
    /// It was handled, and its handler left this.
    Handled(Box<Effects>),
    /// A dead letter was handled after all, and its handler left this.
    Resolved(EventId, Box<Effects>),
}

type Parts = BTreeMap<DeliveryNo, Part>;

/// What the next settlement carries beside.
#[derive(Debug, Default)]
struct Notes {
    /// To be claimed; these deliveries start once that is stored, or go on.
    claimed: BTreeMap<DeliveryNo, EventId>,
    released: Vec<EventId>,
    done: Vec<EventId>,
    /// Whether everything of a parked key is to be tried again.
    wishes: BTreeMap<ParkedKey, bool>,
    /// Timers that are due.
    fired: Vec<PreparedEvent>,
    /// Completed in transactions of their own, and covered by the checkpoint of the next write.
    completed: Vec<Position>,
    /// Recorded attempts that change; and the deliveries that begin once theirs is stored.
    attempts: BTreeMap<Position, u32>,
    recorded: Vec<DeliveryNo>,
}

impl Notes {
    fn is_empty(&self) -> bool {
        self.claimed.is_empty()
            && self.released.is_empty()
            && self.done.is_empty()
            && self.wishes.is_empty()
            && self.fired.is_empty()
            && self.completed.is_empty()
            && self.attempts.is_empty()
    }

    /// Puts back what was not stored, before what came since.
    fn put_back(&mut self, mut failed: Self) {
        failed.claimed.append(&mut self.claimed);
        failed.released.append(&mut self.released);
        failed.done.append(&mut self.done);
        failed.wishes.append(&mut self.wishes);
        failed.fired.append(&mut self.fired);
        failed.completed.append(&mut self.completed);
        failed.attempts.append(&mut self.attempts);
        failed.recorded.append(&mut self.recorded);
        *self = failed;
    }

    fn attempts(&self) -> Vec<RecordedAttempt> {
        let each = self.attempts.iter();
        each.map(|(position, attempts)| RecordedAttempt { position: position.clone(), attempts: *attempts }).collect()
    }

    fn claims(&self, expiry: Duration) -> Claims {
        Claims {
            taken: self.claimed.values().copied().collect(),
            expiry,
            released: self.released.clone(),
            done: self.done.clone(),
            ..Claims::default()
        }
    }
}

/// What a finished write means.
#[derive(Debug)]
pub(crate) enum Settled {
    /// Stored: the checkpoint of `mark`, and everything of these deliveries.
    Stored {
        mark: Mark,
        deliveries: Vec<DeliveryNo>,
        /// Their claims are stored.
        claimed: Vec<DeliveryNo>,
        /// Whether timers were fired.
        fired: bool,
        /// Their attempts are recorded.
        recorded: Vec<DeliveryNo>,
        /// Whether the end of the ownership is.
        ends: bool,
    },
    /// Refused, or its outcome is unknown. What it held is kept and written again after a pause.
    Failed(StoreError),
    /// A later ownership exists.
    Fenced(StoreError),
}

/// Writes for one ownership of one consumer.
pub(crate) struct Settler {
    store: Arc<dyn ConsumerStateStore>,
    lease: Lease,
    tasks: Tasks,
    write: Option<Write>,
    parts: Parts,
    notes: Notes,
    claim_expiry: Duration,
    stored: Checkpoint,
    failures: u32,
    not_before: Option<Instant>,
    last_write: Instant,
    /// When a write was last known to be stored.
    stored_at: Instant,
}

impl Settler {
    pub(crate) fn new(
        store: Arc<dyn ConsumerStateStore>,
        lease: Lease,
        tasks: Tasks,
        stored: Checkpoint,
        claim_expiry: Duration,
    ) -> Self {
        Self {
            notes: Notes::default(),
            claim_expiry,
            store,
            lease,
            tasks,
            write: None,
            parts: Parts::new(),
            stored,
            failures: 0,
            not_before: None,
            last_write: Instant::now(),
            stored_at: Instant::now(),
        }
    }

    /// This delivery is settled once `part` is stored.
    pub(crate) fn add(&mut self, number: DeliveryNo, part: Part) {
        self.parts.insert(number, part);
    }

    /// Claims the event of a delivery, or renews the claim.
    pub(crate) fn claim(&mut self, number: DeliveryNo, event: EventId) {
        self.notes.claimed.insert(number, event);
    }

    /// Nobody has to wait for it any more.
    pub(crate) fn release(&mut self, number: DeliveryNo, event: EventId) {
        self.notes.claimed.remove(&number);
        self.notes.released.push(event);
    }

    /// A claimed event was handled.
    pub(crate) fn done(&mut self, number: DeliveryNo, event: EventId) {
        self.notes.claimed.remove(&number);
        self.notes.done.push(event);
    }

    /// Everything of a parked key is to be tried again, or is not any more.
    pub(crate) fn wish(&mut self, key: ParkedKey, redrive: bool) {
        self.notes.wishes.insert(key, redrive);
    }

    /// Whether such a wish is not stored yet.
    pub(crate) fn has_wishes(&self) -> bool {
        !self.notes.wishes.is_empty() || self.write.as_ref().is_some_and(|write| !write.notes.wishes.is_empty())
    }

    /// Appends the events of timers that are due.
    pub(crate) fn fire(&mut self, events: Vec<PreparedEvent>) {
        self.notes.fired.extend(events);
    }

    /// What its transaction has noted need not be kept once a checkpoint covers it. To be called once the delivery is
    /// settled.
    pub(crate) fn completed(&mut self, position: Position) {
        self.notes.completed.push(position);
    }

    /// This delivery begins once its attempt is recorded.
    pub(crate) fn record(&mut self, number: DeliveryNo, attempt: RecordedAttempt) {
        self.note_attempt(attempt);
        self.notes.recorded.push(number);
    }

    /// What is recorded changes with the next write.
    pub(crate) fn note_attempt(&mut self, attempt: RecordedAttempt) {
        self.notes.attempts.insert(attempt.position, attempt.attempts);
    }

    /// The deliveries that the next write settles.
    pub(crate) fn waiting(&self) -> BTreeSet<DeliveryNo> {
        self.parts.keys().copied().collect()
    }

    /// Whether a write may begin now.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.write.is_none() && self.not_before.is_none_or(|instant| now >= instant)
    }

    pub(crate) const fn is_writing(&self) -> bool {
        self.write.is_some()
    }

    /// Whether claims are to be stored, or renewed.
    pub(crate) fn has_claims(&self) -> bool {
        !self.notes.claimed.is_empty()
    }

    /// Whether something waits for the next write.
    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
            || !self.notes.claimed.is_empty()
            || !self.notes.wishes.is_empty()
            || !self.notes.fired.is_empty()
            || !self.notes.recorded.is_empty()
    }

    /// Whether there is anything beside a checkpoint to write.
    pub(crate) fn has_news(&self) -> bool {
        !self.parts.is_empty() || !self.notes.is_empty()
    }

    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// When a failed write may be repeated.
    pub(crate) const fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    pub(crate) const fn last_write(&self) -> Instant {
        self.last_write
    }

    /// When it was last written; before that, when the ownership began.
    pub(crate) const fn stored_at(&self) -> Instant {
        self.stored_at
    }

    /// What the store holds, as far as this ownership knows.
    pub(crate) const fn stored(&self) -> &Checkpoint {
        &self.stored
    }

    /// Where settlements go.
    pub(crate) fn store(&self) -> Arc<dyn ConsumerStateStore> {
        Arc::clone(&self.store)
    }

    /// A checkpoint was stored in the transaction that handled what it covers.
    pub(crate) fn stored_elsewhere(&mut self, checkpoint: Checkpoint) {
        self.stored = checkpoint;
        self.last_write = Instant::now();
        self.stored_at = self.last_write;
    }

    /// Begins to write everything there is; `errors`: the failures to show, if they have changed; `ends`: nothing comes
    /// after it.
    pub(crate) fn begin(&mut self, (checkpoint, mark): (Checkpoint, Mark), errors: Option<ErrorHistory>, ends: bool) {
        let parts = std::mem::take(&mut self.parts);
        let mut settlement = Settlement { errors, checkpoint: Some(checkpoint.clone()), ..Settlement::default() };
        for part in parts.values() {
            match part {
                Part::DeadLetter(letter) => settlement.dead_letters.push(DeadLetter::clone(letter)),
                Part::Handled(effects) => add(&mut settlement, effects),
                Part::Resolved(event, effects) => {
                    settlement.resolved.push(*event);
                    add(&mut settlement, effects);
                }
            }
        }
        let notes = std::mem::take(&mut self.notes);
        if !notes.is_empty() {
            settlement.claims = notes.claims(self.claim_expiry);
            let wishes = notes.wishes.iter();
            settlement.parked =
                wishes.map(|(key, redrive)| ParkedWish { key: key.clone(), redrive: *redrive }).collect();
            settlement.fired.clone_from(&notes.fired);
            settlement.covered.clone_from(&notes.completed);
            settlement.attempts = notes.attempts();
        }
        settlement.ownership = ends.then_some(OwnershipMark::Ends);
        let (store, lease) = (Arc::clone(&self.store), self.lease.clone());
        let task = self.tasks.spawn(async move { store.settle(&lease, settlement).await });
        self.last_write = Instant::now();
        self.write = Some(Write { task, mark, checkpoint, parts, notes, ends });
    }

    /// The end of the write under way. Cancel-safe: the write itself goes on, and its result stays here.
    pub(crate) async fn finished(&mut self) -> Settled {
        let Some(write) = &mut self.write else { return std::future::pending().await };
        let result = (&mut write.task).await;
        let result =
            result.unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Other, "settle").caused_by(error)));
        let Some(write) = self.write.take() else { return std::future::pending().await };
        match result {
            Ok(()) => {
                self.failures = 0;
                self.not_before = None;
                self.stored_at = Instant::now();
                self.stored = write.checkpoint;
                Settled::Stored {
                    mark: write.mark,
                    deliveries: write.parts.into_keys().collect(),
                    claimed: write.notes.claimed.into_keys().collect(),
                    fired: !write.notes.fired.is_empty(),
                    recorded: write.notes.recorded,
                    ends: write.ends,
                }
            }
            Err(error) if error.kind() == StoreErrorKind::Fenced => Settled::Fenced(error),
            Err(error) => {
                // Every part is idempotent under its epoch, so an unknown outcome is repeated, not assumed.
                self.parts.extend(write.parts);
                self.notes.put_back(write.notes);
                self.failures = self.failures.saturating_add(1);
                self.not_before = Some(Instant::now() + WRITE_RETRY.backoff(self.failures, fastrand::f64()));
                Settled::Failed(error)
            }
        }
    }
}

/// Has them stored with everything else.
pub(super) fn add(settlement: &mut Settlement, effects: &Effects) {
    settlement.emitted.extend_from_slice(&effects.emitted);
    settlement.sagas.extend(effects.saga.as_deref().cloned());
    settlement.scheduled.extend_from_slice(&effects.scheduled);
}
