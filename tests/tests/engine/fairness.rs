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
        tokio::time::sleep(takes(meta.context())).await;
    }
}

/// When each handler of whom began, with how long it took.
type Ran = (usize, Duration, Duration);
type Runs = Vec<Ran>;

/// What ran on an executor in so many seconds.
async fn runs(executor: Arc<dyn ConsumerExecutor>, loads: &[(&str, u64)], seconds: u32) -> Runs {
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
    tokio::time::sleep(SECOND * seconds).await;
    let seen = journal.all();
    let left: u64 = running.status().iter().map(|status| u64::from(status.open == 0)).sum();
    assert_eq!(left, 0, "somebody has nothing to do any more");
    running.stop(Duration::from_secs(60)).await.unwrap();
    let run = |(context, at): (String, Duration)| {
        let who = loads.iter().position(|(other, _)| **other == *context).unwrap();
        (who, at, takes(&context))
    };
    seen.into_iter().map(run).collect()
}

fn takes(context: &str) -> Duration {
    Duration::from_millis(context.split_once('-').unwrap().1.parse().unwrap())
}

/// The least that anybody got of its equal share in any second, of the time that permits were out. With fewer permits
/// than consumers nobody can hold one all the time: there a share of the starts will do as well.
fn least_share(runs: &Runs, consumers: usize, permits: usize, seconds: u32) -> f64 {
    let time = |from: Duration, (_, at, takes): &Ran| {
        (*at + *takes).min(from + SECOND).saturating_sub((*at).max(from)).as_secs_f64()
    };
    let start = |from: Duration, (_, at, _): &Ran| f64::from(u8::from(*at >= from && *at < from + SECOND));
    let shares = |second: u32, of: &dyn Fn(Duration, &Ran) -> f64| {
        let mut got = vec![0.0; consumers];
        runs.iter().for_each(|run| got[run.0] += of(SECOND * second, run));
        let equal = got.iter().sum::<f64>() / consumers as f64;
        got.into_iter().map(|got| got / equal).collect::<Vec<f64>>()
    };
    let in_second = |second: u32| {
        let (times, starts) = (shares(second, &time), shares(second, &start));
        let best =
            times.into_iter().zip(starts).map(|(time, start)| if permits < consumers { time.max(start) } else { time });
        best.fold(f64::INFINITY, f64::min)
    };
    (0..seconds).map(in_second).fold(f64::INFINITY, f64::min)
}

/// Backlogs of very different sizes, and handlers of very different speed.
const LOADS: [&[(&str, u64)]; 4] = [
    &[("a-10", 10_000), ("b-10", 2_000)],
    &[("a-100", 1_000), ("b-5", 4_000)],
    &[("a-10", 10_000), ("b-10", 1_200), ("c-10", 1_200), ("d-10", 1_200)],
    &[("a-100", 1_000), ("b-5", 2_000), ("c-20", 1_000), ("d-10", 1_200)],
];

/// More permits than consumers, and fewer.
#[tokio::test(start_paused = true)]
async fn nobody_gets_less_than_half_of_an_equal_share() {
    for loads in LOADS {
        for permits in [1, 3, 16] {
            let seen = runs(ConsumerExecutors::tasks("pool", permits), loads, 2).await;
            let least = least_share(&seen, loads.len(), permits, 2);
            println!("{loads:?} on {permits} permits: at least {least:.2} of an equal share");
            assert!(least >= 0.5, "{loads:?} on {permits} permits: {least:.2}");
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
    let seen = runs(Arc::new(Favouring(Arc::new(unfair))), LOADS[0], 2).await;
    let least = least_share(&seen, 2, 3, 2);
    assert!(least < 0.5, "{least}");
}

/// Two consumers, ten starts in a second between them, evenly spread.
#[tokio::test(start_paused = true)]
async fn a_rate_is_shared_and_spread() {
    let executor = ConsumerExecutors::tasks("pool", 8).rate(10, SECOND);
    let seen = runs(Arc::clone(&executor), &[("a-1", 1_000), ("b-1", 1_000)], 10).await;
    for (start, (_, at, _)) in (0..).zip(&seen) {
        let due = Duration::from_millis(100) * start;
        assert!(*at >= due && *at < due + Duration::from_millis(20), "start {start} at {at:?}");
    }
    assert_eq!(seen.len(), 100);
    assert!(least_share(&seen, 2, 1, 10) >= 0.8, "{seen:?}");
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
