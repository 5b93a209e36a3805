//! G1, G8, G12: what happens when the store does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use evento_runtime::consumer::StallReason;
use evento_runtime::deps::Need;
use evento_runtime::identity::ConsumerId;
use evento_runtime::store::{
    ConsumerState, ConsumerStateStore, Lease, RecordedAttempt, Settlement, Store, StoreConfig,
};
use evento_runtime::{CheckpointMode, Flow, StoreError, StoreErrorKind};

use crate::scripted::{
    Journal, Limited, MemoryStore, Pooled, Script, append, dead_letters, lanes, over, settled, stop, stored,
};

/// A store whose next settlements fail: `-1` for ever, `n` that many times. `after`: they are stored all the same.
#[derive(Clone)]
pub(crate) struct Faulty {
    store: MemoryStore,
    pub(crate) faults: Arc<AtomicI64>,
    after: bool,
    kind: StoreErrorKind,
}

struct FaultyState {
    inner: Arc<dyn ConsumerStateStore>,
    script: Faulty,
}

#[async_trait]
impl ConsumerStateStore for FaultyState {
    fn atomic(&self) -> bool {
        self.inner.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.inner.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let left = self.script.faults.load(Ordering::SeqCst);
        if left == 0 || settlement.checkpoint.is_none() {
            return self.inner.settle(lease, settlement).await;
        }
        self.script.faults.store(if left > 0 { left - 1 } else { left }, Ordering::SeqCst);
        if self.script.after {
            self.inner.settle(lease, settlement).await?;
        }
        Err(StoreError::new(self.script.kind, "faulty"))
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.inner.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.inner.set_enabled(consumer, enabled).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.inner.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.inner.forget(bundle, component, version).await
    }
}

#[async_trait]
impl StoreConfig for Faulty {
    fn describe(&self) -> String {
        "faulty".to_owned()
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let mut store = Box::new(self.store.clone()).open().await?;
        store.stores.state = Arc::new(FaultyState { inner: store.stores.state, script: *self });
        Ok(store)
    }
}

pub(crate) fn faulty(store: &MemoryStore, faults: i64, after: bool) -> Faulty {
    Faulty { store: store.clone(), faults: Arc::new(AtomicI64::new(faults)), after, kind: StoreErrorKind::Connection }
}

fn counting(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

#[tokio::test]
async fn one_failed_or_unknown_write_stops_no_later_one() {
    for after in [false, true] {
        let store = MemoryStore::new();
        let last = append(&store, 0..2_000, 30).await;
        let journal = Journal::default();
        let running = over(faulty(&store, 3, after))
            .component(Pooled(counting(&journal)))
            .executor(lanes(8))
            .checkpoint_mode(CheckpointMode::Watermark)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(journal.len(), 2_000, "nothing twice within a run");
        let state = stored(&store, "Pooled").await;
        assert_eq!(state.checkpoint.unwrap().watermark, Some(last));
    }
}

#[tokio::test]
async fn an_event_whose_dead_letter_is_not_stored_is_not_settled_and_the_consumer_says_why() {
    let store = MemoryStore::new();
    let last = append(&store, 0..3, 1).await;
    let faulty = faulty(&store, -1, false);
    let faults = Arc::clone(&faulty.faults);
    let script = Script::new(|call| async move {
        if call.n == 0 { Err(evento_runtime::HandlerError::permanent("never").into()) } else { Ok(Flow::Continue) }
    });
    let running = over(faulty).component(Limited(script)).build().unwrap().start().await.unwrap();
    evento_tests::eventually("it says why it stands", || {
        matches!(running.status()[0].reason, Some(StallReason::Store { .. }))
    })
    .await;
    assert_eq!(running.status()[0].counters.settled, 0);
    assert_eq!(dead_letters(&running).await.len(), 0);
    faults.store(0, Ordering::SeqCst);
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 1);
    stop(running).await;
}

#[tokio::test]
async fn nothing_is_lost_while_the_store_is_away() {
    let store = MemoryStore::new();
    append(&store, 0..500, 10).await;
    let faulty = faulty(&store, -1, false);
    let faults = Arc::clone(&faulty.faults);
    let journal = Journal::default();
    let running = over(faulty)
        .component(Pooled(counting(&journal)))
        .executor(lanes(8))
        .checkpoint_mode(CheckpointMode::Watermark)
        .window(64)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    evento_tests::eventually("the window is used up", || journal.len() == 64).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(journal.len(), 64, "no more than the window would run again");
    faults.store(0, Ordering::SeqCst);
    evento_tests::eventually("it goes on by itself", || journal.len() == 500).await;
    stop(running).await;
}
