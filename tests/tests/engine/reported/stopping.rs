//! How a bundle stops, whatever its consumers are at.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::prelude::*;
use evento_runtime::store::Store;
use evento_runtime::{BundleBuilder, RunError};
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{Journal, MemoryStore, Plain, Pooled, Script, over, settled, stop, tasks};

/// A consumer of every kind, on and off an executor; five of them.
fn everybody(store: &Store, script: &Script) -> BundleBuilder {
    over(ConsumerEngineConfig::of(store))
        .component(Plain(script.clone()))
        .component(Pooled(script.clone()))
        .component(Told(script.clone()))
        .component(Rung(script.clone()))
        .component(Tally(script.clone()))
        .executor(tasks(8))
}

async fn put_both(store: &Store, numbers: std::ops::Range<u64>) -> Position {
    let both: Vec<NewEvent> = numbers.flat_map(|n| [counted("a", n), made([n]).remove(0)]).collect();
    put(store, both).await
}

async fn letters(store: &Store) -> u64 {
    let mut letters = 0;
    for component in ["Plain", "Pooled", "Told", "Rung", "Tally"] {
        letters += store.stores.dead_letters.count(&id(component)).await.unwrap();
    }
    letters
}

#[tokio::test]
async fn f21_a_stop_waits_for_everybodys_handlers_and_stores_what_they_did() {
    let store = MemoryStore::new().store();
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let running = begun(everybody(&store, &gated(&journal, &gate))).await;
    put_both(&store, 0..3).await;
    // Three that run one after the other, and two with all three at once.
    evento_tests::eventually("all that may run", || journal.len() == 9).await;
    let stopping = tokio::spawn(running.stop(Duration::from_secs(30)));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!stopping.is_finished());
    gate.add_permits(9);
    stopping.await.unwrap().unwrap();
    assert_eq!(journal.len(), 9, "something began after the signal");
    assert_eq!((claims(&store, "Told").await, claims(&store, "Rung").await), ((0, 1), (0, 3)));
    assert_eq!(tallied(&store).await, [0]);
    // The next process does what is left, and nothing twice.
    gate.add_permits(1_000);
    let running = begun(everybody(&store, &gated(&journal, &gate))).await;
    let last = put_both(&store, 3..4).await;
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(sorted(&journal), [0, 1, 2, 3].map(|n| [n; 5]).concat());
    assert_eq!(letters(&store).await, 0);
}

#[tokio::test]
async fn f22_one_deadline_is_enough_for_all_and_names_each_that_still_runs() {
    let store = MemoryStore::new().store();
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let running = begun(everybody(&store, &gated(&journal, &gate))).await;
    put_both(&store, 0..1).await;
    evento_tests::eventually("all run", || journal.len() == 5).await;
    let began = tokio::time::Instant::now();
    let error = running.stop(Duration::from_millis(300)).await.unwrap_err();
    // Not once for each of them.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let RunError::Stragglers { stragglers } = error else { panic!("{error}") };
    for handler in ["Plain::made at", "Pooled::made at", "Told::made at", "Rung::made at", "Tally::counted at"] {
        assert_eq!(stragglers.iter().filter(|one| one.contains(handler)).count(), 1, "{handler}: {stragglers:?}");
    }
    assert_eq!(letters(&store).await, 0);
}

#[tokio::test]
async fn f23_a_stop_during_a_retry_for_ever_records_no_outcome() {
    let store = MemoryStore::new().store();
    let journal = Journal::default();
    let script = Script::new({
        let journal = journal.clone();
        move |mut call| {
            let journal = journal.clone();
            async move {
                journal.push((call.n, call.attempt));
                if call.attempt == 4 {
                    // The stop interrupts it, and it fails of that.
                    call.stop.stopped().await;
                    return Err(hopeless());
                }
                Err("not yet".into())
            }
        }
    });
    let builder = over(ConsumerEngineConfig::of(&store)).component(Plain(script.clone())).component(Told(script));
    let running = begun(builder).await;
    put(&store, made([0])).await;
    evento_tests::eventually("both are at their fourth attempt", || journal.len() == 8).await;
    stop(running).await;
    assert_eq!(letters(&store).await, 0);
    assert_eq!(claims(&store, "Told").await, (0, 0), "and nobody has to wait for it");
    assert_eq!(state(&store, "Plain").await.errors.recent.len(), 3, "nor was that a failure");
    let again = Journal::default();
    let builder = over(ConsumerEngineConfig::of(&store)).component(Plain(noting(&again)));
    let running = begun(builder.component(Told(noting(&again)))).await;
    let last = log(&store).await.remove(0).position;
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(again.all(), [0, 0]);
}

#[tokio::test]
async fn f24_a_stop_wakes_whoever_waits_for_another_attempt() {
    let store = MemoryStore::new().store();
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        log.push(call.n);
        async { Ok(Flow::RetryAfter(Duration::from_secs(3_600))) }
    });
    let everybody = |script: &Script| {
        // But for the observer on the executor, which has no further attempt by default.
        let builder = over(ConsumerEngineConfig::of(&store)).component(Plain(script.clone())).executor(tasks(8));
        builder.component(Pooled(script.clone())).component(Told(script.clone())).component(Tally(script.clone()))
    };
    let running = begun(everybody(&script)).await;
    put_both(&store, 0..1).await;
    evento_tests::eventually("all have failed", || journal.len() == 4).await;
    evento_tests::eventually("all wait", || running.status().iter().all(|one| one.in_flight == 0)).await;
    let began = tokio::time::Instant::now();
    running.stop(Duration::from_secs(60)).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(letters(&store).await, 0);
    let again = Journal::default();
    let running = begun(everybody(&noting(&again))).await;
    evento_tests::eventually("the next process handles them", || again.len() == 4).await;
    stop(running).await;
}
