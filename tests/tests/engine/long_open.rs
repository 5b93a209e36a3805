//! G7 on SQLite: while a handler's transaction is open nobody else writes to the file, nor does the keeper renew; however
//! long that takes, the ownership is kept.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::identity::Epoch;
use evento_runtime::prelude::*;
use evento_runtime::store::{ConsumerLock as _, Sqlite, SqliteStore, Synchronous};
use evento_runtime::{CheckpointMode, Expected};
use tokio::sync::Semaphore;

use crate::reported::parts::{begun, id};
use crate::scripted::{Journal, Made, over, settled, stop, tasks};

const LEASE: Duration = Duration::from_millis(800);

/// Writes, and keeps its transaction until the gate opens.
#[derive(Clone)]
struct Slow {
    runs: Journal<u64>,
    gate: Arc<Semaphore>,
}

impl Slow {
    async fn write(&self, n: u64, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        sqlx::query("INSERT INTO entry (n) VALUES (?1)").bind(i64::try_from(n)?).execute(&mut **tx).await?;
        self.runs.push(n);
        self.gate.acquire().await?.forget();
        Ok(())
    }
}

struct InOrder(Slow);

#[projector(version = 1)]
impl InOrder {
    #[event_handler]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        self.0.write(event.n, tx).await
    }
}

struct OnPool(Slow);

#[projector(version = 1)]
impl OnPool {
    #[event_handler(executor = "pool")]
    async fn made(&self, event: Made, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        self.0.write(event.n, tx).await
    }
}

async fn open(path: &std::path::Path) -> SqliteStore {
    Sqlite::file(path).synchronous(Synchronous::Normal).lease(LEASE).open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_is_open_for_longer_than_the_lease_keeps_the_ownership() {
    for parallel in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        let (store, other) = (open(&path).await, open(&path).await);
        let table = sqlx::query("CREATE TABLE entry (n INTEGER NOT NULL)");
        table.execute(&mut *store.writer().acquire().await.unwrap()).await.unwrap();
        let slow = Slow { runs: Journal::default(), gate: Arc::new(Semaphore::new(0)) };
        let builder = over(store.clone()).checkpoint_mode(CheckpointMode::Watermark);
        let (builder, name) = match parallel {
            true => (builder.component(OnPool(slow.clone())).executor(tasks(1)), "OnPool"),
            false => (builder.component(InOrder(slow.clone())), "InOrder"),
        };
        let running = begun(builder).await;
        let last = store.append(None::<String>, Expected::Any, [Made { n: 1 }]).await.unwrap().last;
        evento_tests::eventually("it is in its transaction", || slow.runs.len() == 1).await;
        let epoch = running.status()[0].epoch;
        // Somebody else who would like to own it, all the time.
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        let contender = other.clone();
        let contending = tokio::spawn(async move {
            let (consumer, mut told) = (id(name), told);
            while told.try_recv().is_err() {
                if let Some(lease) = contender.acquire(&consumer, Epoch(0)).await.unwrap() {
                    return Some(lease);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            None
        });
        tokio::time::sleep(3 * LEASE).await;
        let status = running.status().remove(0);
        assert_eq!((status.epoch, status.in_flight), (epoch, 1), "parallel: {parallel}, {:?}", status.reason);
        slow.gate.add_permits(10);
        settled(&running, &last).await;
        // The lease has run out meanwhile, and is renewed before anybody may take it.
        tokio::time::sleep(2 * LEASE).await;
        tell.send(()).unwrap();
        assert_eq!(contending.await.unwrap(), None, "parallel: {parallel}");
        assert_eq!((running.status()[0].epoch, slow.runs.all()), (epoch, vec![1]), "parallel: {parallel}");
        stop(running).await;
        let entries = sqlx::query("SELECT n FROM entry").fetch_all(&mut *store.writer().acquire().await.unwrap()).await;
        assert_eq!(entries.unwrap().len(), 1, "parallel: {parallel}");
        store.close().await;
        other.close().await;
    }
}
