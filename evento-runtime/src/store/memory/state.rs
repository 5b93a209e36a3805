//! Checkpoints, flags, ownership: one row per consumer.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::claims::Claimed;
use super::letters::Letter;
use super::sagas::Sagas;
use super::{MemoryStore, NAME};
use crate::clock::{Clock, SystemClock};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::{EventId, Position};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::source::LogId;
use crate::store::{
    Checkpoint, ConsumerLock, ConsumerState, ConsumerStateStore, ErrorHistory, Lease, OwnershipMark, RecordedAttempt,
    Settlement,
};

const LEASE: Duration = Duration::from_secs(10);

/// One consumer; the epoch outlives `forget`.
#[derive(Default)]
pub(super) struct Row {
    epoch: Epoch,
    held: Option<Held>,
    pub(super) kept: Option<Kept>,
}

struct Held {
    owner: OwnerId,
    epoch: Epoch,
    until: Instant,
}

/// What `forget` drops.
pub(super) struct Kept {
    enabled: bool,
    begun: u64,
    started: bool,
    resetting: bool,
    replay_to: Option<Position>,
    errors: ErrorHistory,
    checkpoint: Option<(Epoch, Checkpoint)>,
    pub(super) letters: HashMap<EventId, Letter>,
    pub(super) sagas: Sagas,
    pub(super) claims: HashMap<EventId, Claimed>,
    attempts: BTreeMap<Position, u32>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            enabled: true,
            begun: 0,
            started: false,
            resetting: false,
            replay_to: None,
            errors: ErrorHistory::default(),
            checkpoint: None,
            letters: HashMap::new(),
            sagas: Sagas::default(),
            claims: HashMap::new(),
            attempts: BTreeMap::new(),
        }
    }
}

#[async_trait]
impl ConsumerStateStore for MemoryStore {
    fn atomic(&self) -> bool {
        true
    }

    fn emits_into(&self) -> Option<LogId> {
        Some(self.log())
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
                begun: kept.begun,
                started,
                resetting: kept.resetting,
                replay_to: kept.replay_to.clone(),
                errors: kept.errors.clone(),
            }
        }))
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let emitted = self.with(|data| {
            let row = data.consumers.entry(lease.consumer.clone()).or_default();
            if lease.epoch < row.epoch {
                return Err(fenced(lease));
            }
            let rereads = settlement.checkpoint.as_ref().filter(|_| settlement.rereads);
            if let (Some(checkpoint), Some(pruned)) = (rereads, data.log.pruned())
                && checkpoint.watermark.as_ref() < Some(&pruned)
            {
                let detail = format!("everything up to position {pruned}");
                return Err(StoreError::new(StoreErrorKind::Pruned, NAME).detail(detail));
            }
            // Whatever is refused leaves nothing behind.
            if let Some(kept) = &row.kept {
                kept.sagas.check(&settlement.sagas)?;
            } else {
                Sagas::default().check(&settlement.sagas)?;
            }
            row.epoch = lease.epoch;
            let kept = row.kept.get_or_insert_default();
            for letter in settlement.dead_letters {
                kept.add(letter);
            }
            for event in settlement.resolved {
                if let Some(letter) = kept.letters.get_mut(&event) {
                    letter.resolve(SystemClock.now());
                }
            }
            settlement.parked.iter().for_each(|wish| kept.wish(wish));
            kept.sagas.change(settlement.sagas);
            kept.sagas.schedule(settlement.scheduled);
            let fired = kept.sagas.fire(settlement.fired);
            kept.claim(lease.owner, &settlement.claims);
            kept.note_attempts(settlement.ownership, settlement.forget_attempts, settlement.attempts);
            if let Some(errors) = settlement.errors {
                kept.errors = errors;
            }
            kept.started |= settlement.started;
            kept.resetting = settlement.resetting.unwrap_or(kept.resetting);
            if let Some(replay_to) = settlement.replay_to {
                kept.replay_to = Some(replay_to);
            }
            if let Some(checkpoint) = settlement.checkpoint {
                let back = kept.checkpoint.as_ref().is_some_and(|(epoch, stored)| {
                    *epoch == lease.epoch
                        && (checkpoint.watermark < stored.watermark || checkpoint.reach < stored.reach)
                });
                if !back {
                    kept.checkpoint = Some((lease.epoch, checkpoint));
                }
            }
            let appended = settlement.emitted.into_iter().chain(fired).collect();
            Ok(data.log.emit(appended, SystemClock.now()))
        })?;
        if emitted {
            self.shared.wake.send_modify(|count| *count = count.wrapping_add(1));
        }
        Ok(())
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        Ok(self.with(|data| {
            let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
            let recorded = kept.into_iter().flat_map(|kept| &kept.attempts);
            recorded
                .map(|(position, attempts)| RecordedAttempt { position: position.clone(), attempts: *attempts })
                .collect()
        }))
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

    async fn owners(&self, bundle: &str) -> Result<Vec<Lease>, StoreError> {
        let now = Instant::now();
        Ok(self.with(|data| {
            let held = |(id, row): (&ConsumerId, &Row)| {
                let held = row.held.as_ref().filter(|held| held.until > now && &*id.bundle == bundle)?;
                Some(Lease { consumer: id.clone(), owner: held.owner, epoch: held.epoch })
            };
            data.consumers.iter().filter_map(held).collect()
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

impl Kept {
    /// How far its consumer has come.
    pub(super) fn watermark(&self) -> Option<&Position> {
        self.checkpoint.as_ref().and_then(|(_, checkpoint)| checkpoint.watermark.as_ref())
    }

    fn note_attempts(&mut self, mark: Option<OwnershipMark>, forget: bool, attempts: Vec<RecordedAttempt>) {
        match mark {
            Some(OwnershipMark::Begins) => self.begun = self.begun.saturating_add(1),
            Some(OwnershipMark::Ends) => self.begun = 0,
            None => {}
        }
        if forget || mark == Some(OwnershipMark::Ends) {
            self.attempts.clear();
        }
        for RecordedAttempt { position, attempts } in attempts {
            match attempts {
                0 => self.attempts.remove(&position),
                attempts => self.attempts.insert(position, attempts),
            };
        }
    }
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

fn is_version(id: &ConsumerId, bundle: &str, component: &str, version: u32) -> bool {
    &*id.bundle == bundle && &*id.component == component && id.version == version
}

fn fenced(lease: &Lease) -> StoreError {
    StoreError::new(StoreErrorKind::Fenced, NAME).detail(format!("`{}`, epoch {}", lease.consumer, lease.epoch))
}
