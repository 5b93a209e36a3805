//! Everything in memory: for tests, and for what may be forgotten.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{
    Checkpoint, CloseStore, ConsumerLock, ConsumerState, ConsumerStateStore, DeadEventQueue, DeadLetter, ErrorHistory,
    Lease, LetterFilter, MAX_ERROR_TEXT, Settlement, Store, StoreConfig, StoredDeadLetter, Stores, fit_text,
};
use crate::clock::{Clock, SystemClock};
use crate::deps::{Deps, Need};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{EventId, Position, StoredEvent};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::source::memory::Log;
use crate::source::{
    Append, Appended, Batch, EventFilter, EventSource, EventStore, FetchLimits, PositionCheck, foreign_position,
};
use crate::sync::{Mutex, lock};

/// Configuration of a new, empty store in memory. What it holds ends with the bundle.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Memory {}

impl Memory {
    /// A new, empty store.
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }

    /// Opens it, to be given to several bundles, or looked at after a bundle has stopped.
    #[must_use]
    pub fn open(self) -> MemoryStore {
        MemoryStore::new()
    }
}

/// An open store in memory. Clones, and the bundles it is given to, share what it holds; every bundle is an owner of
/// its own. Leases last ten seconds of tokio's clock.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    owner: OwnerId,
}

struct Shared {
    data: Mutex<Data>,
    wake: watch::Sender<u64>,
}

#[derive(Default)]
struct Data {
    log: Log,
    consumers: BTreeMap<ConsumerId, Row>,
}

/// One consumer; the epoch outlives `forget`.
#[derive(Default)]
struct Row {
    epoch: Epoch,
    held: Option<Held>,
    kept: Option<Kept>,
}

struct Held {
    owner: OwnerId,
    epoch: Epoch,
    until: Instant,
}

struct Kept {
    enabled: bool,
    started: bool,
    errors: ErrorHistory,
    checkpoint: Option<(Epoch, Checkpoint)>,
    letters: HashMap<EventId, Letter>,
}

struct Letter {
    letter: DeadLetter,
    requested: bool,
    resolved: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            enabled: true,
            started: false,
            errors: ErrorHistory::default(),
            checkpoint: None,
            letters: HashMap::new(),
        }
    }
}

const LEASE: Duration = Duration::from_secs(10);
const NAME: &str = "memory";

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// A new, empty store.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared { data: Mutex::default(), wake: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), owner: OwnerId::generate() }
    }

    /// Log and SPIs, under an owner of its own.
    #[must_use]
    pub fn store(&self) -> Store {
        let own = Arc::new(Self { shared: Arc::clone(&self.shared), owner: OwnerId::generate() });
        Store {
            events: Arc::clone(&own) as Arc<dyn EventStore>,
            stores: Stores {
                state: Arc::clone(&own) as Arc<dyn ConsumerStateStore>,
                lock: Arc::clone(&own) as Arc<dyn ConsumerLock>,
                dead_letters: Arc::clone(&own) as _,
                sagas: Arc::clone(&own) as _,
                claims: own,
            },
            supplied: Deps::default(),
            close: None,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Data) -> T) -> T {
        work(&mut lock(&self.shared.data))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[async_trait]
impl StoreConfig for Memory {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let store = MemoryStore::new();
        Ok(Store { close: Some(Arc::new(store.clone())), ..store.store() })
    }
}

#[async_trait]
impl StoreConfig for MemoryStore {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok(self.store())
    }
}

#[async_trait]
impl CloseStore for MemoryStore {
    async fn close(&self) {}
}

#[async_trait]
impl EventSource for MemoryStore {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        if let Some(foreign) = after.filter(|after| after.as_u64().is_none()) {
            return Err(foreign_position(NAME, foreign));
        }
        Ok(self.with(|data| data.log.fetch(after, limits, filter)))
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.with(|data| data.log.read_exact(positions)))
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        Ok(self.with(|data| data.log.head()))
    }

    async fn before(&self, _: crate::event::Timestamp) -> Result<Option<Position>, StoreError> {
        Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        Ok(self.with(|data| data.log.validate(position)))
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.shared.wake.subscribe()
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        let appended = self.with(|data| data.log.append(&batch, SystemClock.now()))?;
        if !appended.known {
            self.shared.wake.send_modify(|count| *count = count.wrapping_add(1));
        }
        Ok(appended)
    }
}

#[async_trait]
impl ConsumerStateStore for MemoryStore {
    fn atomic(&self) -> bool {
        true
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        Ok(self.with(|data| {
            let started = data
                .consumers
                .iter()
                .filter(|(id, _)| is_version(id, &consumer.bundle, &consumer.component, consumer.version))
                .any(|(_, row)| row.kept.as_ref().is_some_and(|kept| kept.started));
            let Some(row) = data.consumers.get(consumer) else {
                return ConsumerState { started, ..ConsumerState::default() };
            };
            let Some(kept) = &row.kept else {
                return ConsumerState { started, epoch: row.epoch, ..ConsumerState::default() };
            };
            ConsumerState {
                checkpoint: kept.checkpoint.as_ref().map(|(_, checkpoint)| checkpoint.clone()),
                epoch: row.epoch,
                enabled: kept.enabled,
                started,
                errors: kept.errors.clone(),
                ..ConsumerState::default()
            }
        }))
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let emitted = self.with(|data| {
            let row = data.consumers.entry(lease.consumer.clone()).or_default();
            if lease.epoch < row.epoch {
                return Err(fenced(lease));
            }
            row.epoch = lease.epoch;
            let kept = row.kept.get_or_insert_default();
            for letter in settlement.dead_letters {
                kept.add(letter);
            }
            for event in settlement.resolved {
                if let Some(letter) = kept.letters.get_mut(&event) {
                    (letter.resolved, letter.requested) = (true, false);
                }
            }
            if let Some(errors) = settlement.errors {
                kept.errors = errors;
            }
            kept.started |= settlement.started;
            if let Some(checkpoint) = settlement.checkpoint {
                let back = kept.checkpoint.as_ref().is_some_and(|(epoch, stored)| {
                    *epoch == lease.epoch
                        && (checkpoint.watermark < stored.watermark || checkpoint.reach < stored.reach)
                });
                if !back {
                    kept.checkpoint = Some((lease.epoch, checkpoint));
                }
            }
            Ok(data.log.emit(settlement.emitted, SystemClock.now()))
        })?;
        if emitted {
            self.shared.wake.send_modify(|count| *count = count.wrapping_add(1));
        }
        Ok(())
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.with(|data| {
            let row = data.consumers.entry(consumer.clone()).or_default();
            row.kept.get_or_insert_default().enabled = enabled;
        });
        Ok(())
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        Ok(self.with(|data| {
            let of_bundle = data.consumers.iter().filter(|(id, _)| &*id.bundle == bundle);
            let paused = of_bundle.filter(|(_, row)| row.kept.as_ref().is_some_and(|kept| !kept.enabled));
            paused.map(|(id, _)| id.clone()).collect()
        }))
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        Ok(self.with(|data| {
            let of_bundle = data.consumers.iter().filter(|(id, row)| &*id.bundle == bundle && row.kept.is_some());
            of_bundle.map(|(id, _)| id.clone()).collect()
        }))
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.with(|data| {
            let now = SystemClock.instant();
            let meant = |id: &ConsumerId| is_version(id, bundle, component, version);
            if let Some((id, _)) = data.consumers.iter().find(|(id, row)| meant(id) && row.is_held(now)) {
                return Err(StoreError::new(StoreErrorKind::Busy, NAME).detail(format!("`{id}` is owned right now")));
            }
            let rows = data.consumers.iter_mut().filter(|(id, _)| meant(id));
            Ok(rows.filter_map(|(_, row)| row.kept.take()).count())
        })
    }
}

#[async_trait]
impl ConsumerLock for MemoryStore {
    fn owner(&self) -> OwnerId {
        self.owner
    }

    fn lease_duration(&self) -> Duration {
        LEASE
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        Ok(self.with(|data| {
            let now = SystemClock.instant();
            let row = data.consumers.entry(consumer.clone()).or_default();
            if row.is_held(now) {
                return None;
            }
            row.epoch = Epoch(row.epoch.max(above).0.saturating_add(1));
            row.held = Some(Held { owner: self.owner, epoch: row.epoch, until: now + LEASE });
            Some(Lease { consumer: consumer.clone(), owner: self.owner, epoch: row.epoch })
        }))
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        Ok(self.with(|data| {
            let until = SystemClock.instant() + LEASE;
            let renew = |lease: &Lease| {
                let row = data.consumers.get_mut(&lease.consumer).filter(|_| lease.owner == self.owner);
                let held = row.and_then(|row| row.of(lease));
                held.map(|held| held.until = until).is_some()
            };
            leases.iter().map(renew).collect()
        }))
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.with(|data| {
            if let Some(row) = data.consumers.get_mut(&lease.consumer)
                && row.of(lease).is_some()
            {
                row.held = None;
            }
        });
        Ok(())
    }
}

#[async_trait]
impl DeadEventQueue for MemoryStore {
    async fn list(
        &self,
        consumer: &ConsumerId,
        _which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let wanted = |letter: &Letter| after.is_none_or(|after| letter.letter.event.position > *after);
        Ok(self.with(|data| letters(data, consumer, wanted, limit)))
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        Ok(self.with(|data| {
            let kept = data.consumers.get_mut(consumer).and_then(|row| row.kept.as_mut());
            let letters = kept.into_iter().flat_map(|kept| kept.letters.values_mut());
            let mut marked = 0;
            for letter in letters.filter(|letter| !letter.resolved && which.matches(&letter.letter)) {
                letter.requested = true;
                marked += 1;
            }
            marked
        }))
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        Ok(self.with(|data| letters(data, consumer, |letter| letter.requested, limit)))
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        Ok(self.with(|data| {
            let of_bundle = data.consumers.iter().filter(|(id, _)| &*id.bundle == bundle);
            let wanted = of_bundle.filter(|(_, row)| {
                row.kept.as_ref().is_some_and(|kept| kept.letters.values().any(|letter| letter.requested))
            });
            wanted.map(|(id, _)| id.clone()).collect()
        }))
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        Ok(self.with(|data| {
            let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
            let unresolved = kept.into_iter().flat_map(|kept| kept.letters.values()).filter(|letter| !letter.resolved);
            u64::try_from(unresolved.count()).unwrap_or(u64::MAX)
        }))
    }
}

/// Unresolved ones, oldest first.
fn letters(
    data: &Data,
    consumer: &ConsumerId,
    wanted: impl Fn(&Letter) -> bool,
    limit: usize,
) -> Vec<StoredDeadLetter> {
    let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
    let letters = kept.into_iter().flat_map(|kept| kept.letters.values());
    let mut letters: Vec<&Letter> = letters.filter(|letter| !letter.resolved && wanted(letter)).collect();
    letters.sort_by(|a, b| {
        let (a, b) = (&a.letter.event, &b.letter.event);
        (&a.position, a.id).cmp(&(&b.position, b.id))
    });
    let stored = |letter: &Letter| StoredDeadLetter {
        consumer: consumer.clone(),
        letter: letter.letter.clone(),
        requested: letter.requested,
    };
    letters.into_iter().take(limit).map(stored).collect()
}

impl Row {
    fn is_held(&self, now: Instant) -> bool {
        self.held.as_ref().is_some_and(|held| held.until > now)
    }

    /// The ownership a lease stands for, if it is still the current one.
    fn of(&mut self, lease: &Lease) -> Option<&mut Held> {
        self.held.as_mut().filter(|held| held.owner == lease.owner && held.epoch == lease.epoch)
    }
}

impl Kept {
    fn add(&mut self, mut letter: DeadLetter) {
        letter.error = fit_text(letter.error, MAX_ERROR_TEXT);
        letter.handler = fit_text(letter.handler, MAX_ERROR_TEXT);
        if let Some(stored) = self.letters.get(&letter.event.id) {
            letter.attempts = letter.attempts.saturating_add(stored.letter.attempts);
            letter.first_failed_at = stored.letter.first_failed_at;
        }
        self.letters.insert(letter.event.id, Letter { letter, requested: false, resolved: false });
    }
}

fn is_version(id: &ConsumerId, bundle: &str, component: &str, version: u32) -> bool {
    &*id.bundle == bundle && &*id.component == component && id.version == version
}

fn fenced(lease: &Lease) -> StoreError {
    StoreError::new(StoreErrorKind::Fenced, NAME).detail(format!("`{}`, epoch {}", lease.consumer, lease.epoch))
}

pending!(MemoryStore);
