//! G9, G15: the steps of a handler's transaction when something comes between them.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::error::{StoreError, StoreErrorKind};
use evento_runtime::identity::Epoch;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use evento_runtime::{CheckpointMode, Running, async_trait};
use evento_tests::ledger::{Commit, Course, Ledger, Plainly};
use tokio::sync::Semaphore;

use crate::expired::Unrenewed;
use crate::scripted::{Journal, Made, MemoryStore, append, dead_letters, lanes, over, settled, stop, tasks};

/// In the consumer's own loop.
#[derive(Clone)]
struct Booked(Journal<u64>);

/// On an executor.
#[derive(Clone)]
struct BookedOnPool(Journal<u64>);

#[projector(version = 1)]
impl Booked {
    #[event_handler(retry = 0, timeout = "20ms", on_timeout = "abandon")]
    async fn made(&self, event: Made, tx: &mut Tx<Ledger>) -> Result<(), BoxError> {
        book(&self.0, event.n, tx).await
    }
}

#[projector(version = 1)]
impl BookedOnPool {
    #[event_handler(executor = "pool", retry = 0, timeout = "20ms", on_timeout = "abandon")]
    async fn made(&self, event: Made, tx: &mut Tx<Ledger>) -> Result<(), BoxError> {
        book(&self.0, event.n, tx).await
    }
}

/// The first run of event 13 fails.
async fn book(runs: &Journal<u64>, n: u64, tx: &mut Tx<Ledger>) -> Result<(), BoxError> {
    runs.push(n);
    tx.push(n.to_string());
    tokio::task::yield_now().await;
    if n == 13 && runs.len() == 1 { Err("not yet".into()) } else { Ok(()) }
}

/// `parallel`: on an executor instead of in the loop.
async fn begun(
    memory: &MemoryStore,
    ledger: &Ledger,
    course: impl Course,
    runs: &Journal<u64>,
    parallel: bool,
) -> Running {
    let builder = over(ledger.over(memory, Arc::new(course))).checkpoint_mode(CheckpointMode::Watermark);
    let builder = match parallel {
        true => builder.component(BookedOnPool(runs.clone())).executor(tasks(2)),
        false => builder.component(Booked(runs.clone())),
    };
    builder.build().unwrap().start().await.unwrap()
}

/// The first commit takes effect, and its answer is lost.
struct Unanswered(Semaphore);

#[async_trait]
impl Course for Unanswered {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        commit.apply()?;
        match self.0.try_acquire() {
            Ok(lost) => {
                lost.forget();
                Err(StoreError::new(StoreErrorKind::Connection, "ledger"))
            }
            Err(_) => Ok(()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_redriven_letter_whose_commit_has_no_answer_is_not_handled_again() {
    for parallel in [false, true] {
        let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
        let last = append(&memory, [13], 0).await;
        let running = begun(&memory, &ledger, Unanswered(Semaphore::new(1)), &runs, parallel).await;
        settled(&running, &last).await;
        assert_eq!((dead_letters(&running).await.len(), ledger.entries().len()), (1, 0));
        let consumer = running.consumers().remove(0);
        assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
        evento_tests::eventually("it is handled", || !ledger.entries().is_empty()).await;
        let last = append(&memory, [1], 0).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(runs.all(), [13, 13, 1], "parallel: {parallel}");
        assert_eq!(ledger.entries(), ["13", "1"]);
        let running = begun(&memory, &ledger, Unanswered(Semaphore::new(0)), &runs, parallel).await;
        assert!(dead_letters(&running).await.is_empty(), "its letter is resolved");
        stop(running).await;
        assert_eq!(runs.len(), 3, "the next run of the process finds nothing to do");
    }
}

/// A commit takes longer than the handler may.
struct Slowly;

#[async_trait]
impl Course for Slowly {
    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        commit.apply()
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_under_way_is_not_abandoned_with_its_handler() {
    for parallel in [false, true] {
        let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
        let last = append(&memory, 0..2, 0).await;
        let running = begun(&memory, &ledger, Slowly, &runs, parallel).await;
        settled(&running, &last).await;
        let counters = running.status()[0].counters;
        assert_eq!((counters.failed, counters.dead_lettered), (0, 0), "parallel: {parallel}");
        stop(running).await;
        assert_eq!((runs.len(), ledger.entries().len()), (2, 2), "parallel: {parallel}");
    }
}

/// No transaction is to be had until the test says so.
#[derive(Clone)]
struct NoRoom {
    waiting: Journal<()>,
    room: Arc<Semaphore>,
}

#[async_trait]
impl Course for NoRoom {
    async fn begin(&self) -> Result<(), StoreError> {
        self.waiting.push(());
        self.room.acquire().await.unwrap().forget();
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_its_transaction_at_a_stop_does_not_begin() {
    for parallel in [false, true] {
        let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
        append(&memory, 0..1, 0).await;
        let course = NoRoom { waiting: Journal::default(), room: Arc::new(Semaphore::new(0)) };
        let running = begun(&memory, &ledger, course.clone(), &runs, parallel).await;
        evento_tests::eventually("it waits for a transaction", || course.waiting.len() == 1).await;
        let stopping = tokio::spawn(running.stop(Duration::from_secs(10)));
        // Room comes after the stop.
        tokio::time::sleep(Duration::from_secs(1)).await;
        course.room.add_permits(10);
        stopping.await.unwrap().unwrap();
        assert_eq!((runs.len(), ledger.entries().len()), (0, 0), "parallel: {parallel}");
        // It is open, and handled by the next run.
        let running = begun(&memory, &ledger, course, &runs, parallel).await;
        settled(&running, &Position::from_u64(1)).await;
        stop(running).await;
        assert_eq!(ledger.entries(), ["0"]);
    }
}

/// Five seconds pass before a transaction is open.
#[derive(Clone)]
struct Late(Journal<()>);

#[async_trait]
impl Course for Late {
    async fn begin(&self) -> Result<(), StoreError> {
        self.0.push(());
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(())
    }
}

/// The process stood still for longer than its lease. Found by the simulation (seeds 2 and 260).
#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_its_transaction_does_not_begin_once_the_ownership_is_over() {
    for parallel in [false, true] {
        let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
        append(&memory, 0..1, 0).await;
        let course = Late(Journal::default());
        let unrenewed = Unrenewed(ledger.beside(memory.store(), Arc::new(course.clone())));
        let builder = over(unrenewed).lease_renewal(LeaseRenewal::Runtime).checkpoint_mode(CheckpointMode::Watermark);
        let builder = match parallel {
            true => builder.component(BookedOnPool(runs.clone())).executor(tasks(1)),
            false => builder.component(Booked(runs.clone())),
        };
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("it waits for a transaction", || course.0.len() == 1).await;
        tokio::time::advance(Duration::from_secs(15)).await;
        evento_tests::eventually("another ownership has begun", || course.0.len() == 2).await;
        assert_eq!(runs.len(), 0, "parallel: {parallel}");
        stop(running).await;
    }
}

/// The first event of a key fails; the one beside it in its transaction never ends.
struct Together(Journal<u64>);

#[projector(version = 1)]
impl Together {
    #[event_handler(executor = "pool", retry = 5, retry_delay = "1h", max_delay = "1h")]
    async fn made(&self, event: Made, tx: &mut Tx<Ledger>) -> Result<(), BoxError> {
        self.0.push(event.n);
        tx.push(event.n.to_string());
        match event.n {
            0 => Err("not yet".into()),
            _ => std::future::pending().await,
        }
    }
}

/// Whoever shares a transaction with one that has ended is in flight all the same. Found by the simulation (seed 564).
#[tokio::test(start_paused = true)]
async fn an_ownership_is_kept_while_one_of_a_group_runs_at_the_deadline() {
    let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
    append(&memory, 0..3, 3).await;
    let builder = over(ledger.over(&memory, Arc::new(Plainly))).checkpoint_mode(CheckpointMode::Watermark);
    let running = builder.component(Together(runs.clone())).executor(lanes(1)).build().unwrap().start().await.unwrap();
    evento_tests::eventually("the second one runs", || runs.all().contains(&1)).await;
    evento_tests::eventually("the first one has failed", || running.status()[0].counters.failed == 1).await;
    let consumer = running.status()[0].consumer.clone();
    let late = running.stop(Duration::from_millis(10)).await.unwrap_err();
    assert!(late.to_string().contains("made"), "{late}");
    let taken = memory.store().stores.lock.acquire(&consumer, Epoch(0)).await.unwrap();
    assert!(taken.is_none(), "it was given up while a handler ran");
}
