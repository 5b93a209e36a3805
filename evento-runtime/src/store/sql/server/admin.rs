//! The SPI of what operators ask for: which connection, and which function of the store code.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::spi::Spi;
use super::{Server, Wrap};
use crate::error::StoreError;
use crate::identity::OwnerId;
use crate::store::sql::admin;
use crate::store::{AdminStore, AuditRow, CommandAnswer, CommandRow, InstanceRow};

#[async_trait]
impl<S: Server> AdminStore for Spi<S> {
    async fn ask(&self, command: &CommandRow) -> Result<(), StoreError> {
        self.0.check_open()?;
        let command = command.clone();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { admin::ask(&mut *server.session(connection), server.sql(), &command).await })
        });
        work.await
    }

    async fn asked(&self, bundle: &str, limit: usize) -> Result<Vec<CommandRow>, StoreError> {
        let bundle = bundle.to_owned();
        let work = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { admin::asked(&mut *server.session(connection), server.sql(), &bundle, limit).await })
        });
        work.await
    }

    async fn answer(&self, id: Uuid, answer: &CommandAnswer) -> Result<(), StoreError> {
        self.0.check_open()?;
        let answer = answer.clone();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { admin::answer(&mut *server.session(connection), server.sql(), id, &answer).await })
        });
        work.await
    }

    async fn command(&self, bundle: &str, id: Uuid) -> Result<Option<CommandRow>, StoreError> {
        let bundle = bundle.to_owned();
        let work = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { admin::command(&mut *server.session(connection), server.sql(), &bundle, id).await })
        });
        work.await
    }

    async fn note(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.0.check_open()?;
        let row = row.clone();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { admin::note(&mut *server.session(connection), server.sql(), &row).await })
        });
        work.await
    }

    async fn audit(&self, bundle: &str, before: Option<Uuid>, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        let bundle = bundle.to_owned();
        let work = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                admin::audit(&mut *server.session(connection), server.sql(), &bundle, before, limit).await
            })
        });
        work.await
    }

    async fn beat(&self, bundle: &str, instance: &InstanceRow) -> Result<(), StoreError> {
        self.0.check_open()?;
        let (bundle, instance) = (bundle.to_owned(), instance.clone());
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(
                async move { admin::beat(&mut *server.session(connection), server.sql(), &bundle, &instance).await },
            )
        });
        work.await
    }

    async fn leave(&self, bundle: &str, owner: OwnerId) -> Result<(), StoreError> {
        self.0.check_open()?;
        let bundle = bundle.to_owned();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { admin::leave(&mut *server.session(connection), server.sql(), &bundle, owner).await })
        });
        work.await
    }

    async fn instances(&self, bundle: &str) -> Result<Vec<(InstanceRow, Duration)>, StoreError> {
        let bundle = bundle.to_owned();
        let work = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { admin::instances(&mut *server.session(connection), server.sql(), &bundle).await })
        });
        work.await
    }

    async fn sweep_admin(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.0.check_open()?;
        let bundle = bundle.to_owned();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(
                async move { admin::sweep_admin(&mut *server.session(connection), server.sql(), &bundle, age).await },
            )
        });
        work.await
    }
}
