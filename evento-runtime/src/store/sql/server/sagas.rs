//! The SPIs of sagas and observers: which connection, and which function of the store code.

use std::time::Duration;

use async_trait::async_trait;

use super::spi::Spi;
use super::{Server, Wrap};
use crate::error::StoreError;
use crate::event::EventId;
use crate::identity::ConsumerId;
use crate::store::sql::statements::Statements;
use crate::store::sql::{claim, saga, timer};
use crate::store::{Association, ClaimState, DedupeStore, SagaFound, SagaId, SagaInstance, SagaStateStore, Timer};

impl<S: Server> Spi<S> {
    async fn sweep(
        &self,
        statement: fn(&Statements) -> &'static str,
        bundle: &str,
        age: Duration,
    ) -> Result<u64, StoreError> {
        self.0.check_open()?;
        let mut swept = 0;
        loop {
            let bundle = bundle.to_owned();
            let sweep = self.0.writers.run(Wrap::Bare, move |server, connection| {
                let statement = statement(server.sql());
                Box::pin(async move { claim::sweep(&mut *server.session(connection), statement, &bundle, age).await })
            });
            let rows = sweep.await?;
            swept += rows;
            if rows < claim::SWEPT {
                return Ok(swept);
            }
        }
    }
}

#[async_trait]
impl<S: Server> SagaStateStore for Spi<S> {
    async fn find(
        &self,
        consumer: &ConsumerId,
        association: &Association,
        begun: SagaId,
    ) -> Result<SagaFound, StoreError> {
        let (consumer, association) = (consumer.clone(), association.clone());
        let find = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                saga::find(&mut *server.session(connection), server.sql(), &consumer, &association, begun).await
            })
        });
        find.await
    }

    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError> {
        let consumer = consumer.clone();
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                saga::list(&mut *server.session(connection), server.sql(), &consumer, after, limit).await
            })
        });
        list.await
    }

    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError> {
        let consumer = consumer.clone();
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { timer::list(&mut *server.session(connection), server.sql(), &consumer, limit).await })
        });
        list.await
    }

    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.sweep(|sql| sql.sagas.sweep, bundle, age).await
    }
}

#[async_trait]
impl<S: Server> DedupeStore for Spi<S> {
    async fn claims(
        &self,
        consumer: &ConsumerId,
        events: &[EventId],
    ) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
        let (consumer, events) = (consumer.clone(), events.to_vec());
        let find = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(
                async move { claim::find(&mut *server.session(connection), server.sql(), &consumer, &events).await },
            )
        });
        find.await
    }

    async fn sweep_claims(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.sweep(|sql| sql.claims.sweep, bundle, age).await
    }
}
