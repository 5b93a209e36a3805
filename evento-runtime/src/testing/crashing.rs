//! A store whose process dies at a settlement: what handlers did is done, and nothing says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use tokio::sync::Notify;

use crate::deps::Need;
use crate::error::StoreError;
use crate::identity::ConsumerId;
use crate::store::{ConsumerState, ConsumerStateStore, Lease, RecordedAttempt, Settlement, Store, StoreConfig, Stores};

/// The death of one process.
pub(super) struct Death {
    /// Settlements with a checkpoint that are still stored.
    left: AtomicU32,
    pub(super) came: Notify,
}

impl Death {
    /// After so many checkpoints.
    pub(super) fn after(checkpoints: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(checkpoints), came: Notify::new() })
    }

    fn is_now(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// A store of such a process.
pub(super) struct Mortal {
    pub(super) store: Store,
    pub(super) death: Arc<Death>,
}

struct State {
    inner: Arc<dyn ConsumerStateStore>,
    death: Arc<Death>,
}

#[async_trait]
impl StoreConfig for Mortal {
    fn describe(&self) -> String {
        self.store.events.describe()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let Self { store, death } = *self;
        let state = Arc::new(State { inner: Arc::clone(&store.stores.state), death });
        Ok(Store { stores: Stores { state, ..store.stores.clone() }, ..store })
    }
}

#[async_trait]
impl ConsumerStateStore for State {
    fn atomic(&self) -> bool {
        self.inner.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.inner.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        // The first settlement of an ownership stores nothing; a process that dies there has handled nothing.
        if settlement.checkpoint.is_some() && self.death.is_now() {
            self.death.came.notify_one();
            return std::future::pending().await;
        }
        self.inner.settle(lease, settlement).await
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.inner.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.inner.set_enabled(consumer, enabled).await
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.inner.paused(bundle).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.inner.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.inner.forget(bundle, component, version).await
    }
}
