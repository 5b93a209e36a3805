//! Opening and closing.

use std::sync::Arc;

use evento_runtime::identity::Epoch;
use evento_runtime::source::{EventFilter, EventSource as _, FetchLimits};
use evento_runtime::store::{
    ConsumerLock as _, ConsumerStateStore as _, Settlement, Sqlite, SqliteStore, SqliteWriter, StoreConfig,
};
use evento_runtime::{AppendError, Expected, StoreErrorKind};

use super::{consumer, event, open};

/// While others use the processors: never locked, nothing left open, every event there.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_opened_and_closed_many_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    for round in 0..100 {
        let store = open(&path).await;
        let appended = store.append("k", Expected::Version(round), [event([1])]).await.unwrap();
        assert_eq!(appended.version, Some(round + 1));
        let lease = store.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
        store.renew(std::slice::from_ref(&lease)).await.unwrap();
        store.settle(&lease, Settlement::default()).await.unwrap();
        store.release(&lease).await.unwrap();
        store.close().await;
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Every method answers `Closed`, also while another store keeps the file open; closing again is nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let (store, stays) = (open(&path).await, open(&path).await);
    let lease = store.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
    tokio::join!(store.close(), store.close());
    store.close().await;
    let limits = FetchLimits { events: 1, bytes: 1 };
    let refused = [
        store.fetch(None, limits, &EventFilter::all()).await.map(drop).unwrap_err(),
        store.head().await.map(drop).unwrap_err(),
        store.settle(&lease, Settlement::default()).await.unwrap_err(),
        store.acquire(&consumer("B"), Epoch(0)).await.map(drop).unwrap_err(),
        store.renew(&[lease]).await.map(drop).unwrap_err(),
        store.load(&consumer("A")).await.map(drop).unwrap_err(),
        StoreConfig::open(Box::new(store.clone())).await.map(drop).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), StoreErrorKind::Closed);
    }
    match store.append("k", Expected::Any, [event([1])]).await {
        Err(AppendError::Store(error)) => assert_eq!(error.kind(), StoreErrorKind::Closed),
        appended => panic!("{appended:?}"),
    }
    stays.append("k", Expected::New, [event([1])]).await.unwrap();
    let writer = stays.writer();
    stays.close().await;
    assert_eq!(writer.acquire().await.unwrap_err().kind(), StoreErrorKind::Closed);
}

/// Whatever leads to the file, it is one file with one writer.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn two_names_of_a_file_share_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("o.db"), folder.path().join("link.db"));
    let store = open(&path).await;
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let other = open(&link).await;
    let guard = store.writer().acquire().await.unwrap();
    assert_eq!(other.writer().acquire().await.unwrap_err().kind(), StoreErrorKind::WriterHeld);
    drop(guard);
    let mut wake = evento_runtime::source::EventSource::wake(&other);
    wake.borrow_and_update();
    store.append("k", Expected::New, [event([1])]).await.unwrap();
    assert!(wake.has_changed().unwrap());
    store.close().await;
    other.append("k", Expected::Version(1), [event([1])]).await.unwrap();
    other.close().await;
}

/// Sixteen at once in one process: one file is made, all get it.
#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_open_one_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path: Arc<std::path::Path> = folder.path().join("o.db").into();
    let opening = (0..16).map(|_| {
        let path = Arc::clone(&path);
        tokio::spawn(async move {
            let store = open(&path).await;
            store.append("k", Expected::Any, [event([1])]).await.unwrap();
            store.close().await;
        })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap();
    }
    assert_eq!(open(&path).await.head().await.unwrap().unwrap().as_u64(), Some(16));
}

/// Configuration touches nothing; what the bundle opens the bundle closes, what the user opened stays open.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_supplies_its_writer_and_knows_who_closes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let config = Sqlite::file(&path);
    assert_eq!((config.describe(), config.is_durable(), config.writers()), (path.display().to_string(), true, Some(1)));
    let needs = config.supplies();
    assert!(!path.exists());
    let opened = StoreConfig::open(Box::new(config)).await.unwrap();
    assert!(needs.iter().all(|need| opened.supplied.contains(need)) && needs.len() == 2);
    let store: SqliteStore = opened.supplied.get().unwrap();
    let writer: SqliteWriter = opened.supplied.get().unwrap();
    opened.append("k", Expected::New, [event([1])]).await.unwrap();
    drop(writer.acquire().await.unwrap());
    let users = StoreConfig::open(Box::new(store.clone())).await.unwrap();
    assert!(users.close.is_none());
    opened.close.unwrap().close().await;
    assert_eq!(store.head().await.unwrap_err().kind(), StoreErrorKind::Closed);
}
