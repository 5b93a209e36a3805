//! Events that share a transaction: how many commits that takes, what one of them that fails costs the others, and
//! what becomes of a commit without an answer.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use evento_runtime::deps::Need;
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::identity::ConsumerId;
use evento_runtime::prelude::*;
use evento_runtime::store::{
    Database, Lease, LetterFilter, OpenTransaction, Settlement, Sqlite, SqliteStore, Store, StoreConfig, Synchronous,
    TransactionStore,
};
use evento_runtime::{Expected, Running, StoreError, StoreErrorKind};
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use crate::scripted::{Journal, Made, over, settled, stop};

/// What the handlers of a test do.
#[derive(Clone, Default)]
struct Plan {
    /// Refused by their handlers.
    poison: Vec<u64>,
    /// Refused by the commit.
    dangling: Vec<u64>,
    /// Every call: the event and its attempt.
    calls: Journal<(u64, u32)>,
}

impl Plan {
    async fn handle(&self, db: &mut SqliteConnection, who: &str, n: u64, attempt: u32) -> Result<(), BoxError> {
        self.calls.push((n, attempt));
        sqlx::query("INSERT INTO entry (who, n, parent) VALUES (?1, ?2, ?3)")
            .bind(who)
            .bind(i64::try_from(n)?)
            .bind(if self.dangling.contains(&n) { 1 } else { 0 })
            .execute(db)
            .await?;
        if self.poison.contains(&n) { Err(format!("{n} is refused").into()) } else { Ok(()) }
    }
}

struct InOrder(Plan);

#[projector(version = 1)]
impl InOrder {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle(tx, "in-order", event.n, attempt.0).await
    }
}

struct OnLanes(Plan);

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle(tx, "lanes", event.n, attempt.0).await
    }
}

async fn store(folder: &Path) -> SqliteStore {
    let store = Sqlite::file(folder.join("b.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    let mut db = store.writer().acquire().await.unwrap();
    let tables = "CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (0);
        CREATE TABLE entry (who TEXT NOT NULL, n INTEGER NOT NULL,
            parent INTEGER NOT NULL REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
        CREATE TABLE noted (position BLOB NOT NULL);
        CREATE TRIGGER note AFTER INSERT ON evento_completion BEGIN INSERT INTO noted VALUES (new.position); END";
    sqlx::raw_sql(tables).execute(&mut *db).await.unwrap();
    drop(db);
    store
}

/// Of the write connection from now on.
async fn count_commits(store: &SqliteStore) -> Arc<AtomicU32> {
    let commits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&commits);
    let mut db = store.writer().acquire().await.unwrap();
    db.lock_handle().await.unwrap().set_commit_hook(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        true
    });
    commits
}

async fn numbers(store: &SqliteStore, query: &'static str) -> Vec<u64> {
    let mut db = store.writer().acquire().await.unwrap();
    let rows = sqlx::query(query).fetch_all(&mut *db).await.unwrap();
    rows.iter().map(|row| u64::try_from(row.get::<i64, _>(0)).unwrap()).collect()
}

const ENTRIES: &str = "SELECT n FROM entry ORDER BY rowid";

async fn append(store: &SqliteStore, numbers: std::ops::Range<u64>) -> Position {
    let events = numbers.map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 7)));
    store.append(None::<String>, Expected::Any, events).await.unwrap().last
}

async fn dead(running: &Running) -> Vec<(u64, u32)> {
    let letters = running.consumers()[0].dead_letters(LetterFilter::all(), None, 1_000).await.unwrap();
    letters.iter().map(|dead| (dead.letter.event.position.as_u64().unwrap() - 1, dead.letter.attempts)).collect()
}

#[tokio::test]
async fn a_thousand_events_take_few_commits_and_in_order_no_row_each() {
    for parallel in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let last = append(&store, 0..1_000).await;
        let commits = count_commits(&store).await;
        let plan = Plan::default();
        let builder = over(store.clone()).checkpoint_interval(Duration::from_millis(100));
        let builder = if parallel {
            builder.component(OnLanes(plan.clone())).executor(ConsumerExecutors::partitioned("pool", 4))
        } else {
            builder.component(InOrder(plan.clone()))
        };
        let began = Instant::now();
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        let commits = commits.load(Ordering::SeqCst);
        // What is over its time ends a group as well, and the checkpoint is stored in between.
        let most = 70 + began.elapsed().as_millis() / 10;
        assert!(u128::from(commits) <= most, "{commits} commits instead of {most}, parallel: {parallel}");
        assert_eq!(plan.calls.len(), 1_000);
        let mut entries = numbers(&store, ENTRIES).await;
        for key in 0..7 {
            assert!(entries.iter().filter(|n| **n % 7 == key).is_sorted());
        }
        entries.sort_unstable();
        assert_eq!(entries, (0..1_000).collect::<Vec<_>>());
        let noted = numbers(&store, "SELECT count(*) FROM noted").await;
        assert_eq!(noted, [if parallel { 1_000 } else { 0 }], "the checkpoint says it for events in order");
        stop(running).await;
        store.close().await;
    }
}

/// The first, one in the middle, two next to each other, the last: refused by handlers or by the commit.
#[tokio::test]
async fn one_that_fails_fails_alone_and_the_others_are_there_once_in_the_order_of_their_keys() {
    const FAILING: [u64; 6] = [0, 50, 51, 57, 58, 99];
    for (parallel, window) in [(false, 1_024), (true, 1_024), (false, 3), (true, 3), (true, 1)] {
        for dangling in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = store(folder.path()).await;
            let last = append(&store, 0..100).await;
            let mut plan = Plan::default();
            if dangling {
                plan.dangling = FAILING.to_vec();
            } else {
                plan.poison = FAILING.to_vec();
            }
            let builder = over(store.clone()).window(window).checkpoint_interval(Duration::from_millis(2));
            let builder = if parallel {
                builder.component(OnLanes(plan.clone())).executor(ConsumerExecutors::partitioned("pool", 3))
            } else {
                builder.component(InOrder(plan.clone()))
            };
            let running = builder.build().unwrap().start().await.unwrap();
            settled(&running, &last).await;
            let what = format!("parallel: {parallel}, window {window}, dangling: {dangling}");
            let mut entries = numbers(&store, ENTRIES).await;
            for key in 0..7 {
                assert!(entries.iter().filter(|n| **n % 7 == key).is_sorted(), "{what}: {entries:?}");
            }
            entries.sort_unstable();
            assert_eq!(entries, (0..100).filter(|n| !FAILING.contains(n)).collect::<Vec<_>>(), "{what}");
            let mut dead = dead(&running).await;
            dead.sort_unstable();
            assert_eq!(dead, FAILING.map(|n| (n, 1)), "{what}");
            // What runs again for the sake of others is the same attempt.
            assert!(plan.calls.all().iter().all(|(_, attempt)| *attempt == 1), "{what}");
            assert_eq!(running.status()[0].counters.failed, 6, "{what}");
            assert_eq!(running.status()[0].counters.started, 100, "{what}");
            stop(running).await;
            assert_eq!(numbers(&store, "SELECT count(*) FROM evento_completion").await, [0], "{what}");
            store.close().await;
        }
    }
}

/// The second of its events waits within its handler for the stop.
struct Stopped(Journal<u64>);

#[projector(version = 1)]
impl Stopped {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>, mut stop: Stop) -> Result<(), BoxError> {
        self.0.push(event.n);
        if event.n == 1 {
            stop.stopped().await;
        }
        Plan::default().handle(tx, "stopped", event.n, 1).await
    }
}

#[tokio::test]
async fn a_stop_lets_nothing_more_of_a_group_begin_and_keeps_what_has_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let last = append(&store, 0..5).await;
    let calls = Journal::default();
    let begun = async || over(store.clone()).component(Stopped(calls.clone())).build().unwrap().start().await.unwrap();
    let running = begun().await;
    evento_tests::eventually("the second has begun", || calls.len() == 2).await;
    stop(running).await;
    assert_eq!(calls.all(), [0, 1]);
    assert_eq!(numbers(&store, ENTRIES).await, [0, 1]);
    let running = begun().await;
    settled(&running, &last).await;
    assert_eq!(calls.all(), [0, 1, 2, 3, 4], "and nothing twice");
    assert_eq!(numbers(&store, ENTRIES).await, [0, 1, 2, 3, 4]);
    stop(running).await;
    store.close().await;
}

/// SQLite, where every third commit gets no answer; of those every second one is there all the same.
struct Flaky;

struct FlakyTransaction {
    open: <Sqlite as Database>::Transaction,
    commits: Arc<AtomicU32>,
}

impl Database for Flaky {
    type Connection = SqliteConnection;
    type Transaction = FlakyTransaction;

    fn connection(transaction: &FlakyTransaction) -> &SqliteConnection {
        Sqlite::connection(&transaction.open)
    }

    fn connection_mut(transaction: &mut FlakyTransaction) -> &mut SqliteConnection {
        Sqlite::connection_mut(&mut transaction.open)
    }
}

#[async_trait]
impl OpenTransaction for FlakyTransaction {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }

    async fn settle(&mut self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.open.settle(lease, settlement).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let count = self.commits.fetch_add(1, Ordering::SeqCst);
        let open = Box::new(self.open);
        if count % 3 != 1 {
            return open.commit().await;
        }
        if count.is_multiple_of(2) {
            open.commit().await?;
        } else {
            open.roll_back().await;
        }
        Err(StoreError::new(StoreErrorKind::Connection, "flaky"))
    }

    async fn roll_back(self: Box<Self>) {
        Box::new(self.open).roll_back().await;
    }
}

struct FlakyStore {
    inner: Arc<dyn TransactionStore>,
    commits: Arc<AtomicU32>,
}

#[async_trait]
impl TransactionStore for FlakyStore {
    fn database(&self) -> Need {
        Need::of::<Flaky>()
    }

    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError> {
        let open = self.inner.begin().await?.into_any().downcast().unwrap();
        Ok(Box::new(FlakyTransaction { open: *open, commits: Arc::clone(&self.commits) }))
    }

    async fn completed(&self, consumer: &ConsumerId) -> Result<Vec<Position>, StoreError> {
        self.inner.completed(consumer).await
    }
}

struct FlakyConfig(SqliteStore, Arc<AtomicU32>);

#[async_trait]
impl StoreConfig for FlakyConfig {
    fn describe(&self) -> String {
        "flaky".to_owned()
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    fn database(&self) -> Option<Need> {
        Some(Need::of::<Flaky>())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let mut store = StoreConfig::open(Box::new(self.0)).await?;
        let inner = store.stores.transactions.take().unwrap();
        store.stores.transactions = Some(Arc::new(FlakyStore { inner, commits: self.1 }));
        Ok(store)
    }
}

struct FlakyInOrder(Plan);

#[projector(version = 1)]
impl FlakyInOrder {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Flaky>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle(tx, "in-order", event.n, attempt.0).await
    }
}

struct FlakyOnLanes(Plan);

#[projector(version = 1)]
impl FlakyOnLanes {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Flaky>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle(tx, "lanes", event.n, attempt.0).await
    }
}

#[tokio::test]
async fn a_commit_without_an_answer_is_asked_about_and_its_events_are_there_once() {
    for parallel in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let commits = Arc::new(AtomicU32::new(0));
        let last = append(&store, 0..100).await;
        let plan = Plan { poison: vec![40], ..Plan::default() };
        let builder = over(FlakyConfig(store.clone(), Arc::clone(&commits))).window(20);
        let builder = if parallel {
            builder.component(FlakyOnLanes(plan.clone())).executor(ConsumerExecutors::tasks("pool", 2))
        } else {
            builder.component(FlakyInOrder(plan.clone()))
        };
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        let mut entries = numbers(&store, ENTRIES).await;
        entries.sort_unstable();
        assert_eq!(entries, (0..100).filter(|n| *n != 40).collect::<Vec<_>>(), "parallel: {parallel}");
        assert!(commits.load(Ordering::SeqCst) >= 5, "some had no answer");
        assert_eq!(dead(&running).await, [(40, 1)]);
        stop(running).await;
        store.close().await;
    }
}

/// A run before this one, of which the store says nothing until the commit is refused.
#[tokio::test]
async fn what_is_known_to_be_completed_is_passed_and_the_others_of_its_group_are_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let last = append(&store, 0..1).await;
    let plan = Plan::default();
    let builder = over(store.clone()).component(OnLanes(plan.clone()));
    let running = builder.executor(ConsumerExecutors::partitioned("pool", 1)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let mut db = store.writer().acquire().await.unwrap();
    let noted = sqlx::query("INSERT INTO evento_completion (consumer, position) SELECT id, ?1 FROM evento_consumer");
    noted.bind(Position::from_u64(3).as_bytes()).execute(&mut *db).await.unwrap();
    drop(db);
    let last = append(&store, 1..5).await;
    settled(&running, &last).await;
    let mut entries = numbers(&store, ENTRIES).await;
    entries.sort_unstable();
    assert_eq!(entries, [0, 1, 3, 4]);
    assert!(dead(&running).await.is_empty());
    stop(running).await;
    store.close().await;
}
