//! The SPIs of sagas and observers: which connection, and which function of the store code.

use std::time::Duration;

use async_trait::async_trait;

use super::{SQL, SqliteStore, group};
use crate::error::StoreError;
use crate::event::EventId;
use crate::identity::ConsumerId;
use crate::store::sql::{claim, saga, timer};
use crate::store::{Association, ClaimState, DedupeStore, SagaFound, SagaId, SagaInstance, SagaStateStore, Timer};

impl SqliteStore {
    async fn sweep(&self, statement: &'static str, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.inner.check_open()?;
        let mut swept = 0;
        loop {
            let bundle = bundle.to_owned();
            let work = group::write(&self.inner.shared, move |session| {
                Box::pin(async move { claim::sweep(session, statement, &bundle, age).await })
            });
            let rows = work.await?;
            swept += rows;
            if rows < claim::SWEPT {
                return Ok(swept);
            }
        }
    }
}

#[async_trait]
impl SagaStateStore for SqliteStore {
    async fn find(
        &self,
        consumer: &ConsumerId,
        association: &Association,
        begun: SagaId,
    ) -> Result<SagaFound, StoreError> {
        let (consumer, association) = (consumer.clone(), association.clone());
        let read = self.inner.readers.read(move |session| {
            Box::pin(async move { saga::find(session, &SQL, &consumer, &association, begun).await })
        });
        read.await
    }

    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { saga::list(session, &SQL, &consumer, after, limit).await }));
        read.await
    }

    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { timer::list(session, &SQL, &consumer, limit).await }));
        read.await
    }

    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.sweep(SQL.sagas.sweep, bundle, age).await
    }
}

#[async_trait]
impl DedupeStore for SqliteStore {
    async fn claims(
        &self,
        consumer: &ConsumerId,
        events: &[EventId],
    ) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
        let (consumer, events) = (consumer.clone(), events.to_vec());
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { claim::find(session, &SQL, &consumer, &events).await }));
        read.await
    }

    async fn sweep_claims(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.sweep(SQL.claims.sweep, bundle, age).await
    }
}
