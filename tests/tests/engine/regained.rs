//! G1, G3, G8: an ownership that was lost and comes back, and the start of one that begins at the head.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::error::StoreError;
use evento_runtime::identity::ConsumerId;
use evento_runtime::prelude::*;
use evento_runtime::store::{ConsumerState, ConsumerStateStore, Lease, RecordedAttempt, Settlement, Store, Stores};
use evento_runtime::{BundleBuilder, CheckpointMode, async_trait};
use evento_tests::ledger::Opened;
use tokio::sync::{Notify, Semaphore};

use crate::expired::Unrenewed;
use crate::scripted::{Call, Journal, Made, MemoryStore, Pooled, Script, append, over, settled, stop, stored, tasks};

/// On a clock that is virtual: leases expire as time is told to pass.
fn renewing(builder: BundleBuilder, mode: CheckpointMode) -> BundleBuilder {
    builder.lease_renewal(LeaseRenewal::Runtime).executor(tasks(8)).checkpoint_mode(mode)
}

/// Whoever lost the ownership while events 0..4 ran owns it again after another has handled all of them but event 0.
/// What it had begun itself counts for nothing then: only the one that is still open runs.
#[tokio::test(start_paused = true)]
async fn an_ownership_that_comes_back_repeats_nothing_that_another_has_handled() {
    let store = MemoryStore::new();
    let last = append(&store, 0..4, 0).await;
    let (first_runs, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let (runs, open) = (first_runs.clone(), Arc::clone(&gate));
    let script = Script::new(move |Call { n, .. }| {
        runs.push(n);
        let open = Arc::clone(&open);
        async move {
            if !open.is_closed() {
                drop(open.acquire().await);
                return Err("the ownership is over".into());
            }
            Ok(Flow::Continue)
        }
    });
    let unrenewed = renewing(over(Unrenewed(store.store())), CheckpointMode::Watermark);
    let first = unrenewed.component(Pooled(script)).build().unwrap().start().await.unwrap();
    evento_tests::eventually("all four run", || first_runs.len() == 4).await;

    let second_runs = Journal::default();
    let runs = second_runs.clone();
    let script = Script::new(move |Call { n, mut stop, .. }| {
        runs.push(n);
        async move {
            if n == 0 {
                stop.stopped().await;
                return Err("told to stop".into());
            }
            Ok(Flow::Continue)
        }
    });
    let renewed = renewing(over(store.clone()), CheckpointMode::Watermark);
    let second = renewed.component(Pooled(script)).build().unwrap().start().await.unwrap();
    evento_tests::eventually("the other has taken over", || second_runs.len() == 4).await;
    stop(second).await;
    let left = stored(&store, "Pooled").await.checkpoint.unwrap();
    assert_eq!((left.reach, left.open.len()), (Some(last.clone()), 1), "event 0 is open, the others are handled");

    first_runs.clear();
    gate.close();
    while !stored(&store, "Pooled").await.checkpoint.unwrap().open.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(first_runs.all(), [0]);
    stop(first).await;
}

/// The stores of a process that cannot store where a consumer begins until the gate opens.
struct Gated {
    state: Arc<dyn ConsumerStateStore>,
    gate: Arc<Notify>,
    waits: Arc<AtomicBool>,
}

#[async_trait]
impl ConsumerStateStore for Gated {
    fn atomic(&self) -> bool {
        self.state.atomic()
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        self.state.load(consumer).await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        if settlement.checkpoint.is_some() && !self.waits.swap(true, Ordering::SeqCst) {
            self.gate.notified().await;
        }
        self.state.settle(lease, settlement).await
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        self.state.attempts(consumer).await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.state.set_enabled(consumer, enabled).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.state.consumers(bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.state.forget(bundle, component, version).await
    }
}

struct FromHead(Script);

#[projector(version = 1, start = "head")]
impl FromHead {
    #[event_handler]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

/// Whoever is told that the bundle has started may append, also where it stands by.
#[tokio::test(start_paused = true)]
async fn a_standby_has_started_once_the_head_is_stored() {
    let store = MemoryStore::new();
    append(&store, 0..3, 0).await;
    let journal = Journal::default();
    let start = |stores: Store| {
        let runs = journal.clone();
        let script = Script::new(move |call| {
            runs.push(call.n);
            async { Ok(Flow::Continue) }
        });
        let builder = over(Opened(stores)).lease_renewal(LeaseRenewal::Runtime).component(FromHead(script));
        tokio::spawn(builder.build().unwrap().start())
    };
    let (gate, waits) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let mut slow = store.store();
    let state = Gated { state: slow.stores.state, gate: Arc::clone(&gate), waits: Arc::clone(&waits) };
    slow.stores = Stores { state: Arc::new(state), ..slow.stores };
    let owner = start(slow);
    evento_tests::eventually("the owner stores where it begins", || waits.load(Ordering::SeqCst)).await;
    let standby = start(store.store());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!standby.is_finished(), "it has started, and nobody knows where the consumer begins");
    gate.notify_one();
    let (owner, standby) = (owner.await.unwrap().unwrap(), standby.await.unwrap().unwrap());
    let last = append(&store, 3..5, 0).await;
    settled(&owner, &last).await;
    assert_eq!(journal.all(), [3, 4]);
    stop(standby).await;
    stop(owner).await;
}
