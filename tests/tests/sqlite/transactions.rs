//! Transactions of handlers, which have the one writer meanwhile.

#![allow(clippy::mem_forget, reason = "what a handler may do")]

use evento_runtime::event::Position;
use evento_runtime::identity::{Epoch, OwnerId};
use evento_runtime::store::{Database, Lease, OpenTransaction, Settlement, Sqlite, SqliteStore, TransactionStore as _};
use evento_runtime::{AppendError, Expected, NewEvent, StoreErrorKind};
use sqlx::Connection as _;

use super::{consumer, open};

type Transaction = <Sqlite as Database>::Transaction;

async fn begin(store: &SqliteStore) -> Transaction {
    *store.begin().await.unwrap().into_any().downcast().unwrap()
}

fn lease() -> Lease {
    Lease { consumer: consumer("A"), owner: OwnerId::generate(), epoch: Epoch(1) }
}

fn handled(n: u64) -> Settlement {
    let mut settlement = Settlement::default();
    settlement.completed.push(Position::from_u64(n));
    settlement
}

/// An append, or the writer, from within waits for itself: refused. So does another transaction.
#[tokio::test(flavor = "multi_thread")]
async fn the_writer_is_held_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let event = || NewEvent::raw("E", "application/octet-stream", vec![1]);
    // Begun in another task than it is used in.
    let begun = store.clone();
    let mut transaction = tokio::spawn(async move { begin(&begun).await }).await.unwrap();
    sqlx::raw_sql("SELECT 1").execute(Sqlite::connection_mut(&mut transaction)).await.unwrap();
    match store.append("k", Expected::Any, [event()]).await {
        Err(AppendError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::WriterHeld),
        appended => panic!("{appended:?}"),
    }
    assert_eq!(store.writer().acquire().await.unwrap_err().kind(), StoreErrorKind::WriterHeld);
    assert_eq!(store.begin().await.err().unwrap().kind(), StoreErrorKind::WriterHeld);
    // Others wait.
    let other = store.clone();
    let waiting = tokio::spawn(async move { other.append("k", Expected::Any, [event()]).await });
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(!waiting.is_finished());
    transaction.settle(&lease(), handled(1)).await.unwrap();
    Box::new(transaction).commit().await.unwrap();
    waiting.await.unwrap().unwrap();
    store.append("k", Expected::Any, [event()]).await.unwrap();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_within_is_a_savepoint() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    sqlx::query("CREATE TABLE n (n)").execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    let mut first = begin(&store).await;
    let connection = Sqlite::connection_mut(&mut first);
    let mut inner = connection.begin().await.unwrap();
    sqlx::raw_sql("INSERT INTO n VALUES (1)").execute(&mut *inner).await.unwrap();
    inner.rollback().await.unwrap();
    let mut inner = connection.begin().await.unwrap();
    sqlx::raw_sql("INSERT INTO n VALUES (2)").execute(&mut *inner).await.unwrap();
    inner.commit().await.unwrap();
    first.settle(&lease(), handled(1)).await.unwrap();
    Box::new(first).commit().await.unwrap();
    // One that nobody ends takes everything along, and it is said.
    let mut second = begin(&store).await;
    let mut inner = Sqlite::connection_mut(&mut second).begin().await.unwrap();
    sqlx::raw_sql("INSERT INTO n VALUES (4)").execute(&mut *inner).await.unwrap();
    std::mem::forget(inner);
    let refused = second.settle(&lease(), handled(2)).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Aborted);
    Box::new(second).roll_back().await;
    let mut last = begin(&store).await;
    let all = sqlx::query_scalar::<_, i64>("SELECT n FROM n").fetch_all(Sqlite::connection_mut(&mut last)).await;
    assert_eq!(all.unwrap(), [2]);
    drop(last);
    assert_eq!(store.completed(&consumer("A")).await.unwrap(), [Position::from_u64(1)]);
    store.close().await;
}

/// What the database undid by itself, of a conflict clause or a full disk, is not there to be committed.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_undone_by_itself_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let table = "CREATE TABLE n (n PRIMARY KEY); INSERT INTO n VALUES (1)";
    sqlx::raw_sql(table).execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    let mut transaction = begin(&store).await;
    let connection = Sqlite::connection_mut(&mut transaction);
    sqlx::raw_sql("INSERT INTO n VALUES (2)").execute(&mut *connection).await.unwrap();
    sqlx::raw_sql("INSERT OR ROLLBACK INTO n VALUES (1)").execute(&mut *connection).await.unwrap_err();
    let refused = transaction.settle(&lease(), handled(1)).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Aborted);
    Box::new(transaction).roll_back().await;
    assert!(store.completed(&consumer("A")).await.unwrap().is_empty());
    store.close().await;
}

/// A constraint that is judged at the commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_refused_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let tables = "CREATE TABLE a (n INTEGER PRIMARY KEY); \
                  CREATE TABLE b (n INTEGER REFERENCES a (n) DEFERRABLE INITIALLY DEFERRED)";
    sqlx::raw_sql(tables).execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    for end in [StoreErrorKind::Other; 2] {
        let mut transaction = begin(&store).await;
        let insert = sqlx::raw_sql("INSERT INTO b VALUES (1)");
        insert.execute(Sqlite::connection_mut(&mut transaction)).await.unwrap();
        transaction.settle(&lease(), handled(1)).await.unwrap();
        assert_eq!(Box::new(transaction).commit().await.unwrap_err().kind(), end);
        assert!(store.completed(&consumer("A")).await.unwrap().is_empty());
    }
    store.close().await;
}
