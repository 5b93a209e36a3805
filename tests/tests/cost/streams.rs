//! A stream of many events takes no longer than one of few: what a database looks at does not grow with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evento_runtime::Expected;
use evento_runtime::prelude::*;
use evento_runtime::store::{Sqlite, SqliteStore};

async fn append(store: &SqliteStore, key: &str, expected: Expected, events: usize) {
    let events = (0..events).map(|_| NewEvent::raw("Made", "application/json", &b"{}"[..]).key(key));
    store.append(None::<String>, expected, events).await.unwrap();
}

/// Instructions of the database's own machine, which are the same on every machine.
async fn instructions(store: &SqliteStore, work: impl Future<Output = ()>) -> u64 {
    let counted = Arc::new(AtomicU64::new(0));
    {
        let counted = Arc::clone(&counted);
        let mut writer = store.writer().acquire().await.unwrap();
        let mut handle = writer.lock_handle().await.unwrap();
        handle.set_progress_handler(1, move || {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        });
    }
    work.await;
    let mut writer = store.writer().acquire().await.unwrap();
    writer.lock_handle().await.unwrap().remove_progress_handler();
    counted.load(Ordering::Relaxed)
}

#[tokio::test]
async fn an_append_does_not_read_its_stream() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::file(folder.path().join("streams.db")).open().await.unwrap();
    append(&store, "short", Expected::Any, 10).await;
    for _ in 0..50 {
        append(&store, "long", Expected::Any, 100).await;
    }
    for (events, expected) in [(1, None), (1, Some(())), (30, None), (30, Some(())), (200, None), (200, Some(()))] {
        let version = |version| expected.map_or(Expected::Any, |()| Expected::Version(version));
        let (of_short, of_long) = (store_version(&store, "short").await, store_version(&store, "long").await);
        let short = instructions(&store, append(&store, "short", version(of_short), events)).await;
        let long = instructions(&store, append(&store, "long", version(of_long), events)).await;
        assert!(short > 0 && long < short + short / 2, "{events} events take {short} instructions, then {long}");
    }
}

async fn store_version(store: &SqliteStore, key: &str) -> u64 {
    let mut writer = store.writer().acquire().await.unwrap();
    let version: i64 = sqlx::query_scalar("SELECT max(version) FROM evento_event WHERE key = ?")
        .bind(key)
        .fetch_one(&mut *writer)
        .await
        .unwrap();
    version.unsigned_abs()
}
