//! Components whose handlers do what a test tells them, and a log of what happened.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::prelude::*;
pub(crate) use evento_runtime::store::MemoryStore;
use evento_runtime::store::{ConsumerState, LetterFilter, StoreConfig, StoredDeadLetter};
use evento_runtime::{Bundle, BundleBuilder, Expected, Running};
use serde::{Deserialize, Serialize};

/// The event most tests use.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) n: u64,
}

/// One that goes to the sequential handler of [`Mixed`].
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub(crate) n: u64,
}

/// One that nobody handles.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Foreign {
    pub(crate) n: u64,
}

/// What a handler is called with.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) n: u64,
    pub(crate) key: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) stop: Stop,
    pub(crate) sequential: bool,
}

type Outcome = Pin<Box<dyn Future<Output = Result<Flow, BoxError>> + Send>>;

/// What handlers do.
#[derive(Clone)]
pub(crate) struct Script(Arc<dyn Fn(Call) -> Outcome + Send + Sync>);

impl Script {
    pub(crate) fn new<F, R>(script: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Flow, BoxError>> + Send + 'static,
    {
        Self(Arc::new(move |call| Box::pin(script(call))))
    }

    pub(crate) fn call(&self, n: u64, meta: &Metadata, attempt: Attempt, stop: Stop, sequential: bool) -> Outcome {
        let key = meta.key().map(str::to_owned);
        (self.0)(Call { n, key, attempt: attempt.0, stop, sequential })
    }
}

/// A projector without an executor, retrying for ever.
pub(crate) struct Plain(pub(crate) Script);

#[projector(version = 1)]
impl Plain {
    #[event_handler(retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

/// A projector without an executor that gives up after two further attempts.
pub(crate) struct Limited(pub(crate) Script);

#[projector(version = 1)]
impl Limited {
    #[event_handler(retry = 2, retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

/// A projector on the executor `pool` with two further attempts.
pub(crate) struct Pooled(pub(crate) Script);

#[projector(version = 1)]
impl Pooled {
    #[event_handler(executor = "pool", retry = 2, retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }
}

/// Another consumer of the executor `pool`.
pub(crate) struct Neighbour(pub(crate) Script);

#[projector(version = 1)]
impl Neighbour {
    #[event_handler(executor = "pool", retry = 2, retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }
}

/// `Made` on the executor `pool`, `Closed` in its own loop.
pub(crate) struct Mixed(pub(crate) Script);

#[projector(version = 1)]
impl Mixed {
    #[event_handler(executor = "pool", retry = 2, retry_delay = "1ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }

    #[event_handler(retry_delay = "1ms")]
    async fn closed(&self, event: Closed, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

/// Something handlers write into and tests read.
#[derive(Clone)]
pub(crate) struct Journal<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Journal<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Journal<T> {
    pub(crate) fn push(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    pub(crate) fn keep(&self, keep: impl FnMut(&T) -> bool) {
        self.0.lock().unwrap().retain(keep);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A builder over `store` with everything a test does not care about.
pub(crate) fn bundle(store: &MemoryStore) -> BundleBuilder {
    over(store.clone())
}

/// The same over any store.
pub(crate) fn over(store: impl StoreConfig) -> BundleBuilder {
    Bundle::builder("b").store(store).checkpoint_interval(Duration::from_millis(5))
}

pub(crate) fn tasks(n: usize) -> Arc<dyn ConsumerExecutor> {
    ConsumerExecutors::tasks("pool", n)
}

pub(crate) fn lanes(n: usize) -> Arc<dyn ConsumerExecutor> {
    ConsumerExecutors::partitioned("pool", n)
}

/// Appends any events.
pub(crate) async fn append_all(store: &MemoryStore, events: impl IntoIterator<Item = NewEvent>) -> Position {
    let store = Box::new(store.clone()).open().await.unwrap();
    store.append(None::<String>, Expected::Any, events).await.unwrap().last
}

/// Appends `Made` events; the key is `k{n % keys}`, none if `keys` is 0.
pub(crate) async fn append(store: &MemoryStore, numbers: impl IntoIterator<Item = u64>, keys: u64) -> Position {
    let events: Vec<NewEvent> = numbers
        .into_iter()
        .map(|n| {
            let event = NewEvent::from(Made { n });
            if keys == 0 { event } else { event.key(format!("k{}", n % keys)) }
        })
        .collect();
    append_all(store, events).await
}

/// Waits until every consumer has settled up to `position`.
pub(crate) async fn settled(running: &Running, position: &Position) {
    evento_tests::eventually("everything is settled", || {
        running.status().iter().all(|consumer| consumer.watermark.as_ref() >= Some(position))
    })
    .await;
}

/// Stops, giving handlers ten seconds.
pub(crate) async fn stop(running: Running) {
    running.stop(Duration::from_secs(10)).await.unwrap();
}

/// What is stored for version 1 of a component of the bundle `b`.
pub(crate) async fn stored(store: &MemoryStore, component: &str) -> ConsumerState {
    let id = ConsumerId { bundle: "b".into(), component: component.into(), version: 1, context: ContextPattern::All };
    let store = Box::new(store.clone()).open().await.unwrap();
    store.stores.state.load(&id).await.unwrap()
}

/// The dead letters of the first consumer.
pub(crate) async fn dead_letters(running: &Running) -> Vec<StoredDeadLetter> {
    let consumer = running.status()[0].consumer.clone();
    running.store().stores.dead_letters.list(&consumer, &LetterFilter::all(), None, 1_000).await.unwrap()
}

impl Script {
    /// For handlers that care for the event only.
    pub(crate) fn run(&self, n: u64) -> Outcome {
        let stop = Stop::new(tokio::sync::watch::channel(false).1);
        (self.0)(Call { n, key: None, attempt: 1, stop, sequential: false })
    }
}
