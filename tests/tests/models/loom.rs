//! Every schedule of two or three threads around the pool of permits.

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
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }
}

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use common::{admission, ask_and_leave, timer};
use executor::Pool;

fn model(run: impl Fn() + Sync + Send + 'static) {
    let timer = timer();
    let _entered = timer.enter();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

/// Takes the permit as soon as there is one, and gives it back.
fn work(pool: &Pool, running: &AtomicUsize, name: &str) {
    let permit = block_on(pool.admit(admission(name))).unwrap();
    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two at once");
    running.fetch_sub(1, Ordering::SeqCst);
    drop(permit);
}

#[test]
fn one_permit_serves_two_and_never_both_at_once() {
    model(|| {
        let (pool, running) = (Pool::new(1), Arc::new(AtomicUsize::new(0)));
        let (other, others) = (pool.clone(), Arc::clone(&running));
        let thread = thread::spawn(move || work(&other, &others, "a"));
        work(&pool, &running, "b");
        thread.join().unwrap();
        assert_eq!((pool.stats().in_flight, pool.stats().admitted, pool.stats().peak), (0, 2, 1));
    });
}

#[test]
fn who_leaves_the_queue_takes_no_permit_along() {
    model(|| {
        let pool = Pool::new(1);
        let held = block_on(pool.admit(admission("a"))).unwrap();
        let other = pool.clone();
        let leaving = thread::spawn(move || drop(ask_and_leave(&other, "b")));
        drop(held);
        // There is one again, whichever way the other one went.
        drop(block_on(pool.admit(admission("c"))).unwrap());
        leaving.join().unwrap();
        assert_eq!(pool.stats().in_flight, 0);
    });
}

#[test]
fn closing_wakes_who_waits_and_ends_with_the_last_permit() {
    model(|| {
        let pool = Pool::new(1);
        let held = block_on(pool.admit(admission("a"))).unwrap();
        let other = pool.clone();
        let waiting = thread::spawn(move || drop(block_on(other.admit(admission("b")))));
        let other = pool.clone();
        let giving = thread::spawn(move || {
            drop(held);
            drop(other);
        });
        pool.refuse();
        block_on(pool.idle());
        assert_eq!(pool.stats().in_flight, 0);
        waiting.join().unwrap();
        giving.join().unwrap();
        assert!(block_on(pool.admit(admission("c"))).is_none());
    });
}
