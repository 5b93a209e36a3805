//! Handlers that block every thread of the runtime: ownership is kept by a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evento_runtime::identity::Epoch;
use evento_runtime::prelude::*;
use evento_runtime::store::StoreConfig;
use evento_runtime::{BoxError, Bundle, Expected};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::helpers::consumer;

const LEASE: Duration = Duration::from_secs(1);
const BLOCKED: Duration = Duration::from_secs(2);

#[derive(Event, Serialize, Deserialize)]
struct Blocks {
    n: i64,
}

struct Progress {
    waiting: AtomicUsize,
    begun: AtomicUsize,
    ended: AtomicUsize,
    most: AtomicUsize,
    go: Semaphore,
}

impl Progress {
    async fn block(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.go.acquire().await.unwrap().forget();
        let running = self.begun.fetch_add(1, Ordering::SeqCst) + 1 - self.ended.load(Ordering::SeqCst);
        self.most.fetch_max(running, Ordering::SeqCst);
        std::thread::sleep(BLOCKED);
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

struct First(Arc<Progress>);

#[projector(version = 1)]
impl First {
    #[event_handler]
    async fn blocks(&self, _event: Blocks) -> Result<(), BoxError> {
        self.0.block().await;
        Ok(())
    }
}

struct Second(Arc<Progress>);

#[projector(version = 1)]
impl Second {
    #[event_handler]
    async fn blocks(&self, _event: Blocks) -> Result<(), BoxError> {
        self.0.block().await;
        Ok(())
    }
}

fn ownership_is_kept(config: impl StoreConfig + Clone) {
    let progress = Arc::new(Progress {
        waiting: AtomicUsize::new(0),
        begun: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        go: Semaphore::new(0),
    });
    let workers = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let beside = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let other = beside.block_on(Box::new(config.clone()).open()).unwrap();
    let bundle = Bundle::builder("b").component(First(Arc::clone(&progress))).component(Second(Arc::clone(&progress)));
    let running = workers.block_on(bundle.store(config).build().unwrap().start()).unwrap();
    beside.block_on(async {
        other.append("k", Expected::Any, [Blocks { n: 1 }]).await.unwrap();
        evento_tests::eventually("both are about to", || progress.waiting.load(Ordering::SeqCst) == 2).await;
        let epochs: Vec<Epoch> = running.status().iter().map(|status| status.epoch).collect();
        progress.go.add_permits(2);
        let began = Instant::now();
        let mut asked = 0;
        while progress.ended.load(Ordering::SeqCst) < 2 {
            for name in ["First", "Second"] {
                let taken = other.stores.lock.acquire(&consumer(name), Epoch(0)).await.unwrap();
                assert!(taken.is_none(), "{name} was taken over after {:?}", began.elapsed());
            }
            asked += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(began.elapsed() >= BLOCKED && asked > 20, "{:?}, {asked}", began.elapsed());
        assert_eq!(progress.most.load(Ordering::SeqCst), 2, "both at once");
        evento_tests::eventually("both are settled", || {
            running.status().iter().all(|status| status.counters.settled == 1)
        })
        .await;
        assert_eq!(running.status().iter().map(|status| status.epoch).collect::<Vec<_>>(), epochs);
    });
    workers.block_on(running.stop(Duration::from_secs(10))).unwrap();
    beside.block_on(async { other.close.unwrap().close().await });
}

#[cfg(feature = "postgres")]
#[test]
fn blocked_workers_keep_their_ownership_on_postgres() {
    let Some(corner) = crate::postgres::Corner::new() else { return };
    ownership_is_kept(corner.config().lease(LEASE).renew(LEASE / 5));
}

#[cfg(feature = "mysql")]
#[test]
fn blocked_workers_keep_their_ownership_on_mariadb() {
    use evento_runtime::store::MySql;
    match evento_tests::servers::reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => {
            let prefix = evento_tests::servers::Prefix::new();
            ownership_is_kept(MySql::url(&url).prefix(prefix.name()).lease(LEASE).renew(LEASE / 5));
        }
        Err(reason) => evento_tests::skip(&reason),
    }
}
