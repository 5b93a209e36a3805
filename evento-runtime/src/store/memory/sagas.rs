//! Saga instances and timers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use super::{MemoryStore, NAME};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::{EventId, Position};
use crate::identity::ConsumerId;
use crate::source::PreparedEvent;
use crate::store::{Association, SagaChange, SagaFound, SagaId, SagaInstance, SagaStateStore, Timer};

/// Those of a consumer.
#[derive(Default)]
pub(super) struct Sagas {
    instances: BTreeMap<SagaId, Instance>,
    /// The live instance that is found by each.
    found_by: HashMap<Association, SagaId>,
    timers: HashMap<EventId, Timer>,
}

enum Instance {
    Live { state: Bytes, associations: BTreeSet<Association>, applied: Position },
    Ended(Instant),
}

impl Sagas {
    /// Refuses changes of which one would let two live instances be found by the same. Changes nothing.
    pub(super) fn check(&self, changes: &[SagaChange]) -> Result<(), StoreError> {
        // What the changes before the one that is looked at have made of it.
        let mut holders: HashMap<&Association, Option<SagaId>> = HashMap::new();
        let mut held: HashMap<SagaId, Option<Vec<&Association>>> = HashMap::new();
        for change in changes {
            let before = match (held.remove(&change.id), self.instances.get(&change.id)) {
                (Some(None), _) | (None, Some(Instance::Ended(_))) => {
                    held.insert(change.id, None);
                    continue;
                }
                (Some(Some(associations)), _) => associations,
                (None, Some(Instance::Live { associations, .. })) => associations.iter().collect(),
                (None, None) => Vec::new(),
            };
            holders.extend(before.into_iter().map(|association| (association, None)));
            if change.state.is_none() {
                held.insert(change.id, None);
                continue;
            }
            for association in &change.associations {
                let stored = || self.found_by.get(association).copied();
                let holder = holders.get(association).copied().unwrap_or_else(stored);
                if holder.is_some_and(|holder| holder != change.id) {
                    return Err(conflict(change.id, association));
                }
                holders.insert(association, Some(change.id));
            }
            held.insert(change.id, Some(change.associations.iter().collect()));
        }
        Ok(())
    }

    /// Applies changes that were [checked](Self::check).
    pub(super) fn change(&mut self, changes: Vec<SagaChange>) {
        for change in changes {
            match self.instances.get(&change.id) {
                Some(Instance::Ended(_)) => continue,
                Some(Instance::Live { associations, .. }) => {
                    for association in associations {
                        self.found_by.remove(association);
                    }
                }
                None => {}
            }
            let instance = match change.state {
                Some(state) => {
                    let associations: BTreeSet<Association> = change.associations.into_iter().collect();
                    self.found_by.extend(associations.iter().cloned().map(|association| (association, change.id)));
                    Instance::Live { state, associations, applied: change.applied }
                }
                None => {
                    self.timers.retain(|_, timer| timer.saga != change.id);
                    Instance::Ended(SystemClock.instant())
                }
            };
            self.instances.insert(change.id, instance);
        }
    }

    /// Keeps timers of live instances, each unless it is kept already.
    pub(super) fn schedule(&mut self, timers: Vec<Timer>) {
        for timer in timers {
            if matches!(self.instances.get(&timer.saga), Some(Instance::Live { .. })) {
                self.timers.entry(timer.event.id).or_insert(timer);
            }
        }
    }

    /// Removes timers; answers the events of those that were there.
    pub(super) fn fire(&mut self, fired: Vec<PreparedEvent>) -> Vec<PreparedEvent> {
        fired.into_iter().filter(|event| self.timers.remove(&event.id).is_some()).collect()
    }

    fn live(&self, id: SagaId) -> Option<SagaInstance> {
        let Some(Instance::Live { state, associations, applied }) = self.instances.get(&id) else { return None };
        Some(SagaInstance::new(id, state.clone(), associations.iter().cloned().collect(), applied.clone()))
    }
}

fn conflict(id: SagaId, association: &Association) -> StoreError {
    let property = association.property();
    let detail = format!("another live instance is found by what saga {id} is to be found by: `{property}`");
    StoreError::new(StoreErrorKind::Conflict, NAME).detail(detail)
}

impl MemoryStore {
    fn sagas<T: Default>(&self, consumer: &ConsumerId, read: impl FnOnce(&Sagas) -> T) -> T {
        self.with(|data| {
            let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
            kept.map(|kept| read(&kept.sagas)).unwrap_or_default()
        })
    }
}

#[async_trait]
impl SagaStateStore for MemoryStore {
    async fn find(
        &self,
        consumer: &ConsumerId,
        association: &Association,
        begun: SagaId,
    ) -> Result<SagaFound, StoreError> {
        let found = self.sagas(consumer, |sagas| {
            if let Some(instance) = sagas.found_by.get(association).and_then(|id| sagas.live(*id)) {
                return Some(SagaFound::Live(instance));
            }
            sagas.instances.contains_key(&begun).then_some(SagaFound::Begun)
        });
        Ok(found.unwrap_or(SagaFound::Unknown))
    }

    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError> {
        Ok(self.sagas(consumer, |sagas| {
            let ids = sagas.instances.keys().filter(|id| after.is_none_or(|after| **id > after));
            ids.filter_map(|id| sagas.live(*id)).take(limit).collect()
        }))
    }

    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError> {
        Ok(self.sagas(consumer, |sagas| {
            let mut timers: Vec<&Timer> = sagas.timers.values().collect();
            timers.sort_by_key(|timer| (timer.due_at, timer.event.id));
            timers.into_iter().take(limit).cloned().collect()
        }))
    }

    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        let now = SystemClock.instant();
        Ok(self.with(|data| {
            let mut swept = 0;
            for kept in data.kept_of(bundle) {
                let before = kept.sagas.instances.len();
                kept.sagas.instances.retain(|_, instance| match instance {
                    Instance::Live { .. } => true,
                    Instance::Ended(at) => now.saturating_duration_since(*at) < age,
                });
                swept += before - kept.sagas.instances.len();
            }
            u64::try_from(swept).unwrap_or(u64::MAX)
        }))
    }
}
