//! Commands, audit, instances.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use uuid::Uuid;

use super::MemoryStore;
use crate::clock::{Clock, SystemClock};
use crate::error::StoreError;
use crate::event::Timestamp;
use crate::identity::OwnerId;
use crate::store::{AdminStore, AuditRow, CommandAnswer, CommandRow, InstanceRow};

/// What is kept of all bundles.
#[derive(Default)]
pub(super) struct Admin {
    commands: BTreeMap<Uuid, CommandRow>,
    audit: BTreeMap<Uuid, AuditRow>,
    instances: BTreeMap<(String, Uuid), (InstanceRow, Instant)>,
}

#[async_trait]
impl AdminStore for MemoryStore {
    async fn ask(&self, command: &CommandRow) -> Result<(), StoreError> {
        self.with(|data| {
            data.admin.commands.entry(command.id).or_insert_with(|| command.clone());
        });
        Ok(())
    }

    async fn asked(&self, bundle: &str, limit: usize) -> Result<Vec<CommandRow>, StoreError> {
        Ok(self.with(|data| {
            let commands = data.admin.commands.values();
            let open = commands.filter(|command| &*command.consumer.bundle == bundle && command.answer.is_none());
            open.take(limit).cloned().collect()
        }))
    }

    async fn answer(&self, id: Uuid, answer: &CommandAnswer) -> Result<(), StoreError> {
        self.with(|data| {
            if let Some(command) = data.admin.commands.get_mut(&id) {
                command.answer.get_or_insert_with(|| answer.clone().fit());
            }
        });
        Ok(())
    }

    async fn command(&self, bundle: &str, id: Uuid) -> Result<Option<CommandRow>, StoreError> {
        let found = self.with(|data| data.admin.commands.get(&id).cloned());
        Ok(found.filter(|command| &*command.consumer.bundle == bundle))
    }

    async fn note(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.with(|data| {
            let stored = data.admin.audit.entry(row.id).or_insert_with(|| row.clone().fit());
            stored.result = row.clone().fit().result;
        });
        Ok(())
    }

    async fn audit(&self, bundle: &str, before: Option<Uuid>, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        Ok(self.with(|data| {
            let rows = data.admin.audit.range(..before.unwrap_or(Uuid::max())).rev().map(|(_, row)| row);
            rows.filter(|row| row.bundle == bundle).take(limit).cloned().collect()
        }))
    }

    async fn beat(&self, bundle: &str, instance: &InstanceRow) -> Result<(), StoreError> {
        let key = (bundle.to_owned(), *instance.owner.as_uuid());
        self.with(|data| data.admin.instances.insert(key, (instance.clone(), Instant::now())));
        Ok(())
    }

    async fn leave(&self, bundle: &str, owner: OwnerId) -> Result<(), StoreError> {
        self.with(|data| data.admin.instances.remove(&(bundle.to_owned(), *owner.as_uuid())));
        Ok(())
    }

    async fn instances(&self, bundle: &str) -> Result<Vec<(InstanceRow, Duration)>, StoreError> {
        let mut found: Vec<_> = self.with(|data| {
            let of_bundle = data.admin.instances.iter().filter(|((of, _), _)| of == bundle);
            of_bundle.map(|(_, (instance, seen))| (instance.clone(), seen.elapsed())).collect()
        });
        found.sort_by_key(|(instance, _)| (instance.started_at, *instance.owner.as_uuid()));
        Ok(found)
    }

    async fn sweep_admin(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        let now = SystemClock.now().as_micros();
        let old = Timestamp::from_micros(now.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)));
        Ok(self.with(|data| {
            let admin = &mut data.admin;
            let count = |admin: &Admin| admin.commands.len() + admin.audit.len() + admin.instances.len();
            let before = count(admin);
            admin.commands.retain(|_, command| &*command.consumer.bundle != bundle || command.asked_at > old);
            admin.audit.retain(|_, row| row.bundle != bundle || row.at > old);
            admin.instances.retain(|(of, _), (_, seen)| of != bundle || seen.elapsed() < age);
            u64::try_from(before - count(admin)).unwrap_or(u64::MAX)
        }))
    }
}
