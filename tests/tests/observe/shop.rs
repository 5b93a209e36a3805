//! Two projectors, one in order and one on an executor, that do what the event says.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, BundleBuilder, Expected, Running};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) n: u64,
    /// Attempts that fail.
    pub(crate) fails: u32,
}

/// Handlers wait here.
#[derive(Clone)]
pub(crate) struct Gate(pub(crate) Arc<Semaphore>);

impl Gate {
    pub(crate) fn open() -> Self {
        Self(Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)))
    }

    pub(crate) fn shut() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    async fn pass(&self, event: &Placed, attempt: Attempt) -> Result<(), BoxError> {
        let _permit = self.0.acquire().await?;
        if attempt.0 <= event.fails { Err(format!("{} is refused", event.n).into()) } else { Ok(()) }
    }
}

pub(crate) struct InOrder(pub(crate) Gate);

#[projector(version = 1)]
impl InOrder {
    #[event_handler(retry = 2, retry_delay = "1ms")]
    async fn placed(&self, event: Placed, attempt: Attempt) -> Result<(), BoxError> {
        self.0.pass(&event, attempt).await
    }
}

pub(crate) struct Parallel(pub(crate) Gate);

#[projector(version = 1, checkpoint = "watermark")]
impl Parallel {
    #[event_handler(executor = "pool", retry = 2, retry_delay = "1ms")]
    async fn placed(&self, event: Placed, attempt: Attempt) -> Result<(), BoxError> {
        self.0.pass(&event, attempt).await
    }
}

pub(crate) fn bundle(name: &str, store: &MemoryStore) -> BundleBuilder {
    Bundle::builder(name)
        .store(store.clone())
        .instance(format!("{name}-1"))
        .checkpoint_interval(Duration::from_millis(5))
}

pub(crate) async fn place(running: &Running, events: impl IntoIterator<Item = Placed>) -> Position {
    running.store().append("o-\"1\"\n", Expected::Any, events).await.unwrap().last
}

pub(crate) fn orders(n: u64, fails: u32) -> impl Iterator<Item = Placed> {
    (0..n).map(move |n| Placed { n, fails })
}

pub(crate) async fn settled(running: &Running, position: &Position) {
    let watermark = || running.status().iter().all(|consumer| consumer.watermark.as_ref() >= Some(position));
    evento_tests::eventually("everything is settled", watermark).await;
}
