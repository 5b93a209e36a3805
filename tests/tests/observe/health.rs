//! Alive, ready, and why not.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::observe::Health;
use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Running, SeekTo, StallReason};
use tokio::sync::Semaphore;

use crate::shop::{Gate, InOrder, Parallel, Placed, bundle, orders, place, settled};

/// Long enough for a loop that turns, on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(20);
/// For one that does not.
const SHORT: Duration = Duration::from_millis(50);

async fn health(running: &Running) -> Health {
    running.health().check(PATIENCE).await
}

#[tokio::test]
async fn a_consumer_that_stands_is_alive_and_one_that_stands_by_is_healthy() {
    let (store, gate) = (MemoryStore::new(), Gate::shut());
    let builder = bundle("shop", &store).component(InOrder(gate.clone())).component(Parallel(gate.clone()));
    let running = builder.executor(ConsumerExecutors::tasks("pool", 1)).build().unwrap().start().await.unwrap();
    let builder = bundle("shop", &store).component(InOrder(gate.clone())).component(Parallel(gate.clone()));
    let beside = builder.executor(ConsumerExecutors::tasks("pool", 1)).build().unwrap().start().await.unwrap();
    let last = place(&running, orders(3, 0)).await;
    evento_tests::eventually("both stand", || running.status().iter().all(|one| one.in_flight == 1)).await;
    for bundle in [&running, &beside] {
        let health = health(bundle).await;
        assert!(health.live && health.ready, "{health:?}");
        assert_eq!(health.consumers.len(), 2);
    }
    let json = health(&beside).await.to_json();
    assert_eq!(json["live"], true);
    assert_eq!(json["consumers"][0]["consumer"], "shop/InOrder v1");
    assert_eq!(json["consumers"][0]["reason"], StallReason::Standby.to_string());
    gate.0.add_permits(Semaphore::MAX_PERMITS);
    settled(&running, &last).await;
    let check = running.health();
    running.stop(PATIENCE).await.unwrap();
    assert!(check.check(PATIENCE).await.live, "a bundle that has stopped has no loop that hangs");
    beside.stop(PATIENCE).await.unwrap();
}

/// Blocks its thread, which an `async` handler must not.
struct Blocking(Arc<Mutex<mpsc::Receiver<()>>>);

#[projector(version = 1)]
impl Blocking {
    #[event_handler]
    async fn placed(&self, _event: Placed) {
        self.0.lock().unwrap().recv().ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_handler_that_blocks_its_loop_is_found() {
    let store = MemoryStore::new();
    let (release, released) = mpsc::channel();
    let builder = bundle("shop", &store).component(InOrder(Gate::open()));
    let builder = builder.component(Blocking(Arc::new(Mutex::new(released))));
    let running = builder.build().unwrap().start().await.unwrap();
    assert!(health(&running).await.live);
    place(&running, orders(1, 0)).await;
    let mut found = running.health().check(SHORT).await;
    for _ in 0..400 {
        if !found.live {
            break;
        }
        found = running.health().check(SHORT).await;
    }
    let by_name: Vec<_> = found.consumers.iter().map(|one| (&*one.consumer.component, one.live)).collect();
    assert!(by_name.contains(&("Blocking", false)), "{by_name:?}");
    let plain = running.consumers_of::<InOrder>();
    assert!(plain[0].is_live(PATIENCE).await, "another consumer's loop goes on");
    release.send(()).unwrap();
    drop(release);
    assert!(health(&running).await.live, "once it goes on");
    running.stop(PATIENCE).await.unwrap();
}

#[tokio::test]
async fn ready_is_who_has_settled_what_was_there_at_the_start() {
    let (store, gate) = (MemoryStore::new(), Gate::shut());
    let first = bundle("other", &store).component(InOrder(Gate::open())).build().unwrap().start().await.unwrap();
    let last = place(&first, orders(3, 0)).await;
    first.stop(PATIENCE).await.unwrap();
    let builder = bundle("shop", &store).component(InOrder(gate.clone())).wait_for_head::<InOrder>(true);
    let running = builder.build().unwrap().start_early().await.unwrap();
    let before = health(&running).await;
    assert!(before.live && !before.ready && !before.consumers[0].ready, "{before:?}");
    gate.0.add_permits(Semaphore::MAX_PERMITS);
    settled(&running, &last).await;
    assert!(health(&running).await.ready);
    running.stop(PATIENCE).await.unwrap();
}

/// Its hook takes as long as the test likes.
struct Rebuilt(Gate);

#[projector(version = 1)]
impl Rebuilt {
    #[on_reset]
    async fn clear(&self) -> Result<(), BoxError> {
        let _permit = self.0.0.acquire().await?;
        Ok(())
    }

    #[event_handler]
    async fn placed(&self, _event: Placed) {}
}

#[tokio::test]
async fn a_hook_that_takes_its_time_is_no_loop_that_hangs() {
    let (store, gate) = (MemoryStore::new(), Gate::shut());
    let running = bundle("shop", &store).component(Rebuilt(gate.clone())).build().unwrap().start().await.unwrap();
    let last = place(&running, orders(3, 0)).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    let seek = tokio::spawn(async move { consumer.seek(SeekTo::Start).await });
    evento_tests::eventually("it has been moved", || running.status()[0].watermark.is_none()).await;
    assert!(running.health().check(SHORT).await.live);
    gate.0.add_permits(1);
    seek.await.unwrap().unwrap();
    settled(&running, &last).await;
    running.stop(PATIENCE).await.unwrap();
}
