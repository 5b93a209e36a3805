//! The framework's transaction: what a handler writes, what it emits and that it has handled the event are one commit.

use std::path::Path;
use std::time::Duration;

use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, Sqlite, SqliteStore, Synchronous};
use evento_runtime::{Expected, HandlerError, Running};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use crate::scripted::{Made, over, settled, stop};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Booked {
    n: u64,
}

/// Writes a row for every event, whatever becomes of the attempt; the row has no key that would hide a second one.
#[derive(Default)]
struct Ledger;

#[derive(Default)]
struct OnLanes;

const INSERT: &str = "INSERT INTO entry (who, n) VALUES (?1, ?2)";

async fn write(tx: &mut Tx<Sqlite>, who: &str, n: u64, attempt: Attempt) -> Result<Flow, BoxError> {
    sqlx::query(INSERT).bind(who).bind(i64::try_from(n)?).execute(&mut **tx).await?;
    match n % 10 {
        3 if attempt.0 == 1 => Err("the first attempt fails".into()),
        4 if attempt.0 == 1 => panic!("the first attempt panics"),
        5 => Ok(Flow::DeadLetter("not this one".into())),
        6 => {
            // Two of the same id: the statement fails, and the handler does not care.
            for _ in 0..2 {
                sqlx::query("INSERT INTO once (n) VALUES (?1)").bind(i64::try_from(n)?).execute(&mut **tx).await.ok();
            }
            Ok(Flow::Continue)
        }
        7 => Err(HandlerError::permanent("never").into()),
        8 => Ok(Flow::Skip),
        9 if attempt.0 < 3 => Ok(Flow::RetryAfter(Duration::from_millis(1))),
        _ => Ok(Flow::Continue),
    }
}

#[projector(version = 1)]
impl Ledger {
    #[event_handler(retry = 3, retry_delay = "1ms")]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>, attempt: Attempt, outbox: Outbox) -> Result<Flow, BoxError> {
        outbox.emit(Booked { n: event.n });
        write(tx, "ledger", event.n, attempt).await
    }
}

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "pool", retry = 3, retry_delay = "1ms")]
    async fn made(&self, event: Made, attempt: Attempt, outbox: Outbox, tx: &mut Tx<Sqlite>) -> Result<Flow, BoxError> {
        outbox.emit(Booked { n: event.n + 1_000 });
        write(tx, "lanes", event.n, attempt).await
    }
}

async fn store(folder: &Path) -> SqliteStore {
    let store = Sqlite::file(folder.join("b.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    let mut db = store.writer().acquire().await.unwrap();
    let tables = "CREATE TABLE entry (who TEXT NOT NULL, n INTEGER NOT NULL); CREATE TABLE once (n INTEGER UNIQUE)";
    sqlx::raw_sql(tables).execute(&mut *db).await.unwrap();
    drop(db);
    store
}

async fn numbers(store: &SqliteStore, query: &'static str) -> Vec<i64> {
    let mut db = store.writer().acquire().await.unwrap();
    sqlx::query(query).fetch_all(&mut *db).await.unwrap().iter().map(|row| row.get(0)).collect()
}

async fn begun(store: &SqliteStore, executor: std::sync::Arc<dyn ConsumerExecutor>) -> Running {
    let builder = over(store.clone()).register::<Ledger>().register::<OnLanes>().executor(executor);
    builder.build().unwrap().start().await.unwrap()
}

async fn append(store: &SqliteStore, numbers: std::ops::Range<u64>) -> Position {
    let events = numbers.map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 7)));
    store.append(None::<String>, Expected::Any, events).await.unwrap().last
}

#[tokio::test]
async fn effects_and_completion_are_one_commit_whatever_the_executor_and_the_outcome() {
    for executor in [ConsumerExecutors::partitioned("pool", 4), ConsumerExecutors::tasks("pool", 8)] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let last = append(&store, 0..100).await;
        let running = begun(&store, executor).await;
        settled(&running, &last).await;
        // A panic, what is given up, and what ends in a dead letter leave nothing.
        let kept: Vec<i64> = (0..100).filter(|n| ![4, 5, 7].contains(&(n % 10))).collect();
        for query in [
            "SELECT n FROM entry WHERE who = 'ledger' ORDER BY n",
            "SELECT n FROM entry WHERE who = 'lanes' ORDER BY n",
        ] {
            assert_eq!(numbers(&store, query).await, kept, "{query}");
        }
        for consumer in running.consumers() {
            let dead = consumer.dead_letters(LetterFilter::all(), None, 100).await.unwrap();
            let mut dead: Vec<u64> = dead.iter().map(|dead| dead.letter.event.position.as_u64().unwrap() - 1).collect();
            dead.sort_unstable();
            assert_eq!(dead, (0..100).filter(|n| [4, 5, 7].contains(&(n % 10))).collect::<Vec<_>>());
        }
        let emitted = "SELECT count(*) FROM evento_event WHERE name = 'Booked'";
        assert_eq!(numbers(&store, emitted).await, [140], "as often as there is an entry");
        stop(running).await;
        assert_eq!(numbers(&store, "SELECT count(*) FROM evento_completion").await, [0], "a checkpoint covers them");
        store.close().await;
    }
}

#[tokio::test]
async fn a_completion_that_no_checkpoint_covers_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    append(&store, 0..3).await;
    let running = begun(&store, ConsumerExecutors::tasks("pool", 2)).await;
    settled(&running, &Position::from_u64(3)).await;
    stop(running).await;
    let last = append(&store, 10..13).await;
    // As if the process had died between the commit for the second of them and its checkpoint.
    let second = Position::from_u64(last.as_u64().unwrap() - 1);
    let mut db = store.writer().acquire().await.unwrap();
    let noted = sqlx::query("INSERT INTO evento_completion (consumer, position) SELECT id, ?1 FROM evento_consumer");
    noted.bind(second.as_bytes()).execute(&mut *db).await.unwrap();
    drop(db);
    let running = begun(&store, ConsumerExecutors::tasks("pool", 2)).await;
    settled(&running, &last).await;
    let expected = [0, 1, 2, 10, 12];
    for query in
        ["SELECT n FROM entry WHERE who = 'ledger' ORDER BY n", "SELECT n FROM entry WHERE who = 'lanes' ORDER BY n"]
    {
        assert_eq!(numbers(&store, query).await, expected, "{query}");
    }
    stop(running).await;
    assert_eq!(numbers(&store, "SELECT count(*) FROM evento_completion").await, [0]);
    store.close().await;
}

#[tokio::test]
async fn a_redriven_letter_is_resolved_in_the_transaction_that_handles_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let last = append(&store, 4..5).await;
    let running = begun(&store, ConsumerExecutors::tasks("pool", 2)).await;
    settled(&running, &last).await;
    // The first attempt of the redrive panics as well; nothing is left of it.
    for consumer in running.consumers() {
        assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
        let again = async || consumer.dead_letters(LetterFilter::all(), None, 1).await.unwrap()[0].letter.attempts > 1;
        while !again().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(numbers(&store, "SELECT n FROM entry").await.is_empty());
    stop(running).await;
    store.close().await;
}
