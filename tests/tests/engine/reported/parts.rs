//! Observers and sagas that do what a test tells them; stores of every kind; stores that fail when a test wants it.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::prelude::*;
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::{
    ClaimState, ConsumerState, ConsumerStateStore, Lease, RecordedAttempt, Settlement, Sqlite, Store, StoreConfig,
    Synchronous,
};
use evento_runtime::{BundleBuilder, Expected, Running, StoreError, StoreErrorKind};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::scripted::{Call, Journal, Made, MemoryStore, Script, tasks};

/// An observer in its own loop, with the default of further attempts.
pub(crate) struct Told(pub(crate) Script);

#[observer(version = 1)]
impl Told {
    #[event_handler(retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

/// An observer on the executor `pool`, with the default of further attempts.
pub(crate) struct Rung(pub(crate) Script);

#[observer(version = 1)]
impl Rung {
    #[event_handler(executor = "pool", retry_delay = "1ms", max_delay = "5ms")]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) order: String,
    pub(crate) n: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) seen: Vec<u64>,
}

/// A saga whose instances know the events they were given, and have a further association for each of them.
pub(crate) struct Tally(pub(crate) Script);

#[saga(version = 1)]
impl Tally {
    #[saga_event_handler(init, association = order, retry = 1, retry_delay = "1ms", max_delay = "5ms")]
    async fn counted(
        &self,
        event: Counted,
        state: &mut Sum,
        also: Associations,
        meta: Metadata,
        attempt: Attempt,
        stop: Stop,
    ) -> Result<Flow, BoxError> {
        state.seen.push(event.n);
        also.add("order", format!("{}/{}", event.order, event.n))?;
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

pub(crate) fn counted(order: &str, n: u64) -> NewEvent {
    Counted { order: order.to_owned(), n }.into()
}

pub(crate) fn made(numbers: impl IntoIterator<Item = u64>) -> Vec<NewEvent> {
    numbers.into_iter().map(|n| Made { n }.into()).collect()
}

/// What the only instance of [`Tally`] knows.
pub(crate) async fn tallied(store: &Store) -> Vec<u64> {
    let instances = store.stores.sagas.instances(&id("Tally"), None, 10).await.unwrap();
    assert!(instances.len() < 2, "more than one instance");
    let states = instances.iter().map(|one| serde_json::from_slice::<Sum>(&one.state).unwrap().seen);
    states.flatten().collect()
}

/// Version 1 of a component of the bundle `b`.
pub(crate) fn id(component: &str) -> ConsumerId {
    ConsumerId { bundle: "b".into(), component: component.into(), version: 1, context: ContextPattern::All }
}

pub(crate) async fn state(store: &Store, component: &str) -> ConsumerState {
    store.stores.state.load(&id(component)).await.unwrap()
}

/// How far the stored checkpoint says that everything is settled.
pub(crate) async fn watermark(store: &Store, component: &str) -> Option<Position> {
    state(store, component).await.checkpoint.and_then(|checkpoint| checkpoint.watermark)
}

pub(crate) async fn put(store: &Store, events: impl IntoIterator<Item = NewEvent>) -> Position {
    store.append(None::<String>, Expected::Any, events).await.unwrap().last
}

/// All events of a log.
pub(crate) async fn log(store: &Store) -> Vec<evento_runtime::StoredEvent> {
    let limits = FetchLimits { events: 100_000, bytes: usize::MAX };
    store.events.fetch(None, limits, &EventFilter::new(None, ContextPattern::All)).await.unwrap().events
}

/// How many events are claimed and not done, and how many are done.
pub(crate) async fn claims(store: &Store, component: &str) -> (usize, usize) {
    let ids: Vec<EventId> = log(store).await.iter().map(|event| event.id).collect();
    let claims = store.stores.claims.claims(&id(component), &ids).await.unwrap();
    let done = claims.iter().filter(|(_, state)| *state == ClaimState::Done).count();
    (claims.len() - done, done)
}

pub(crate) async fn begun(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

/// With one of the observers, and the executor it names.
pub(crate) fn observing(builder: BundleBuilder, script: Script, parallel: bool) -> BundleBuilder {
    if parallel { builder.component(Rung(script)).executor(tasks(4)) } else { builder.component(Told(script)) }
}

/// A handler that notes what it is called for and succeeds.
pub(crate) fn noting(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

/// A handler that notes what it is called for and waits for a permit of `gate`.
pub(crate) fn gated(journal: &Journal<u64>, gate: &Arc<Semaphore>) -> Script {
    let (journal, gate) = (journal.clone(), Arc::clone(gate));
    Script::new(move |call| {
        let (journal, gate) = (journal.clone(), Arc::clone(&gate));
        async move {
            journal.push(call.n);
            gate.acquire().await.unwrap().forget();
            Ok(Flow::Continue)
        }
    })
}

/// A handler that notes each attempt, and fails those that `fails` names.
pub(crate) fn failing(
    journal: &Journal<(u64, u32)>,
    fails: impl Fn(&Call) -> Option<BoxError> + Send + Sync + 'static,
) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push((call.n, call.attempt));
        let end = fails(&call).map_or(Ok(Flow::Continue), Err);
        async move { end }
    })
}

pub(crate) fn sorted(journal: &Journal<u64>) -> Vec<u64> {
    let mut all = journal.all();
    all.sort_unstable();
    all
}

pub(crate) fn timed_out() -> BoxError {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}

pub(crate) fn hopeless() -> BoxError {
    HandlerError::permanent("hopeless").into()
}

/// A switch that tests turn and handlers and stores look at.
#[derive(Clone, Default)]
pub(crate) struct Switch(Arc<AtomicBool>);

impl Switch {
    pub(crate) fn turned() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn turn(&self, on: bool) {
        self.0.store(on, Ordering::SeqCst);
    }
}

/// A store of some kind, empty, with what has to outlive it.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    config: Box<dyn Fn() -> Box<dyn StoreConfig> + Send + Sync>,
    _keep: Box<dyn Any + Send>,
}

impl Place {
    async fn open(
        name: &'static str,
        config: impl Fn() -> Box<dyn StoreConfig> + Send + Sync + 'static,
        keep: impl Any + Send,
    ) -> Self {
        Self { name, store: config().open().await.unwrap(), config: Box::new(config), _keep: Box::new(keep) }
    }

    /// The same as another process would open it.
    pub(crate) async fn again(&self) -> Store {
        (self.config)().open().await.unwrap()
    }

    pub(crate) async fn close(self) {
        close(self.store).await;
    }
}

pub(crate) async fn close(store: Store) {
    if let Some(store) = store.close {
        store.close().await;
    }
}

/// Every store there is here.
pub(crate) async fn places() -> Vec<Place> {
    let memory = MemoryStore::new();
    let mut places = vec![Place::open("memory", move || Box::new(memory.clone()), ()).await];
    places.extend(sql_places().await);
    places
}

/// Every SQL store there is here.
pub(crate) async fn sql_places() -> Vec<Place> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reported.db");
    let sqlite = move || -> Box<dyn StoreConfig> { Box::new(Sqlite::file(&path).synchronous(Synchronous::Normal)) };
    #[allow(unused_mut, reason = "without servers it stays alone")]
    let mut places = vec![Place::open("SQLite", sqlite, folder).await];
    #[cfg(feature = "postgres")]
    match evento_tests::servers::reach("EVENTO_TEST_POSTGRES_URL") {
        Ok(url) => {
            let schema = evento_tests::servers::Schema::new();
            let name = schema.name().to_owned();
            let config =
                move || -> Box<dyn StoreConfig> { Box::new(evento_runtime::store::Postgres::url(&url).schema(&name)) };
            places.push(Place::open("PostgreSQL", config, schema).await);
        }
        Err(reason) => evento_tests::skip(&reason),
    }
    #[cfg(feature = "mysql")]
    match evento_tests::servers::reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => {
            let prefix = evento_tests::servers::Prefix::new();
            let name = prefix.name().to_owned();
            let config =
                move || -> Box<dyn StoreConfig> { Box::new(evento_runtime::store::MySql::url(&url).prefix(&name)) };
            places.push(Place::open("MariaDB", config, prefix).await);
        }
        Err(reason) => evento_tests::skip(&reason),
    }
    places
}

/// What becomes of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is stored.
    Stored,
    /// It is not, and that is said.
    Refused,
    /// It is stored, and the answer is lost.
    Doubted,
    /// Its process dies before it is stored.
    DiesBefore,
    /// Its process dies after it was stored.
    DiesAfter,
}

type Rule = Arc<dyn Fn(Settlement) -> BoxFuture<'static, Fate> + Send + Sync>;

/// What becomes of a wish to pause a consumer, or to go on.
type Switching = Arc<dyn Fn() -> Fate + Send + Sync>;

struct Fated {
    inner: Arc<dyn ConsumerStateStore>,
    rule: Rule,
    switching: Switching,
}

/// The parts of a store, but settlements end as `rule` says.
pub(crate) fn fated<F, R>(store: &Store, rule: F) -> ConsumerEngineConfig
where
    F: Fn(Settlement) -> R + Send + Sync + 'static,
    R: Future<Output = Fate> + Send + 'static,
{
    let mut config = ConsumerEngineConfig::of(store);
    let rule: Rule = Arc::new(move |settlement| Box::pin(rule(settlement)));
    let switching: Switching = Arc::new(|| Fate::Stored);
    config.state_store = Arc::new(Fated { inner: config.state_store, rule, switching });
    config
}

/// The parts of a store, but wishes to pause or to go on end as `switching` says.
pub(crate) fn switched(store: &Store, switching: impl Fn() -> Fate + Send + Sync + 'static) -> ConsumerEngineConfig {
    let mut config = ConsumerEngineConfig::of(store);
    let rule: Rule = Arc::new(|_| Box::pin(async { Fate::Stored }));
    config.state_store = Arc::new(Fated { inner: config.state_store, rule, switching: Arc::new(switching) });
    config
}

/// As another process that has waited for the lease to end: owned by a lock of its own.
pub(crate) fn after_a_death(store: &Store) -> ConsumerEngineConfig {
    let mut config = ConsumerEngineConfig::of(store);
    config.processor.lock = MemoryStore::new().store().stores.lock;
    config
}

#[async_trait]
impl ConsumerStateStore for Fated {
    fn atomic(&self) -> bool {
        self.inner.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.inner.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let fate = (self.rule)(settlement.clone()).await;
        if fate == Fate::DiesBefore {
            std::future::pending::<()>().await;
        }
        if fate != Fate::Refused {
            self.inner.settle(lease, settlement).await?;
        }
        match fate {
            Fate::Stored => Ok(()),
            Fate::DiesAfter => std::future::pending().await,
            _ => Err(StoreError::new(StoreErrorKind::Connection, "fated")),
        }
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.inner.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        let fate = (self.switching)();
        if fate != Fate::Refused {
            self.inner.set_enabled(consumer, enabled).await?;
        }
        if fate == Fate::Stored { Ok(()) } else { Err(StoreError::new(StoreErrorKind::Connection, "fated")) }
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.inner.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.inner.forget(bundle, component, version).await
    }
}
