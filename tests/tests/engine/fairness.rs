//! Consumers that share an executor: each gets its share, whatever the others have to do; and a rate is one for all.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::StallReason;
use evento_runtime::executor::{
    Admission, ConsumerExecutor, ConsumerExecutors, ExecutorStats, Permit, PermitPool, Work,
};
use evento_runtime::prelude::*;
use evento_runtime::{Bundle, CheckpointMode, async_trait};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::reported::parts::begun;
use crate::scripted::{Journal, Made, MemoryStore, append_all, settled, stop};

const SECOND: Duration = Duration::from_secs(1);

/// One consumer for each context, which are called after what their handlers take: `a-20` 20 ms.
struct Shared(Journal<(String, Duration)>, Instant);

#[projector(version = 1)]
impl Shared {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, _event: Made, meta: Metadata) {
        self.0.push((meta.context().to_owned(), self.1.elapsed()));
        let (_, takes) = meta.context().split_once('-').unwrap();
        tokio::time::sleep(Duration::from_millis(takes.parse().unwrap())).await;
    }
}

/// Who started how many handlers in each second of so many.
async fn starts(executor: Arc<dyn ConsumerExecutor>, loads: &[(&str, u64)], seconds: usize) -> Vec<Vec<usize>> {
    let store = MemoryStore::new();
    for (context, events) in loads {
        append_all(&store, (0..*events).map(|n| NewEvent::from(Made { n }).context(*context))).await;
    }
    let journal = Journal::default();
    let running = begun(
        Bundle::builder("b")
            .store(store)
            .component(Shared(journal.clone(), Instant::now()))
            .component_contexts::<Shared>(loads.iter().map(|(context, _)| *context))
            .executor(executor)
            .checkpoint_mode(CheckpointMode::Watermark)
            .lease_renewal(LeaseRenewal::Runtime),
    )
    .await;
    tokio::time::sleep(SECOND * u32::try_from(seconds).unwrap()).await;
    let seen = journal.all();
    running.stop(Duration::from_secs(60)).await.unwrap();
    let in_second = |context: &str, second: usize| {
        seen.iter().filter(|(of, at)| of == context && usize::try_from(at.as_secs()).unwrap() == second).count()
    };
    (0..seconds).map(|second| loads.iter().map(|(context, _)| in_second(context, second)).collect()).collect()
}

/// The least that anybody got of its equal share in any second. The loads last for longer than what is looked at.
fn least_share(starts: &[Vec<usize>]) -> f64 {
    let share = |second: &Vec<usize>| {
        let equal = second.iter().sum::<usize>() as f64 / second.len() as f64;
        second.iter().copied().min().unwrap_or_default() as f64 / equal
    };
    starts.iter().map(share).fold(f64::INFINITY, f64::min)
}

/// Backlogs of very different sizes, handlers of very different speed, more consumers than permits and fewer.
const LOADS: [&[(&str, u64)]; 4] = [
    &[("a-2", 20_000), ("b-2", 3_000)],
    &[("a-50", 2_000), ("b-1", 3_000)],
    &[("a-2", 20_000), ("b-2", 2_000), ("c-2", 2_000), ("d-2", 2_000)],
    &[("a-50", 2_000), ("b-1", 2_000), ("c-5", 2_000), ("d-1", 2_000)],
];

#[tokio::test(start_paused = true)]
async fn nobody_gets_less_than_half_of_an_equal_share() {
    for loads in LOADS {
        for permits in [1, 3, 16] {
            let seen = starts(ConsumerExecutors::tasks("pool", permits), loads, 2).await;
            let least = least_share(&seen);
            println!("{} consumers, {permits} permits: at least {least:.2} of an equal share {seen:?}", loads.len());
            assert!(least >= 0.5, "{loads:?} on {permits}: {seen:?}");
        }
    }
}

/// Gives its permits to whoever asked first for one, and asks again at once: no turns.
struct Unfair {
    free: Mutex<usize>,
    changed: Notify,
    favourite: Mutex<VecDeque<String>>,
}

struct Pool(Arc<Unfair>);

impl PermitPool for Pool {
    fn give_back(&self, _: usize) {
        *self.0.free.lock().unwrap() += 1;
        self.0.changed.notify_waiters();
    }
}

struct Favouring(Arc<Unfair>);

#[async_trait]
impl ConsumerExecutor for Favouring {
    fn name(&self) -> &str {
        "pool"
    }

    fn capacity(&self) -> Option<usize> {
        Some(3)
    }

    fn keeps_key_order(&self) -> bool {
        false
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        let me = admission.consumer.to_string();
        {
            let mut order = self.0.favourite.lock().unwrap();
            if !order.contains(&me) {
                order.push_back(me.clone());
            }
        }
        let first = self.0.favourite.lock().unwrap().front() == Some(&me);
        loop {
            let changed = self.0.changed.notified();
            {
                let mut free = self.0.free.lock().unwrap();
                // The last permit is the favourite's.
                if *free > usize::from(!first) {
                    *free -= 1;
                    return Some(Permit::new(Arc::new(Pool(Arc::clone(&self.0))), 0));
                }
            }
            changed.await;
        }
    }

    fn run(&self, permit: Permit, work: Work) {
        tokio::spawn(async move {
            work.future.await;
            drop(permit);
        });
    }

    fn stats(&self) -> ExecutorStats {
        ExecutorStats::default()
    }

    async fn close(&self) {}
}

/// The measure is one: without turns somebody goes short.
#[tokio::test(start_paused = true)]
async fn an_executor_without_turns_is_found_out() {
    let unfair = Unfair { free: Mutex::new(3), changed: Notify::new(), favourite: Mutex::default() };
    let seen = starts(Arc::new(Favouring(Arc::new(unfair))), LOADS[0], 2).await;
    assert!(least_share(&seen) < 0.5, "{seen:?}");
}

/// Two consumers, ten starts in a second between them, evenly spread.
#[tokio::test(start_paused = true)]
async fn a_rate_is_shared_and_spread() {
    let executor = ConsumerExecutors::tasks("pool", 8).rate(10, SECOND);
    let seen = starts(Arc::clone(&executor), &[("a-1", 1_000), ("b-300", 1_000)], 10).await;
    assert!(seen.iter().all(|second| second.iter().sum::<usize>() == 10), "{seen:?}");
    assert!(least_share(&seen) >= 0.8, "{seen:?}");
    assert!(executor.stats().paced >= 95 && executor.stats().admitted <= 101, "{:?}", executor.stats());
}

/// It is said why, nothing counts as rejected, and permits are left for others.
#[tokio::test(start_paused = true)]
async fn waiting_for_the_rate_takes_no_permit_and_is_no_rejection() {
    let store = MemoryStore::new();
    let last = append_all(&store, (0..3).map(|n| NewEvent::from(Made { n }).context("a-1"))).await;
    let executor = ConsumerExecutors::tasks("pool", 2).rate(1, Duration::from_secs(30));
    let journal = Journal::default();
    let running = begun(
        Bundle::builder("b")
            .store(store)
            .component(Shared(journal.clone(), Instant::now()))
            .executor(Arc::clone(&executor))
            .admission_wait(Duration::from_millis(100))
            .checkpoint_mode(CheckpointMode::Watermark)
            .lease_renewal(LeaseRenewal::Runtime),
    )
    .await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let status = running.status().remove(0);
    assert_eq!(status.reason, Some(StallReason::RateLimited { executor: "pool".to_owned() }));
    assert_eq!((status.counters.rejected, status.in_flight, journal.len()), (0, 0, 1));
    let figures = executor.stats();
    assert_eq!((figures.in_flight, figures.rejected, figures.waits_for_rate), (0, 0, true));
    settled(&running, &last).await;
    let at: Vec<u64> = journal.all().iter().map(|(_, at)| at.as_secs()).collect();
    assert_eq!(at, [0, 30, 60]);
    stop(running).await;
}
