//! The SPI of what operators ask for: which connection, and which function of the store code.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::{SQL, SqliteStore, group};
use crate::error::StoreError;
use crate::identity::OwnerId;
use crate::store::sql::admin;
use crate::store::{AdminStore, AuditRow, CommandAnswer, CommandRow, InstanceRow};

#[async_trait]
impl AdminStore for SqliteStore {
    async fn ask(&self, command: &CommandRow) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let command = command.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::ask(session, &SQL, &command).await })
        });
        work.await
    }

    async fn asked(&self, bundle: &str, limit: usize) -> Result<Vec<CommandRow>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { admin::asked(session, &SQL, &bundle, limit).await }));
        read.await
    }

    async fn answer(&self, id: Uuid, answer: &CommandAnswer) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let answer = answer.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::answer(session, &SQL, id, &answer).await })
        });
        work.await
    }

    async fn command(&self, bundle: &str, id: Uuid) -> Result<Option<CommandRow>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { admin::command(session, &SQL, &bundle, id).await }));
        read.await
    }

    async fn note(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let row = row.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::note(session, &SQL, &row).await })
        });
        work.await
    }

    async fn audit(&self, bundle: &str, before: Option<Uuid>, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { admin::audit(session, &SQL, &bundle, before, limit).await }));
        read.await
    }

    async fn beat(&self, bundle: &str, instance: &InstanceRow) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let (bundle, instance) = (bundle.to_owned(), instance.clone());
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::beat(session, &SQL, &bundle, &instance).await })
        });
        work.await
    }

    async fn leave(&self, bundle: &str, owner: OwnerId) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let bundle = bundle.to_owned();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::leave(session, &SQL, &bundle, owner).await })
        });
        work.await
    }

    async fn instances(&self, bundle: &str) -> Result<Vec<(InstanceRow, Duration)>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { admin::instances(session, &SQL, &bundle).await }));
        read.await
    }

    async fn sweep_admin(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.inner.check_open()?;
        let bundle = bundle.to_owned();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { admin::sweep_admin(session, &SQL, &bundle, age).await })
        });
        work.await
    }
}
