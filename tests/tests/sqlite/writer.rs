//! The one writer: fair, unbreakable, never waited for by itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use evento_runtime::identity::Epoch;
use evento_runtime::store::{ConsumerLock as _, ConsumerStateStore as _, Settlement, SqliteStore};
use evento_runtime::{AppendError, BoxError, Expected, StoreErrorKind};
use sqlx::Connection as _;

use super::{consumer, event, open, stranger};

async fn store_with_totals(folder: &tempfile::TempDir) -> SqliteStore {
    let store = open(&folder.path().join("o.db")).await;
    let table = "CREATE TABLE total (key INTEGER PRIMARY KEY, n INTEGER NOT NULL)";
    sqlx::raw_sql(table).execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    store
}

const UPSERT: &str = "INSERT INTO total VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET n = n + 1";

async fn total(store: &SqliteStore) -> i64 {
    let mut guard = store.writer().acquire().await.unwrap();
    sqlx::query_scalar("SELECT coalesce(sum(n), 0) FROM total").fetch_one(&mut *guard).await.unwrap()
}

/// Whoever holds it and asks again gets an error instead of a deadlock.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_holds_the_writer_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    let check = async |store: &SqliteStore| {
        let lease = store.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
        let guard = store.writer().acquire().await.unwrap();
        assert_eq!(store.writer().acquire().await.unwrap_err().kind(), StoreErrorKind::WriterHeld);
        match store.append("k", Expected::Any, [event([1])]).await {
            Err(AppendError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::WriterHeld),
            appended => panic!("{appended:?}"),
        }
        let refused = store.settle(&lease, Settlement::default()).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::WriterHeld);
        assert!(refused.to_string().contains("Outbox"), "{refused}");
        drop(guard);
        store.append("k", Expected::Any, [event([1])]).await.unwrap();
        store.release(&lease).await.unwrap();
    };
    // Within the work of a transaction, which runs in a task of the store.
    let (writer, inner) = (store.writer(), store.clone());
    let nested = writer.transaction(move |_| Box::pin(async move { inner.writer().acquire().await.map(drop) }));
    let refused = nested.await.unwrap_err();
    assert!(refused.to_string().contains("has one writer"), "{refused}");
    // Outside of tasks, and within one.
    check(&store).await;
    let inner = store.clone();
    tokio::spawn(async move { check(&inner).await }).await.unwrap();
    // Another task waits for its turn.
    let guard = store.writer().acquire().await.unwrap();
    let inner = store.clone();
    let waiting = tokio::spawn(async move { inner.append("w", Expected::New, [event([1])]).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiting.is_finished());
    drop(guard);
    waiting.await.unwrap().unwrap();
    store.close().await;
}

/// First come, first served.
#[tokio::test(flavor = "multi_thread")]
async fn the_writer_is_handed_out_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    let guard = store.writer().acquire().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for n in 0..20 {
        let (writer, order) = (store.writer(), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let mut guard = writer.acquire().await.unwrap();
            order.lock().unwrap().push(n);
            sqlx::query(UPSERT).bind(n).execute(&mut *guard).await.unwrap();
        }));
        // Each is in the queue before the next one starts.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(guard);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    store.close().await;
}

/// 64 tasks, by guard and by transaction, beside appends: no busy error, every one counted.
#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_write_without_a_busy_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    let tasks = (0..64_i64).map(|task| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..40 {
                if (task + n) % 4 == 0 {
                    let mut guard = store.writer().acquire().await.unwrap();
                    let mut tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
                    sqlx::query(UPSERT).bind(n).execute(&mut *tx).await.unwrap();
                    tx.commit().await.unwrap();
                } else {
                    let writer = store.writer();
                    let upsert = writer.transaction(move |connection| {
                        Box::pin(async move {
                            sqlx::query(UPSERT).bind(n).execute(connection).await?;
                            Ok::<_, BoxError>(())
                        })
                    });
                    upsert.await.unwrap();
                }
                if n % 10 == 0 {
                    store.append(task.to_string(), Expected::Any, [event([1])]).await.unwrap();
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(total(&store).await, 64 * 40);
    store.close().await;
}

/// A transaction left open is rolled back even if nobody asks for the writer: the file's lock is free.
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_dropped_in_a_transaction_rolls_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    let mut other = stranger(&folder.path().join("o.db")).await;
    for leak in [false, true] {
        let mut guard = store.writer().acquire().await.unwrap();
        if leak {
            let mut tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
            sqlx::query(UPSERT).bind(1).execute(&mut *tx).await.unwrap();
            #[expect(clippy::mem_forget, reason = "what is tested")]
            std::mem::forget(tx);
        } else {
            sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *guard).await.unwrap();
            sqlx::query(UPSERT).bind(1).execute(&mut *guard).await.unwrap();
        }
        drop(guard);
        let mut tries = 0;
        while sqlx::query(UPSERT).bind(2).execute(&mut other).await.is_err() {
            tries += 1;
            assert!(tries < 500, "the lock stayed");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(total(&store).await, 2, "the stranger's only");
    let mut guard = store.writer().acquire().await.unwrap();
    let tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
    tx.commit().await.unwrap();
    drop(guard);
    store.close().await;
}

/// An error or a panic of one is nothing to those it shared the commit with.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_share_a_commit_fail_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    // All wait, then go together.
    let guard = store.writer().acquire().await.unwrap();
    let tasks = (0..30_i64).map(|n| {
        let writer = store.writer();
        tokio::spawn(async move {
            let work = writer.transaction(move |connection| {
                Box::pin(async move {
                    sqlx::query(UPSERT).bind(n).execute(&mut *connection).await?;
                    match n % 3 {
                        0 => Ok(n),
                        1 => Err(BoxError::from("refused")),
                        _ => panic!("broken"),
                    }
                })
            });
            work.await.map_err(|error| error.to_string())
        })
    });
    let tasks: Vec<_> = tasks.collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(guard);
    for (n, task) in (0..).zip(tasks) {
        match (n % 3, task.await) {
            (0, Ok(Ok(value))) => assert_eq!(value, n),
            (1, Ok(Err(error))) => assert_eq!(error, "refused"),
            (2, Err(joined)) => assert!(joined.is_panic()),
            (_, other) => panic!("{n}: {other:?}"),
        }
    }
    assert_eq!(total(&store).await, 10);
    store.close().await;
}

/// Polls `future` up to `times`, letting others run between, and drops it.
async fn poll_and_drop<F: Future>(future: F, times: usize) {
    let mut future = Box::pin(future);
    for _ in 0..times {
        if let Poll::Ready(_done) = Pin::as_mut(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Whatever is dropped at whatever point: the writer goes on, and the log has no half batch.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_futures_never_lose_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_with_totals(&folder).await;
    let lease = store.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
    for round in 0..4 {
        for times in 1..=6 {
            poll_and_drop(store.append("k", Expected::Any, [event([1]), event([2])]), times).await;
            poll_and_drop(store.settle(&lease, Settlement::default()), times).await;
            poll_and_drop(store.acquire(&consumer("B"), Epoch(0)), times).await;
            poll_and_drop(store.renew(std::slice::from_ref(&lease)), times).await;
            let writer = store.writer();
            poll_and_drop(writer.acquire(), times).await;
            let holds = async {
                let mut guard = writer.acquire().await.unwrap();
                let mut tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
                sqlx::query(UPSERT).bind(1).execute(&mut *tx).await.unwrap();
                tokio::task::yield_now().await;
                tx.rollback().await.unwrap();
            };
            poll_and_drop(holds, times).await;
            let appended = store.append(format!("{round}-{times}"), Expected::New, [event([1])]).await.unwrap();
            assert_eq!(appended.version, Some(1));
        }
    }
    let mut guard = store.writer().acquire().await.unwrap();
    let odd: i64 = sqlx::query_scalar("SELECT count(*) % 2 FROM evento_event WHERE key = 'k'")
        .fetch_one(&mut *guard)
        .await
        .unwrap();
    assert_eq!(odd, 0);
    drop(guard);
    assert_eq!(total(&store).await, 0);
    store.close().await;
}
