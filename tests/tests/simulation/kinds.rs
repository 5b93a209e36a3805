//! What sagas and observers read of the store, as faulty as every other call.

use std::time::Duration;

use evento_runtime::async_trait;
use evento_runtime::error::StoreError;
use evento_runtime::event::EventId;
use evento_runtime::identity::ConsumerId;
use evento_runtime::store::{
    Association, ClaimState, DedupeStore, SagaFound, SagaId, SagaInstance, SagaStateStore, Timer,
};

use crate::planted::Plant;
use crate::spi::Spi;

#[async_trait]
impl SagaStateStore for Spi {
    async fn find(
        &self,
        consumer: &ConsumerId,
        association: &Association,
        begun: SagaId,
    ) -> Result<SagaFound, StoreError> {
        self.call("find", self.0.store.stores.sagas.find(consumer, association, begun)).await
    }

    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError> {
        self.call("instances", self.0.store.stores.sagas.instances(consumer, after, limit)).await
    }

    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError> {
        self.call("timers", self.0.store.stores.sagas.timers(consumer, limit)).await
    }

    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.call("sweep_ended", self.0.store.stores.sagas.sweep_ended(bundle, age)).await
    }
}

#[async_trait]
impl DedupeStore for Spi {
    async fn claims(
        &self,
        consumer: &ConsumerId,
        events: &[EventId],
    ) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
        let mut claims = self.call("claims", self.0.store.stores.claims.claims(consumer, events)).await?;
        if self.0.world.plant == Some(Plant::ClaimForEver) {
            for (_, state) in &mut claims {
                if let ClaimState::Held { remaining, .. } = state {
                    *remaining = Duration::from_hours(24);
                }
            }
        }
        Ok(claims)
    }

    async fn sweep_claims(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.call("sweep_claims", self.0.store.stores.claims.sweep_claims(bundle, age)).await
    }
}
