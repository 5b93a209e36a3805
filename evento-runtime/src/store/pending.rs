//! Stands in until the stores know sagas and claims.
macro_rules! pending {
    ($ty:ty $(, $s:ident: $b:ident)?) => {
        #[async_trait]
        impl$(<$s: $b>)? crate::store::SagaStateStore for $ty {
            async fn find(&self, _: &ConsumerId, _: &crate::store::Association, _: crate::store::SagaId) -> Result<crate::store::SagaFound, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
            async fn instances(&self, _: &ConsumerId, _: Option<crate::store::SagaId>, _: usize) -> Result<Vec<crate::store::SagaInstance>, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
            async fn timers(&self, _: &ConsumerId, _: usize) -> Result<Vec<crate::store::Timer>, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
            async fn sweep_ended(&self, _: &str, _: Duration) -> Result<u64, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
        }
        #[async_trait]
        impl$(<$s: $b>)? crate::store::DedupeStore for $ty {
            async fn claims(&self, _: &ConsumerId, _: &[crate::event::EventId]) -> Result<Vec<(crate::event::EventId, crate::store::ClaimState)>, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
            async fn sweep_claims(&self, _: &str, _: Duration) -> Result<u64, StoreError> {
                Err(StoreError::new(crate::error::StoreErrorKind::Other, "pending"))
            }
        }
    };
}
