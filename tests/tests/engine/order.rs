//! G1, G4, G5, G6: nothing is lost, keys keep their order, capacities hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evento_runtime::{CheckpointMode, Flow};
use tokio::sync::Semaphore;

use crate::scripted::{
    Journal, MemoryStore, Neighbour, Plain, Pooled, Script, append, bundle, lanes, settled, stop, tasks,
};

/// A number that looks random and is the same in every run.
fn scatter(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) >> 40
}

#[tokio::test]
async fn a_sequential_projector_handles_everything_in_order_and_goes_on_where_it_was() {
    let store = MemoryStore::new();
    let seen = Journal::default();
    for round in 0..3 {
        let last = append(&store, round * 1_000..(round + 1) * 1_000, 7).await;
        let journal = seen.clone();
        let script = Script::new(move |call| {
            journal.push(call.n);
            async { Ok(Flow::Continue) }
        });
        let running = bundle(&store).component(Plain(script)).build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        stop(running).await;
    }
    assert_eq!(seen.all(), (0..3_000).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn keys_keep_their_order_through_delays_and_retries() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..2_000, 23).await;
        let journal: Journal<(String, u64, bool)> = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            let log = log.clone();
            async move {
                let key = call.key.clone().unwrap();
                log.push((key.clone(), call.n, true));
                if scatter(call.n).is_multiple_of(3) {
                    tokio::time::sleep(Duration::from_micros(scatter(call.n) % 900)).await;
                }
                log.push((key, call.n, false));
                // Every tenth event fails once, every fiftieth twice.
                let failures = u32::from(call.n % 10 == 0) + u32::from(call.n % 50 == 0);
                if call.attempt <= failures { Err("not yet".into()) } else { Ok(Flow::Continue) }
            }
        });
        let running = bundle(&store)
            .component(Pooled(script))
            .executor(lanes(16))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let mut by_key: BTreeMap<String, Vec<(u64, bool)>> = BTreeMap::new();
        for (key, n, begins) in journal.all() {
            by_key.entry(key).or_default().push((n, begins));
        }
        for (key, steps) in by_key {
            let mut before = None;
            for pair in steps.chunks(2) {
                let [(n, true), (same, false)] = pair else { panic!("{key}: two at once: {pair:?}") };
                assert_eq!(n, same, "{key}: two at once");
                assert!(before.is_none_or(|before| before <= *n), "{key}: {n} after {before:?}");
                before = Some(*n);
            }
            assert_eq!(
                steps.iter().map(|(n, _)| n).collect::<BTreeSet<_>>().len(),
                2_000 / 23 + usize::from(steps[0].0 < 2_000 % 23)
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_name_is_one_budget_for_all_its_consumers() {
    const CAPACITY: usize = 5;
    let store = MemoryStore::new();
    let last = append(&store, 0..400, 0).await;
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (n, p) = (Arc::clone(&now), Arc::clone(&peak));
    let script = Script::new(move |call| {
        let (now, peak) = (Arc::clone(&n), Arc::clone(&p));
        async move {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_micros(scatter(call.n) % 700)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store)
        .component(Pooled(script.clone()))
        .component(Neighbour(script))
        .executor(tasks(CAPACITY))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(peak.load(Ordering::SeqCst), CAPACITY);
}

#[tokio::test]
async fn a_busy_key_stops_no_other() {
    let store = MemoryStore::new();
    // 400 events of the hot key first, then everybody else.
    let hot = (0..400).map(|n| n * 10);
    append(&store, hot, 10).await;
    append(&store, (0..1_000).filter(|n| n % 10 != 0), 10).await;
    let gate = Arc::new(Semaphore::new(0));
    let done = Journal::default();
    let (g, d) = (Arc::clone(&gate), done.clone());
    let script = Script::new(move |call| {
        let (gate, done) = (Arc::clone(&g), d.clone());
        async move {
            if call.key.as_deref() == Some("k0") {
                gate.acquire().await.unwrap().forget();
            }
            done.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store)
        .component(Pooled(script))
        .executor(lanes(4))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    evento_tests::eventually("900 events of other keys are handled", || done.len() == 900).await;
    assert!(done.all().iter().all(|n| n % 10 != 0), "the hot key has not begun to finish");
    gate.add_permits(400);
    evento_tests::eventually("the hot key follows", || done.len() == 1_300).await;
    let hot: Vec<u64> = done.all().into_iter().filter(|n| n % 10 == 0).collect();
    assert!(hot.is_sorted());
    stop(running).await;
}
