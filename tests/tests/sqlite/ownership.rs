//! Taking over: at once from the dead, with patience from the silent, never from the living.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evento_runtime::StoreErrorKind;
use evento_runtime::identity::Epoch;
use evento_runtime::store::{
    ConsumerLock as _, ConsumerStateStore as _, Settlement, Sqlite, SqliteStore, SqliteWriter, TransactionStore as _,
};

use super::{child, consumer, open, stranger};

const NONE: Epoch = Epoch(0);

fn side_files(folder: &std::path::Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().contains("-owner-")).count()
}

/// `kill -9`: both consumers change hands long before their lease of 30 s ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_owner_is_replaced_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let mut child = child::command("hold", &path).spawn().unwrap();
    child::wait_for_line(&mut child, "holding");
    let store = open(&path).await;
    assert!(store.acquire(&consumer("A"), NONE).await.unwrap().is_none(), "its owner lives");
    let before = store.load(&consumer("A")).await.unwrap().epoch;
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    for name in ["A", "B"] {
        let lease = store.acquire(&consumer(name), NONE).await.unwrap().expect(name);
        assert!(lease.epoch > before);
    }
    assert!(killed.elapsed() < Duration::from_secs(5));
    assert_eq!(side_files(folder.path()), 1, "that of the dead is gone, ours is there");
    store.close().await;
    assert_eq!(side_files(folder.path()), 0);
}

/// Killed before it owned anything: the next owner tidies up.
#[tokio::test(flavor = "multi_thread")]
async fn side_files_of_the_dead_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let mut child = child::command("hold", &path).spawn().unwrap();
    child::wait_for_line(&mut child, "holding");
    child.kill().unwrap();
    child.wait().unwrap();
    let store = open(&path).await;
    sqlx::query("DELETE FROM evento_lease").execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
    store.acquire(&consumer("C"), NONE).await.unwrap().unwrap();
    assert_eq!(side_files(folder.path()), 1);
    store.close().await;
}

async fn short(path: &std::path::Path) -> SqliteStore {
    let config = Sqlite::file(path).lease(Duration::from_millis(150)).renew(Duration::from_millis(50));
    config.open().await.unwrap()
}

/// Alive, but it does not renew: whoever saw the same expired row twice, one lease apart, takes over.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_is_taken_at_the_second_look() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let (mine, theirs) = (short(&path).await, short(&path).await);
    let lost = mine.acquire(&consumer("A"), NONE).await.unwrap().unwrap();
    assert!(theirs.acquire(&consumer("A"), NONE).await.unwrap().is_none());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(theirs.acquire(&consumer("A"), NONE).await.unwrap().is_none(), "first look");
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(theirs.acquire(&consumer("A"), NONE).await.unwrap().is_none(), "too soon, a renewal later");
    tokio::time::sleep(Duration::from_millis(100)).await;
    // It was only slow: a renewal in between keeps it.
    assert_eq!(mine.renew(std::slice::from_ref(&lost)).await.unwrap(), [true]);
    assert!(theirs.acquire(&consumer("A"), NONE).await.unwrap().is_none(), "renewed");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(theirs.acquire(&consumer("A"), NONE).await.unwrap().is_none(), "first look at the new row");
    tokio::time::sleep(Duration::from_millis(160)).await;
    let taken = theirs.acquire(&consumer("A"), NONE).await.unwrap().expect("second look");
    assert_eq!(taken.epoch, Epoch(lost.epoch.0 + 1));
    assert_eq!(mine.renew(std::slice::from_ref(&lost)).await.unwrap(), [false]);
    let refused = mine.settle(&lost, Settlement::default()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced, "fenced from the takeover on");
    mine.close().await;
    theirs.close().await;
}

/// As the keeper does: another thread, another runtime, while the writer of this process is busy elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn renewal_works_from_another_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let config = Sqlite::file(&path).busy_timeout(Duration::from_millis(200)).renew(Duration::from_secs(1));
    let store = config.open().await.unwrap();
    let lease = store.acquire(&consumer("A"), NONE).await.unwrap().unwrap();
    let renew = || {
        let (store, lease) = (store.clone(), lease.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { store.renew(&[lease]).await })
        })
    };
    let guard = store.writer().acquire().await.unwrap();
    assert_eq!(renew().join().unwrap().unwrap(), [true], "a guard without a transaction is in nobody's way");
    drop(guard);
    let mut other = stranger(&path).await;
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    assert_eq!(renew().join().unwrap().unwrap_err().kind(), StoreErrorKind::Busy);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(renew().join().unwrap().unwrap(), [true]);
    store.close().await;
}

/// What was held when a transaction of this process began is held as long as that is open; what had run out by then is
/// not, and one that a handler begins by itself proves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_keeps_what_was_held_when_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let config = Sqlite::file(&path).lease(Duration::from_millis(400)).renew(Duration::from_millis(50));
    let store = config.busy_timeout(Duration::from_millis(50)).open().await.unwrap();
    let renew = async |lease| store.renew(std::slice::from_ref(lease)).await;
    let run_out = store.acquire(&consumer("A"), NONE).await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(450)).await;
    let held = store.acquire(&consumer("B"), NONE).await.unwrap().unwrap();
    let open = store.begin().await.unwrap();
    tokio::time::sleep(Duration::from_millis(450)).await;
    assert_eq!(renew(&held).await.unwrap(), [true], "nobody can have taken it");
    assert_eq!(renew(&run_out).await.unwrap(), [false], "somebody may have seen it run out before");
    open.roll_back().await;
    assert_eq!(renew(&held).await.unwrap(), [true], "renewed");
    let mut own = store.writer().acquire().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *own).await.unwrap();
    assert_eq!(renew(&held).await.unwrap_err().kind(), StoreErrorKind::Busy);
    drop(own);
    assert_eq!(renew(&held).await.unwrap(), [true]);
    // The same in the store's own transactions.
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (end, has_ended) = tokio::sync::oneshot::channel::<()>();
    let writer: SqliteWriter = store.writer();
    let writing = tokio::spawn(async move {
        let work = writer.transaction(|_| {
            Box::pin(async move {
                begun.send(()).unwrap();
                has_ended.await.unwrap();
                Ok::<_, evento_runtime::StoreError>(())
            })
        });
        work.await
    });
    has_begun.await.unwrap();
    tokio::time::sleep(Duration::from_millis(450)).await;
    assert_eq!(renew(&held).await.unwrap(), [true], "nobody can have taken it");
    end.send(()).unwrap();
    writing.await.unwrap().unwrap();
    store.close().await;
}

/// One transaction after the other, without a gap that anybody would meet by trying again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_writer_does_not_keep_leases_from_being_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o.db");
    let store = Sqlite::file(&path).busy_timeout(Duration::from_millis(100)).open().await.unwrap();
    let lease = store.acquire(&consumer("A"), NONE).await.unwrap().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let (writer, stop) = (store.writer(), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::SeqCst) {
                    let mut db = writer.acquire().await.unwrap();
                    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *db).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    sqlx::raw_sql("COMMIT").execute(&mut *db).await.unwrap();
                }
            })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(store.renew(std::slice::from_ref(&lease)).await.unwrap(), [true]);
    }
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    store.close().await;
}
