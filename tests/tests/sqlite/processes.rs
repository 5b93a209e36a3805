//! Several processes on one file.

use std::time::Duration;

use evento_runtime::source::{EventFilter, EventSource as _, FetchLimits};
use evento_runtime::store::Sqlite;

use super::{child, open};

const MANY: FetchLimits = FetchLimits { events: 10_000, bytes: usize::MAX };

/// Nobody fails, the schema is made once, and appends of all are in one order.
#[tokio::test(flavor = "multi_thread")]
async fn five_processes_open_a_new_file_at_once() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.db");
        let children: Vec<_> = (0..5).map(|_| child::command("append", &path).spawn().unwrap()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        }
        let store = open(&path).await;
        let page = store.fetch(None, MANY, &EventFilter::all()).await.unwrap();
        let versions: Vec<_> = page.events.iter().map(|event| event.version.unwrap()).collect();
        assert_eq!(versions, (1..=100).collect::<Vec<_>>());
        store.close().await;
    }
}

/// The hint comes from the watch for other processes, as nothing is appended here.
#[tokio::test(flavor = "multi_thread")]
async fn appends_of_another_process_wake() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let store = open(&path).await;
    let mut wake = store.inner_wake();
    // Past the watch's first look.
    tokio::time::sleep(Duration::from_millis(150)).await;
    wake.borrow_and_update();
    let mut child = child::command("append", &path).spawn().unwrap();
    wake.changed().await.unwrap();
    assert!(store.head().await.unwrap().is_some());
    assert!(child.wait().unwrap().success());
    store.close().await;
}

trait InnerWake {
    fn inner_wake(&self) -> tokio::sync::watch::Receiver<u64>;
}

impl InnerWake for evento_runtime::store::SqliteStore {
    fn inner_wake(&self) -> tokio::sync::watch::Receiver<u64> {
        evento_runtime::source::EventSource::wake(self)
    }
}

/// After `close` nothing of ours is left: the file can be replaced, another process goes on at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_file_is_free_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    for round in 1..=3 {
        let store = Sqlite::file(&path).open().await.unwrap();
        store.append("k", evento_runtime::Expected::Any, [super::event([1])]).await.unwrap();
        store.close().await;
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["o.db"]);
        let output = child::command("append", &path).output().unwrap();
        assert!(output.status.success(), "round {round}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
