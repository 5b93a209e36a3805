//! Thousands of random schedules: permits, key queues with a delivery log, and wake-ups.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common.rs"]
mod common;
#[path = "executor.rs"]
mod executor;

/// What `permits.rs` finds under the name of the runtime's own module.
mod identity {
    pub(crate) use evento_runtime::identity::ConsumerId;
}

/// As above, with locks and atomics that the model schedules.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }
}

use std::collections::BTreeSet;
use std::sync::Arc as Shared;

use evento_runtime::Position;
use evento_runtime::consumer::{Cover, DeliveryLog, KeyQueues};
use evento_runtime::store::Checkpoint;
use shuttle::future::block_on;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;
use tokio::sync::watch;

use common::{admission, ask_and_leave, timer};
use executor::Pool;

const SCHEDULES: usize = 2_000;

fn model(run: impl Fn() + Sync + Send + 'static) {
    let timer = timer();
    let _entered = timer.enter();
    shuttle::check_random(run, SCHEDULES);
}

#[test]
fn permits_are_never_above_capacity_and_all_come_back() {
    model(|| {
        let (pool, running) = (Pool::new(2), Arc::new(AtomicUsize::new(0)));
        let worker = |name: &'static str| {
            let (pool, running) = (pool.clone(), Arc::clone(&running));
            thread::spawn(move || {
                for turn in 0..3 {
                    if turn == 1 {
                        drop(ask_and_leave(&pool, name));
                        continue;
                    }
                    let permit = block_on(pool.admit(admission(name))).unwrap();
                    assert!(running.fetch_add(1, Ordering::SeqCst) < 2, "three at once");
                    running.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            })
        };
        let workers = ["a", "a", "b", "c"].map(worker);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(pool.stats().in_flight, 0);
        pool.refuse();
        block_on(pool.idle());
    });
}

/// What a consumer knows, shared by workers the way its loop shares it with them.
struct Consumer {
    queues: KeyQueues,
    log: DeliveryLog,
    keys: Vec<Shared<str>>,
    started: BTreeSet<u64>,
    settled: BTreeSet<u64>,
    again: BTreeSet<u64>,
}

#[test]
fn keys_keep_their_order_and_no_checkpoint_passes_what_is_open() {
    model(|| {
        let mut consumer = Consumer {
            queues: KeyQueues::new(1),
            log: DeliveryLog::resume(&Checkpoint::default()),
            keys: (0..8).map(|n| format!("k{}", n % 3).into()).collect(),
            started: BTreeSet::new(),
            settled: BTreeSet::new(),
            again: BTreeSet::from([2, 5]),
        };
        for (at, key) in (1..).zip(&consumer.keys) {
            let number = consumer.log.push(&Position::from_u64(at), Cover::Settle).unwrap();
            consumer.queues.push(number, 0, Some(key));
        }
        let consumer = Arc::new(Mutex::new(consumer));
        let worker = |_| {
            let consumer = Arc::clone(&consumer);
            thread::spawn(move || while work(&consumer) {})
        };
        let workers = [0, 1, 2].map(worker);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        let consumer = consumer.lock().unwrap();
        assert_eq!((consumer.queues.active(), consumer.settled.len()), (0, 8));
        assert_eq!(consumer.log.watermark(), Some(&Position::from_u64(8)));
    });
}

/// One delivery, as far as it goes. `false`: everything is settled.
fn work(consumer: &Mutex<Consumer>) -> bool {
    let number = {
        let mut guard = consumer.lock().unwrap();
        let this = &mut *guard;
        let Some(number) = this.queues.take(0) else {
            let more = this.queues.active() > 0;
            drop(guard);
            thread::yield_now();
            return more;
        };
        let key = |number: u64| &this.keys[usize::try_from(number - 1).unwrap()];
        for earlier in 1..number {
            assert!(key(earlier) != key(number) || this.settled.contains(&earlier), "{number} before {earlier}");
        }
        this.log.start(number);
        this.started.insert(number);
        number
    };
    // The handler: anything may happen here.
    thread::yield_now();
    let mut guard = consumer.lock().unwrap();
    let this = &mut *guard;
    if this.again.remove(&number) {
        this.queues.make_ready_again(number, 0);
        return true;
    }
    let (checkpoint, _) = this.log.checkpoint(&BTreeSet::from([number]));
    this.settled.insert(number);
    let covers = |at: u64| {
        checkpoint.reach >= Some(Position::from_u64(at)) && !checkpoint.open.contains(&Position::from_u64(at))
    };
    for at in (1..=8).filter(|at| covers(*at)) {
        assert!(this.settled.contains(&at), "the checkpoint passes {at}");
    }
    this.log.settle(number);
    let key = Shared::clone(&this.keys[usize::try_from(number - 1).unwrap()]);
    this.queues.settle(number, 0, Some(&key));
    true
}

/// The feed's way with hints: what is marked as seen, and when. `before`: before it reads.
fn reads_everything(before: bool) {
    let log = Arc::new(Mutex::new(0_u32));
    let (hint, mut hinted) = watch::channel(());
    let appended = Arc::clone(&log);
    let appender = thread::spawn(move || {
        for _ in 0..3 {
            *appended.lock().unwrap() += 1;
            thread::yield_now();
            hint.send_replace(());
            thread::yield_now();
        }
        // A feed outlives no store; here nobody polls either.
        hint
    });
    let mut read = 0;
    while read < 3 {
        if before {
            hinted.mark_unchanged();
        }
        let found = *log.lock().unwrap();
        thread::yield_now();
        if !before {
            hinted.mark_unchanged();
        }
        if found == read {
            block_on(hinted.changed()).unwrap();
        }
        read = found;
    }
    appender.join().unwrap();
}

#[test]
fn a_hint_that_comes_during_a_read_is_kept() {
    model(|| reads_everything(true));
}

#[test]
#[should_panic(expected = "deadlock")]
fn the_model_sees_a_hint_that_is_lost() {
    model(|| reads_everything(false));
}
