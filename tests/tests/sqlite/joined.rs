//! Appends that share a statement on SQLite, because they waited for the writer at the same time.

use evento_runtime::error::AppendError;
use evento_runtime::store::{SqliteStore, SqliteWriterGuard};
use evento_runtime::{Appended, EventId, Expected, NewEvent, Position};
use tokio::task::JoinHandle;

use super::{event, open};

type Appending = JoinHandle<Result<Appended, AppendError>>;

/// Has been asked for when this returns; the tests run on one thread.
async fn ask(store: &SqliteStore, key: &str, event: NewEvent) -> Appending {
    let (store, key) = (store.clone(), key.to_owned());
    let asked = tokio::spawn(async move { store.append(key, Expected::Any, [event]).await });
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    asked
}

async fn busy(store: &SqliteStore) -> SqliteWriterGuard {
    store.writer().acquire().await.unwrap()
}

/// What was written at one time was written by one statement.
async fn events_and_statements(store: &SqliteStore) -> (i64, i64) {
    let sql = "SELECT count(*), count(DISTINCT recorded_at) FROM evento_event WHERE key <> 'before'";
    sqlx::query_as(sql).fetch_one(&mut *busy(store).await).await.unwrap()
}

#[tokio::test]
async fn those_that_wait_share_a_statement_and_have_a_version_each() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    store.append("before", Expected::Any, [event([0])]).await.unwrap();
    let holder = busy(&store).await;
    let mut asked = Vec::new();
    for n in 0..20_u8 {
        asked.push(ask(&store, &format!("k{}", n % 5), event([n])).await);
    }
    drop(holder);
    // In the order they were asked for, within their stream as within the log.
    for (n, append) in (0..20_u64).zip(asked) {
        let appended = append.await.unwrap().unwrap();
        assert_eq!((appended.version, appended.known), (Some(n / 5 + 1), false));
        assert_eq!((appended.first.as_u64(), appended.last.as_u64()), (Some(n + 2), Some(n + 2)));
    }
    assert_eq!(events_and_statements(&store).await, (20, 1));
    store.close().await;
}

#[tokio::test]
async fn more_than_fit_go_one_statement_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let holder = busy(&store).await;
    let mut asked = Vec::new();
    for n in 0..200_u8 {
        asked.push(ask(&store, "k", event([n])).await);
    }
    drop(holder);
    for (n, append) in (1..=200).zip(asked) {
        assert_eq!(append.await.unwrap().unwrap().version, Some(n));
    }
    let (events, statements) = events_and_statements(&store).await;
    assert!(events == 200 && (4..=5).contains(&statements), "{events} in {statements}");
    store.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_one_is_nothing_to_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let (used, known) = (EventId::generate(), EventId::generate());
    for id in [used, known] {
        store.append("before", Expected::Any, [event([1]).id(id)]).await.unwrap();
    }
    let holder = busy(&store).await;
    let mut good = Vec::new();
    for n in 0..5_u8 {
        good.push(ask(&store, &format!("a{n}"), event([n])).await);
    }
    let bad = ask(&store, "a", event([2]).id(used)).await;
    let again = ask(&store, "before", event([1]).id(known)).await;
    for n in 5..10_u8 {
        good.push(ask(&store, &format!("z{n}"), event([n])).await);
    }
    drop(holder);
    for append in good {
        let appended = append.await.unwrap().unwrap();
        assert_eq!((appended.version, appended.known), (Some(1), false));
    }
    assert!(matches!(bad.await.unwrap(), Err(AppendError::IdReused { .. })));
    let again = again.await.unwrap().unwrap();
    assert!(again.known);
    assert_eq!(again.first, Position::from_u64(2));
    store.close().await;
}

/// Whoever stops waiting has appended all the same, and takes nobody's answer along.
#[tokio::test]
async fn who_stops_waiting_takes_nobody_along() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let holder = busy(&store).await;
    let gone = ask(&store, "gone", event([1])).await;
    let stays = ask(&store, "stays", event([2])).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    drop(holder);
    assert_eq!(stays.await.unwrap().unwrap().version, Some(1));
    store.close().await;
    let store = open(&folder.path().join("o.db")).await;
    assert_eq!(store.append("gone", Expected::Any, [event([3])]).await.unwrap().version, Some(2));
    store.close().await;
}

/// A store that cannot write says so to everyone who waits, and what waits later is written.
#[tokio::test]
async fn a_turn_that_fails_answers_everybody() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let mut holder = busy(&store).await;
    sqlx::raw_sql("PRAGMA query_only = on").execute(&mut *holder).await.unwrap();
    let mut asked = Vec::new();
    for n in 0..5_u8 {
        asked.push(ask(&store, "k", event([n])).await);
    }
    drop(holder);
    for append in asked {
        assert!(matches!(append.await.unwrap(), Err(AppendError::Store(_))));
    }
    sqlx::raw_sql("PRAGMA query_only = off").execute(&mut *busy(&store).await).await.unwrap();
    assert_eq!(store.append("k", Expected::Any, [event([9])]).await.unwrap().version, Some(1));
    store.close().await;
}
