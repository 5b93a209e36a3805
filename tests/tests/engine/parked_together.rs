//! Parked keys among events that share a transaction: what was taken together with one that is given up, and comes
//! behind it, queues behind it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, Sqlite, SqliteStore, Synchronous};
use evento_runtime::{DeadLetterPolicy, Expected, Running};
use sqlx::Row as _;

use crate::scripted::{Made, over, settled, stop};

const KEYS: u64 = 5;

/// What fails for now.
type Poison = Arc<Mutex<BTreeSet<u64>>>;

async fn write(poison: &Poison, tx: &mut Tx<Sqlite>, n: u64) -> Result<(), BoxError> {
    sqlx::query("INSERT INTO entry (n) VALUES (?1)").bind(i64::try_from(n)?).execute(&mut **tx).await?;
    if poison.lock().unwrap().contains(&n) { Err(HandlerError::permanent("poison").into()) } else { Ok(()) }
}

struct InOrder(Poison);

#[projector(version = 1, dead_letter = "park")]
impl InOrder {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        write(&self.0, tx, event.n).await
    }
}

struct OnLanes(Poison);

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        write(&self.0, tx, event.n).await
    }
}

async fn written(store: &SqliteStore) -> Vec<u64> {
    let mut db = store.writer().acquire().await.unwrap();
    let rows = sqlx::query("SELECT n FROM entry ORDER BY rowid").fetch_all(&mut *db).await.unwrap();
    rows.iter().map(|row| u64::try_from(row.get::<i64, _>(0)).unwrap()).collect()
}

async fn start(store: &SqliteStore, poison: &Poison, parallel: bool) -> Running {
    let builder = over(store.clone());
    let builder = if parallel {
        let builder = builder.component(OnLanes(Arc::clone(poison)));
        builder.executor(ConsumerExecutors::partitioned("pool", 3)).dead_letter::<OnLanes>(DeadLetterPolicy::Park)
    } else {
        builder.component(InOrder(Arc::clone(poison)))
    };
    builder.build().unwrap().start().await.unwrap()
}

#[tokio::test]
async fn what_shares_a_transaction_with_one_that_is_given_up_queues_behind_it() {
    for parallel in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::file(folder.path().join("b.db")).synchronous(Synchronous::Off).open().await.unwrap();
        let mut db = store.writer().acquire().await.unwrap();
        sqlx::raw_sql("CREATE TABLE entry (n INTEGER NOT NULL UNIQUE)").execute(&mut *db).await.unwrap();
        drop(db);
        let events = (0..300).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % KEYS)));
        let last = store.append(None::<String>, Expected::Any, events).await.unwrap().last;
        let poison: Poison = Arc::new(Mutex::new([0, 51, 102].into()));
        let running = start(&store, &poison, parallel).await;
        settled(&running, &last).await;
        let consumer = running.consumers().remove(0);
        let status = consumer.status();
        assert_eq!((status.parked_keys, status.parked_events, status.counters.dead_lettered), (3, 60 + 50 + 40, 3));
        let expected = |key: u64, from: u64| (0..300).filter(|n| n % KEYS == key && *n < from).collect::<Vec<_>>();
        let of = |entries: &[u64], key: u64| entries.iter().copied().filter(|n| n % KEYS == key).collect::<Vec<_>>();
        let entries = written(&store).await;
        for (key, from) in [(0, 0), (1, 51), (2, 102), (3, 300), (4, 300)] {
            assert_eq!(of(&entries, key), expected(key, from), "parallel: {parallel}");
        }
        poison.lock().unwrap().clear();
        consumer.redrive(LetterFilter::all()).await.unwrap();
        evento_tests::eventually("no key is parked", || consumer.status().parked_keys == 0).await;
        let entries = written(&store).await;
        (0..KEYS).for_each(|key| assert_eq!(of(&entries, key), expected(key, 300), "parallel: {parallel}"));
        stop(running).await;
        store.close().await;
    }
}
