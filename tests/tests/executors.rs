//! Executors through their public face: capacity, fairness, closing, panics, threads.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a test may")]

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::executor::{Admission, ConsumerExecutor, ConsumerExecutors, Permit, Work};
use evento_runtime::identity::{ConsumerId, ContextPattern};
use tokio::task::JoinSet;

fn consumer(name: &str) -> Arc<ConsumerId> {
    Arc::new(ConsumerId { bundle: "b".into(), component: name.into(), version: 1, context: ContextPattern::All })
}

fn ask(consumer: &Arc<ConsumerId>) -> Admission {
    Admission { consumer: Arc::clone(consumer), key: None, wait: Duration::from_secs(60) }
}

fn work(future: impl Future<Output = ()> + Send + 'static) -> Work {
    Work { future: Box::pin(future), blocking: false }
}

type Maker = fn(usize) -> Arc<dyn ConsumerExecutor>;
const BOUNDED: [Maker; 3] = [
    |n| ConsumerExecutors::tasks("e", n),
    |n| ConsumerExecutors::pooled("e", n),
    |n| ConsumerExecutors::partitioned("e", n),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn capacity_is_never_exceeded() {
    for make in BOUNDED {
        let executor = make(7);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut askers = JoinSet::new();
        for c in 0..5 {
            let (executor, running, most) = (Arc::clone(&executor), Arc::clone(&running), Arc::clone(&most));
            askers.spawn(async move {
                let me = consumer(&format!("c{c}"));
                for i in 0..300 {
                    let permit = executor.admit(ask(&me)).await.unwrap();
                    let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                    let future = Box::pin(async move {
                        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        tokio::task::yield_now().await;
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                    executor.run(permit, Work { future, blocking: i % 10 == 0 });
                }
            });
        }
        while let Some(asked) = askers.join_next().await {
            asked.unwrap();
        }
        executor.close().await;
        assert!(most.load(Ordering::SeqCst) <= 7);
        let stats = executor.stats();
        assert_eq!((stats.in_flight, stats.admitted, stats.completed, stats.rejected), (0, 1_500, 1_500, 0));
        assert!(stats.peak <= 7);
    }
}

/// One consumer keeps eight tickets waiting, the other one: both get their half.
#[tokio::test]
async fn a_greedy_consumer_gets_no_more_than_its_share() {
    for make in BOUNDED {
        let executor = make(2);
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut askers = JoinSet::new();
        for (name, tickets) in [("greedy", 8), ("modest", 1)] {
            let me = consumer(name);
            for _ in 0..tickets {
                let (executor, served, me) = (Arc::clone(&executor), Arc::clone(&served), Arc::clone(&me));
                askers.spawn(async move {
                    while let Some(permit) = executor.admit(ask(&me)).await {
                        served.lock().unwrap().push(name);
                        executor.run(permit, work(tokio::time::sleep(Duration::from_millis(1))));
                    }
                });
            }
        }
        while served.lock().unwrap().len() < 400 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        executor.close().await;
        while askers.join_next().await.is_some() {}
        let served = served.lock().unwrap();
        let modest = served[20..400].iter().filter(|name| **name == "modest").count();
        assert!(modest >= 150, "{modest} of 380");
    }
}

#[tokio::test]
async fn close_refuses_at_once_and_waits_for_what_runs() {
    for make in BOUNDED {
        let executor = make(1);
        let me = consumer("c");
        let permit = executor.admit(ask(&me)).await.unwrap();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let done = Arc::new(AtomicUsize::new(0));
        let ended = Arc::clone(&done);
        executor.run(
            permit,
            work(async move {
                released.await.unwrap();
                ended.store(1, Ordering::SeqCst);
            }),
        );
        let mut waiting = JoinSet::new();
        waiting.spawn({
            let (executor, me) = (Arc::clone(&executor), Arc::clone(&me));
            async move { executor.admit(ask(&me)).await.is_none() }
        });
        tokio::task::yield_now().await;
        // A close that nobody waits for has begun all the same.
        tokio::select! {
            () = executor.close() => panic!("did not wait"),
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        assert!(waiting.join_next().await.unwrap().unwrap(), "who waited gets nothing");
        assert!(executor.admit(ask(&me)).await.is_none());
        release.send(()).unwrap();
        executor.close().await;
        assert_eq!(done.load(Ordering::SeqCst), 1);
        executor.close().await;
        assert_eq!(executor.stats().rejected, 2);
    }
}

#[tokio::test]
async fn a_panic_gives_its_permit_back_and_kills_no_thread() {
    for make in BOUNDED {
        let executor = make(1);
        let me = consumer("c");
        for blocking in [false, true, false] {
            let permit = executor.admit(ask(&me)).await.unwrap();
            executor.run(permit, Work { future: Box::pin(async { panic!("on purpose") }), blocking });
        }
        let permit = executor.admit(ask(&me)).await.unwrap();
        let (tell, told) = tokio::sync::oneshot::channel();
        executor.run(permit, work(async move { tell.send(()).unwrap() }));
        told.await.unwrap();
        executor.close().await;
        assert_eq!(executor.stats().completed, 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn pooled_work_runs_on_named_threads_inside_the_runtime() {
    let executor = ConsumerExecutors::pooled("cpu", 2);
    let names = Arc::new(Mutex::new(HashSet::new()));
    let me = consumer("c");
    for _ in 0..40 {
        let permit = executor.admit(ask(&me)).await.unwrap();
        let names = Arc::clone(&names);
        executor.run(
            permit,
            work(async move {
                tokio::time::sleep(Duration::from_micros(100)).await;
                std::thread::sleep(Duration::from_millis(1));
                names.lock().unwrap().insert(std::thread::current().name().unwrap().to_owned());
            }),
        );
    }
    executor.close().await;
    let names = names.lock().unwrap();
    assert_eq!(*names, HashSet::from(["evento-cpu-0".to_owned(), "evento-cpu-1".to_owned()]));
}

#[test]
fn unbounded_work_runs_on_the_callers_runtime_and_leaves_it_alone() {
    let theirs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name("theirs").build().unwrap();
    let ours = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let executor = ConsumerExecutors::unbounded("wide", theirs.handle().clone());
    assert_eq!(executor.capacity(), None);
    let elsewhere = Arc::new(AtomicUsize::new(0));
    ours.block_on(async {
        let me = consumer("c");
        let mut permits: Vec<Permit> = Vec::new();
        for _ in 0..1_000 {
            permits.push(executor.admit(ask(&me)).await.unwrap());
        }
        for permit in permits {
            let elsewhere = Arc::clone(&elsewhere);
            executor.run(
                permit,
                work(async move {
                    if std::thread::current().name() != Some("theirs") {
                        elsewhere.fetch_add(1, Ordering::SeqCst);
                    }
                }),
            );
        }
        executor.close().await;
        assert!(executor.admit(ask(&me)).await.is_none());
    });
    assert_eq!(executor.stats().completed, 1_000);
    assert_eq!(elsewhere.load(Ordering::SeqCst), 0);
    theirs.block_on(async {});
}

/// Nothing of an executor needs a runtime before its first work, and no value makes a constructor panic.
#[test]
fn constructors_need_nothing() {
    for make in BOUNDED {
        assert_eq!(make(0).capacity(), Some(0));
        assert_eq!(make(usize::MAX).capacity(), Some(usize::MAX));
    }
    assert!(ConsumerExecutors::partitioned("p", 1).keeps_key_order());
    assert!(!ConsumerExecutors::tasks("t", 1).keeps_key_order());
}

/// Waits that time out, are dropped half way or win, on several threads: nothing leaks, and nobody waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_cancelled_waits_leaks_nothing() {
    for make in BOUNDED {
        let executor = make(2);
        let mut askers = JoinSet::new();
        for c in 0..6_u64 {
            let executor = Arc::clone(&executor);
            askers.spawn(async move {
                let me = consumer(&format!("c{}", c % 3));
                for i in 0..400_u64 {
                    let wait = Duration::from_micros((i * 37 + c) % 300);
                    let admit = executor.admit(Admission { wait, ..ask(&me) });
                    tokio::select! {
                        permit = admit => if let Some(permit) = permit {
                            if i % 3 == 0 {
                                drop(permit);
                            } else {
                                executor.run(permit, work(tokio::task::yield_now()));
                            }
                        },
                        () = tokio::time::sleep(Duration::from_micros((i * 53 + c) % 300)) => {}
                    }
                }
            });
        }
        while let Some(asked) = askers.join_next().await {
            asked.unwrap();
        }
        let me = consumer("last");
        let (first, second) = (executor.admit(ask(&me)).await, executor.admit(ask(&me)).await);
        assert!(first.is_some() && second.is_some());
        drop((first, second));
        executor.close().await;
        let stats = executor.stats();
        assert_eq!(stats.in_flight, 0);
        assert!(stats.admitted > 0 && stats.peak <= 2);
    }
}
