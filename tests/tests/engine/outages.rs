//! G5, G11: a key that holds, and a dependency that is away, while everything else goes on. On a virtual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, HandlerError};
use tokio::time::Instant;

use crate::scripted::{Journal, Made, MemoryStore, Script, append_all, lanes, over, stop, tasks};

struct Keyed(Script);

#[projector(version = 1)]
impl Keyed {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }
}

const HOT: u64 = 0;
const OTHERS: u64 = 31;
const TAKES: Duration = Duration::from_secs(1);
const HOLDS: Duration = Duration::from_secs(60);

/// 31 keys alone for a while, then beside a key whose first event holds for a minute with 499 waiting behind it.
#[tokio::test(start_paused = true)]
async fn a_hot_key_that_holds_for_a_minute_costs_the_others_nothing() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        // Fifty rounds of the others; fifty more with ten of the hot key in each.
        let round = |hot| std::iter::repeat_n(HOT, hot).chain(1..=OTHERS);
        let keys = (0..50).flat_map(|_| round(0)).chain((0..50).flat_map(|_| round(10)));
        append_all(&store, keys.map(|key| NewEvent::from(Made { n: key }).key(format!("k{key}")))).await;
        let (ends, hot_began) = (Journal::default(), Journal::default());
        let (others, of_hot) = (ends.clone(), hot_began.clone());
        let script = Script::new(move |call| {
            let (others, of_hot) = (others.clone(), of_hot.clone());
            async move {
                if call.n == HOT {
                    of_hot.push(Instant::now());
                    tokio::time::sleep(HOLDS).await;
                } else {
                    tokio::time::sleep(TAKES).await;
                    others.push(Instant::now());
                }
                Ok(Flow::Continue)
            }
        });
        let began = Instant::now();
        let builder = over(store.clone()).lease_renewal(LeaseRenewal::Runtime).checkpoint_mode(mode);
        // Some of the rounds are over before the hot key is read.
        let builder = builder.look_ahead(1_024).page(500);
        let running = builder.component(Keyed(script)).executor(lanes(32)).build().unwrap().start().await.unwrap();
        while hot_began.len() < 2 {
            tokio::time::sleep(TAKES).await;
        }
        let (from, ends) = (hot_began.all()[0], ends.all());
        let alone = ends.iter().filter(|end| **end <= from).count();
        let beside = ends.iter().filter(|end| **end > from && **end <= from + HOLDS).count();
        let rate = |count: usize, time: Duration| f64::from(u32::try_from(count).unwrap()) / time.as_secs_f64();
        let ratio = rate(beside, HOLDS) / rate(alone, from - began);
        assert!(alone > 200 && ratio >= 0.95, "{mode}: the others keep {ratio:.3} of their rate, {alone} and {beside}");
        running.stop(Duration::ZERO).await.unwrap_err();
    }
}

/// Capacity times the passes of the backoff within a minute: 100 ms, doubling, at most 30 s, less a fifth.
const CAPACITY: u64 = 8;
const PASSES: u64 = 12;

#[tokio::test(start_paused = true)]
async fn a_dependency_that_is_away_for_a_minute_costs_no_backlog() {
    let store = MemoryStore::new();
    let backlog = (0..100_000).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 64)));
    append_all(&store, backlog).await;
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let handled = Arc::new(AtomicU64::new(0));
        let (count, back) = (Arc::clone(&handled), Instant::now() + Duration::from_secs(60));
        let script = Script::new(move |_| {
            let count = Arc::clone(&count);
            async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                if Instant::now() < back {
                    return Err(HandlerError::transient("nobody answers").into());
                }
                count.fetch_add(1, Ordering::SeqCst);
                Ok(Flow::Continue)
            }
        });
        let bundle = evento_runtime::Bundle::builder(format!("{mode}")).store(store.clone());
        // Under `Watermark` everything that was read ahead is tried in turn: enough of it says the same.
        let look_ahead = if mode == CheckpointMode::OnStart { 1_024 } else { 64 };
        let bundle = bundle.lease_renewal(LeaseRenewal::Runtime).checkpoint_mode(mode).look_ahead(look_ahead);
        let running = bundle.component(Keyed(script)).executor(tasks(8)).build().unwrap().start().await.unwrap();
        // As soon as it is back they go on, within the longest pause.
        while handled.load(Ordering::SeqCst) < 1_000 {
            let dead = running.status()[0].counters.dead_lettered;
            let most = if mode == CheckpointMode::OnStart { CAPACITY * PASSES } else { 0 };
            assert!(dead <= most, "{mode}: {dead} dead letters, at most {most}");
            assert!(Instant::now() < back + Duration::from_secs(45), "{mode}: it does not go on");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        stop(running).await;
    }
}
