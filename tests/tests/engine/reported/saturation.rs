//! Full executors, slow sources, large events: what is bounded, and what is never taken for the head.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use evento_runtime::consumer::{Happening, StallReason};
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::executor::{Admission, ConsumerExecutor, ConsumerExecutors, Work};
use evento_runtime::prelude::*;
use evento_runtime::source::{
    Append, Appended, Batch, EventFilter, EventSource, EventStore, FetchLimits, PositionCheck,
};
use evento_runtime::store::Store;
use evento_runtime::{AppendError, CheckpointMode, StoreError, StoredEvent, Timestamp};
use tokio::sync::{Barrier, Semaphore, watch};

use super::parts::*;
use crate::scripted::{
    Journal, MemoryStore, Neighbour, Plain, Pooled, Script, dead_letters, over, settled, stop, tasks,
};

#[tokio::test]
async fn f06_a_full_executor_is_never_taken_for_the_head_and_goes_on_with_the_first_free_permit() {
    let store = MemoryStore::new().store();
    let last = put(&store, made(0..6)).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let builder = over(ConsumerEngineConfig::of(&store))
        .component(Pooled(gated(&journal, &gate)))
        .component(Neighbour(gated(&journal, &gate)))
        .wait_for_head::<Pooled>(true)
        .wait_for_head::<Neighbour>(true)
        .admission_wait(Duration::from_millis(5))
        .executor(tasks(1));
    let bundle = builder.build().unwrap();
    let mut events = bundle.events();
    let starting = tokio::spawn(bundle.start());
    // Both are refused again and again, but for the one that runs.
    let no_permit = StallReason::NoPermit { executor: "pool".to_owned() };
    while events.recv().await.unwrap().what != (Happening::Stalled { reason: no_permit.clone() }) {}
    for permit in 0..11 {
        evento_tests::eventually("one more has begun", || journal.len() == permit + 1).await;
        assert!(!starting.is_finished(), "the head was reported with work to do");
        gate.add_permits(1);
    }
    gate.add_permits(1);
    let running = starting.await.unwrap().unwrap();
    assert!(running.status().iter().all(|one| one.watermark.as_ref() >= Some(&last)));
    let all = sorted(&journal);
    assert_eq!(all, (0..6).flat_map(|n| [n, n]).collect::<Vec<_>>(), "no gap, nothing twice");
    stop(running).await;
}

#[tokio::test]
async fn f11_a_transient_failure_under_watermark_is_held_without_a_permit() {
    let store = MemoryStore::new().store();
    let (journal, away) = (Journal::default(), Switch::turned());
    let is_away = away.clone();
    let script = failing(&journal, move |call| (call.n == 0 && is_away.is_on()).then(timed_out));
    let pooled = over(ConsumerEngineConfig::of(&store)).component(Pooled(script)).executor(tasks(1));
    let running = begun(pooled.checkpoint_mode(CheckpointMode::Watermark)).await;
    let last = put(&store, made(0..20)).await;
    evento_tests::eventually("all others use the only permit, and it is tried beyond its budget", || {
        let all = journal.all();
        (1..20).all(|n| all.contains(&(n, 1))) && all.iter().filter(|(n, _)| *n == 0).count() > 5
    })
    .await;
    evento_tests::eventually("it says so", || running.status()[0].reason == Some(StallReason::BackingOff)).await;
    let counters = running.status()[0].counters;
    assert!(counters.transient > 5 && counters.dead_lettered == 0);
    away.turn(false);
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 0);
    stop(running).await;
}

/// A log that counts what is read of it, and lets reads through only while it is open.
struct Counting {
    inner: Arc<dyn EventStore>,
    open: watch::Sender<bool>,
    reading: AtomicUsize,
    most: AtomicUsize,
    largest: AtomicUsize,
    read: AtomicUsize,
}

impl Counting {
    fn over(store: &Store, open: bool) -> (Arc<Self>, ConsumerEngineConfig) {
        let mut config = ConsumerEngineConfig::of(store);
        let counting = Arc::new(Self {
            inner: config.processor.events,
            open: watch::channel(open).0,
            reading: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            largest: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
        });
        config.processor.events = Arc::clone(&counting) as _;
        (counting, config)
    }
}

#[async_trait]
impl EventSource for Counting {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let reading = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(reading, Ordering::SeqCst);
        self.largest.fetch_max(limits.bytes, Ordering::SeqCst);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
        let batch = self.inner.fetch(after, limits, filter).await;
        self.read.fetch_add(batch.as_ref().map_or(0, |batch| batch.events.len()), Ordering::SeqCst);
        self.reading.fetch_sub(1, Ordering::SeqCst);
        batch
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        self.inner.read_exact(positions).await
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        self.inner.head().await
    }

    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError> {
        self.inner.before(time).await
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        self.inner.validate(position).await
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.inner.wake()
    }
}

#[async_trait]
impl EventStore for Counting {
    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        self.inner.append(batch).await
    }
}

#[tokio::test]
async fn f31_one_read_at_a_time_and_none_holds_up_a_stop() {
    let store = MemoryStore::new().store();
    let (log, config) = Counting::over(&store, false);
    let journal = Journal::default();
    let running = begun(over(config).component(Plain(noting(&journal)))).await;
    // Every append is a hint to read, and a reader that does not answer gets no second question.
    for n in 0..50 {
        put(&store, made([n])).await;
        tokio::task::yield_now().await;
    }
    evento_tests::eventually("it reads", || log.reading.load(Ordering::SeqCst) == 1).await;
    assert_eq!((log.most.load(Ordering::SeqCst), journal.len()), (1, 0));
    let began = tokio::time::Instant::now();
    stop_within(running, Duration::from_millis(100)).await;
    assert!(began.elapsed() < Duration::from_secs(5), "the stop waited for a read");
    log.open.send_replace(true);
    let running = begun(over(ConsumerEngineConfig::of(&store)).component(Plain(noting(&journal)))).await;
    evento_tests::eventually("all is handled", || journal.len() == 50).await;
    stop(running).await;
}

/// Whether or not a read was left behind.
async fn stop_within(running: evento_runtime::Running, deadline: Duration) {
    let _ = running.stop(deadline).await;
}

#[tokio::test]
async fn f32_what_is_read_ahead_is_bounded_in_bytes() {
    const AHEAD: usize = 64 * 1_024;
    let store = MemoryStore::new().store();
    let (log, config) = Counting::over(&store, true);
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    // Sixteen kilobytes each.
    let padding = " ".repeat(16 * 1_024);
    let events = (0..200).map(|n| NewEvent::raw("Made", "application/json", format!("{{\"n\":{n}{padding}}}")));
    let last = put(&store, events).await;
    let running = begun(over(config).component(Plain(gated(&journal, &gate))).look_ahead_bytes(AHEAD)).await;
    for permit in 0..20 {
        evento_tests::eventually("one runs", || journal.len() == permit + 1).await;
        // One runs, four or five wait; the last may reach over the limit.
        let read = log.read.load(Ordering::SeqCst);
        assert!(read <= journal.len() + 5, "{read} were read, {} had begun", journal.len());
        gate.add_permits(1);
    }
    assert!(log.largest.load(Ordering::SeqCst) <= AHEAD);
    gate.add_permits(1_000);
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(journal.len(), 200);
}

#[tokio::test]
async fn f33_a_backlog_makes_nothing_longer_than_its_bounds() {
    let store = MemoryStore::new().store();
    let (log, config) = Counting::over(&store, true);
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let last = put(&store, made(0..5_000)).await;
    let pooled = over(config).component(Pooled(gated(&journal, &gate))).executor(tasks(4));
    let pooled = pooled.checkpoint_mode(CheckpointMode::Watermark).look_ahead(50).page(20);
    let running = begun(pooled.admission_wait(Duration::from_millis(2))).await;
    evento_tests::eventually("it is refused again and again", || running.status()[0].counters.rejected > 20).await;
    let status = running.status().remove(0);
    assert_eq!((journal.len(), status.in_flight, status.counters.started), (4, 4, 4));
    assert!(status.open <= 54 && log.read.load(Ordering::SeqCst) <= 54);
    // Nothing expires in a queue: what was refused has left no trace and is handled in its turn.
    gate.add_permits(10_000);
    settled(&running, &last).await;
    let counters = running.status()[0].counters;
    assert_eq!((counters.started, counters.failed, journal.len()), (5_000, 0, 5_000));
    stop(running).await;
}

#[tokio::test]
async fn f44_an_executor_is_busy_from_the_admission_on() {
    let make: [fn(usize) -> Arc<dyn ConsumerExecutor>; 3] = [
        |n| ConsumerExecutors::tasks("pool", n),
        |n| ConsumerExecutors::partitioned("pool", n),
        |n| ConsumerExecutors::pooled("pool", n),
    ];
    for make in make {
        let executor = make(2);
        let admission = Admission { consumer: Arc::new(id("Any")), key: None, wait: Duration::from_secs(60) };
        let permit = executor.admit(admission).await.unwrap();
        assert_eq!(executor.stats().in_flight, 1, "admitted, and not an instruction run");
        let closing = tokio::spawn({
            let executor = Arc::clone(&executor);
            async move { executor.close().await }
        });
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!closing.is_finished(), "reported idle with a permit out");
        let (tell, told) = tokio::sync::oneshot::channel();
        let future = Box::pin(async move { tell.send(()).unwrap() });
        executor.run(permit, Work { future, blocking: false });
        told.await.unwrap();
        closing.await.unwrap();
        assert_eq!(executor.stats().in_flight, 0);
    }
}

#[tokio::test]
async fn f46_every_permit_is_of_use_from_the_first_event_on() {
    for place in places().await {
        let together = Arc::new(Barrier::new(32));
        let script = Script::new(move |_| {
            let together = Arc::clone(&together);
            async move {
                // Only if all of them run at once does anyone get through.
                together.wait().await;
                Ok(Flow::Continue)
            }
        });
        let last = put(&place.store, made(0..64)).await;
        // A store just opened: none of its connections was ever used.
        let store = place.again().await;
        let pooled = over(ConsumerEngineConfig::of(&store)).component(Pooled(script)).executor(tasks(32));
        let running = begun(pooled.checkpoint_mode(CheckpointMode::Watermark)).await;
        settled(&running, &last).await;
        assert_eq!(running.status()[0].counters.rejected, 0, "{}", place.name);
        stop(running).await;
        close(store).await;
        place.close().await;
    }
}
