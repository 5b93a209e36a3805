//! G7: once the time of an ownership is over nothing more starts, further attempts included.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::error::{StoreError, StoreErrorKind};
use evento_runtime::identity::{ConsumerId, Epoch, OwnerId};
use evento_runtime::store::{ConsumerLock, Lease, Store, StoreConfig, Stores};
use evento_runtime::{CheckpointMode, Flow, Position, async_trait};

use crate::scripted::{Journal, MemoryStore, Plain, Pooled, Script, append, lanes, over};

/// A store whose leases cannot be renewed.
pub(crate) struct Unrenewed(pub(crate) Store);

struct Lock(Arc<dyn ConsumerLock>);

#[async_trait]
impl StoreConfig for Unrenewed {
    fn describe(&self) -> String {
        "unrenewed".to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<evento_runtime::deps::Need> {
        Vec::new()
    }

    fn database(&self) -> Option<evento_runtime::deps::Need> {
        self.0.stores.transactions.as_ref().map(|transactions| transactions.database())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let stores = self.0.stores.clone();
        Ok(Store { stores: Stores { lock: Arc::new(Lock(Arc::clone(&stores.lock))), ..stores }, ..self.0 })
    }
}

#[async_trait]
impl ConsumerLock for Lock {
    fn owner(&self) -> OwnerId {
        self.0.owner()
    }

    fn lease_duration(&self) -> Duration {
        self.0.lease_duration()
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        self.0.acquire(consumer, above).await
    }

    async fn renew(&self, _: &[Lease]) -> Result<Vec<bool>, StoreError> {
        Err(StoreError::new(StoreErrorKind::Connection, "unrenewed"))
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.0.release(lease).await
    }
}

/// The process was stopped for longer than its lease, and wakes up to a command before it looks at the time. Found by
/// the simulation (seeds 1196 and 1653).
#[tokio::test(start_paused = true)]
async fn no_further_attempt_begins_under_an_ownership_whose_time_is_over() {
    for parallel in [false, true] {
        let store = MemoryStore::new();
        append(&store, 0..1, 0).await;
        let journal = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            log.push(call.attempt);
            async { Ok(Flow::RetryAfter(Duration::from_secs(5))) }
        });
        let builder = over(Unrenewed(store.store())).lease_renewal(LeaseRenewal::Runtime);
        let builder = match parallel {
            true => builder.component(Pooled(script)).executor(lanes(1)).checkpoint_mode(CheckpointMode::OnStart),
            false => builder.component(Plain(script)),
        };
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("it waits", || journal.len() == 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let handle = running.consumers().remove(0);
        let (asking, asked) = tokio::sync::oneshot::channel();
        let command = tokio::spawn(async move {
            asked.await.unwrap();
            handle.skip(Position::from_u64(99)).await
        });
        tokio::task::yield_now().await;
        asking.send(()).unwrap();
        tokio::time::advance(Duration::from_secs(15)).await;
        drop(command.await.unwrap());
        evento_tests::eventually("it is handled again", || journal.len() >= 2).await;
        // The first attempt of the next ownership.
        assert_eq!(journal.all()[..2], [1, 1], "parallel: {parallel}");
        running.stop(Duration::from_secs(10)).await.unwrap();
    }
}
