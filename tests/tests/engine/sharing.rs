//! What may run together: as many as their time and the window allow, and nothing that is to be skipped; and a batch is not cut up
//! for what is no event's fault.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::{BundleBuilder, CheckpointMode, StoreError, async_trait};
use evento_tests::ledger::{Commit, Course, Ledger};
use tokio::sync::Semaphore;

use crate::reported::parts::{begun, timed_out};
use crate::scripted::{Journal, Made, MemoryStore, append, bundle, dead_letters, lanes, over, settled, stop, tasks};

/// How many events each commit is of.
struct Sizes(Journal<usize>);

#[async_trait]
impl Course for Sizes {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        self.0.push(commit.entries.len());
        commit.apply()
    }
}

/// Takes its time, in a transaction.
struct Booked(Duration);

#[projector(version = 1)]
impl Booked {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Ledger>) {
        tokio::time::sleep(self.0).await;
        tx.push(event.n.to_string());
    }
}

struct BookedOnPool(Duration);

#[projector(version = 1)]
impl BookedOnPool {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, tx: &mut Tx<Ledger>) {
        tokio::time::sleep(self.0).await;
        tx.push(event.n.to_string());
    }
}

async fn sizes_of(parallel: bool, takes: Duration, set: impl Fn(BundleBuilder) -> BundleBuilder) -> Vec<usize> {
    let (memory, ledger, sizes) = (MemoryStore::new(), Ledger::default(), Journal::default());
    let last = append(&memory, 0..40, 3).await;
    let builder = set(over(ledger.over(&memory, Arc::new(Sizes(sizes.clone())))));
    let builder = builder.checkpoint_mode(CheckpointMode::Watermark);
    let running = begun(match parallel {
        true => builder.component(BookedOnPool(takes)).executor(lanes(1)),
        false => builder.component(Booked(takes)),
    })
    .await;
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(ledger.entries().len(), 40, "parallel: {parallel}");
    sizes.all()
}

/// 20 ms on a lane, 50 ms in order: then no further one begins.
#[tokio::test(start_paused = true)]
async fn a_transaction_is_not_open_for_longer_than_its_time_and_one_handler() {
    for (parallel, takes) in [(true, 8), (false, 20)] {
        let sizes = sizes_of(parallel, Duration::from_millis(takes), |builder| builder).await;
        assert!(sizes.iter().all(|size| *size <= 3), "parallel: {parallel}, {sizes:?}");
        assert!(sizes.contains(&3), "parallel: {parallel}, {sizes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_has_no_more_events_than_the_window() {
    for parallel in [true, false] {
        let sizes = sizes_of(parallel, Duration::ZERO, |builder| builder.window(3).checkpoint_every(2)).await;
        assert!(sizes.iter().all(|size| *size <= 3), "parallel: {parallel}, {sizes:?}");
        assert!(sizes.iter().any(|size| *size > 1), "parallel: {parallel}, {sizes:?}");
    }
}

/// What a batch handler does with its call, the number of which it is given.
type Judge = fn(usize, &[u64]) -> Result<(), BoxError>;

#[derive(Clone)]
struct Batched {
    calls: Journal<Vec<u64>>,
    gate: Arc<Semaphore>,
    judge: Judge,
}

impl Batched {
    fn of(judge: Judge) -> Self {
        Self { calls: Journal::default(), gate: Arc::new(Semaphore::new(0)), judge }
    }

    async fn handle(&self, events: Vec<Made>) -> Result<(), BoxError> {
        let numbers: Vec<u64> = events.iter().map(|event| event.n).collect();
        self.calls.push(numbers.clone());
        let call = self.calls.len();
        self.gate.acquire().await?.forget();
        (self.judge)(call, &numbers)
    }
}

struct InOrder(Batched);

#[projector(version = 1)]
impl InOrder {
    #[event_handler(batch = 4, retry = 0, retry_delay = "1ms")]
    async fn made(&self, events: Vec<Made>) -> Result<(), BoxError> {
        self.0.handle(events).await
    }
}

struct OnPool(Batched);

#[projector(version = 1)]
impl OnPool {
    #[event_handler(executor = "pool", batch = 4, retry = 0, retry_delay = "1ms")]
    async fn made(&self, events: Vec<Made>) -> Result<(), BoxError> {
        self.0.handle(events).await
    }
}

fn batching(memory: &MemoryStore, parallel: bool, batched: &Batched) -> BundleBuilder {
    let builder = bundle(memory).checkpoint_mode(CheckpointMode::Watermark);
    match parallel {
        true => builder.component(OnPool(batched.clone())).executor(tasks(1)),
        false => builder.component(InOrder(batched.clone())),
    }
}

/// The call that fails is cut up; a pause comes before the first half.
#[tokio::test]
async fn a_pause_lets_no_further_call_of_a_batch_begin() {
    for parallel in [false, true] {
        let memory = MemoryStore::new();
        let last = append(&memory, 0..4, 0).await;
        let batched = Batched::of(|_, numbers| if numbers.contains(&2) { Err("never".into()) } else { Ok(()) });
        let running = begun(batching(&memory, parallel, &batched)).await;
        evento_tests::eventually("it is called", || batched.calls.len() == 1).await;
        let consumer = running.consumers().remove(0);
        consumer.pause().await.unwrap();
        // The loop hears of it in its turn.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        batched.gate.add_permits(100);
        evento_tests::eventually("it stands", || consumer.status().in_flight == 0).await;
        assert_eq!(batched.calls.all(), [[0, 1, 2, 3]], "parallel: {parallel}");
        consumer.resume().await.unwrap();
        settled(&running, &last).await;
        let dead = dead_letters(&running).await;
        assert_eq!(dead.iter().map(|dead| dead.letter.attempts).collect::<Vec<_>>(), [1], "parallel: {parallel}");
        stop(running).await;
    }
}

/// Smaller calls would find the world no readier.
#[tokio::test]
async fn a_batch_is_not_cut_up_for_what_is_no_events_fault() {
    for parallel in [false, true] {
        let memory = MemoryStore::new();
        let last = append(&memory, 0..4, 0).await;
        let batched = Batched::of(|call, _| if call == 1 { Err(timed_out()) } else { Ok(()) });
        batched.gate.add_permits(100);
        let running = begun(batching(&memory, parallel, &batched)).await;
        settled(&running, &last).await;
        let sizes: Vec<usize> = batched.calls.all().iter().map(Vec::len).collect();
        // The one that found out waits, alone; the others are called as they are.
        assert_eq!(sizes, if parallel { [4, 3, 1] } else { [4, 1, 3] });
        assert_eq!(dead_letters(&running).await.len(), 0, "parallel: {parallel}");
        stop(running).await;
    }
}

#[tokio::test]
async fn what_is_to_be_skipped_is_in_no_batch() {
    for parallel in [false, true] {
        let memory = MemoryStore::new();
        let last = append(&memory, 0..8, 0).await;
        let batched = Batched::of(|_, _| Ok(()));
        let running = begun(batching(&memory, parallel, &batched)).await;
        evento_tests::eventually("it is called", || batched.calls.len() == 1).await;
        running.consumers().remove(0).skip(Position::from_u64(6)).await.unwrap();
        batched.gate.add_permits(100);
        settled(&running, &last).await;
        let seen: Vec<u64> = batched.calls.all().into_iter().flatten().collect();
        assert_eq!(seen, [0, 1, 2, 3, 4, 6, 7], "parallel: {parallel}");
        stop(running).await;
    }
}
