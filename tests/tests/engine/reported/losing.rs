//! What a dying process or a failing store must not lose, and must not do twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use evento_runtime::consumer::StallReason;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, RunError};
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{Foreign, Journal, Limited, Plain, Pooled, Script, dead_letters, over, settled, stop, tasks};

const MODES: [CheckpointMode; 2] = [CheckpointMode::OnStart, CheckpointMode::Watermark];

#[tokio::test]
async fn f03_sparse_positions_of_one_context_pin_nothing() {
    for place in places().await {
        // What it gets has other contexts and foreign events in between, in stretches of every length.
        let mut events = Vec::new();
        for (n, event) in (0..60).zip(made(0..60)) {
            let foreign = (0..n % 4).map(|n| NewEvent::from(Foreign { n }).context("eu"));
            events.extend(made([1_000]).into_iter().map(|event| event.context("us")));
            events.extend(foreign);
            events.push(event.context("eu"));
        }
        let last = put(&place.store, events).await;
        let journal = Journal::default();
        let builder = || {
            let pooled =
                over(ConsumerEngineConfig::of(&place.store)).component(Pooled(noting(&journal))).executor(tasks(8));
            pooled.component_contexts::<Pooled>(["eu"]).checkpoint_mode(CheckpointMode::Watermark)
        };
        let running = begun(builder()).await;
        settled(&running, &last).await;
        let consumer = running.status()[0].consumer.clone();
        stop(running).await;
        assert_eq!(sorted(&journal), (0..60).collect::<Vec<_>>(), "{}", place.name);
        let stored = place.store.stores.state.load(&consumer).await.unwrap().checkpoint.unwrap();
        assert_eq!((stored.watermark.as_ref(), stored.open.len()), (Some(&last), 0), "{}", place.name);
        let running = begun(builder()).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(journal.len(), 60, "{}: something was replayed", place.name);
        place.close().await;
    }
}

#[tokio::test]
async fn f08_a_claim_whose_process_died_is_handled_once_it_expires() {
    for parallel in [false, true] {
        for place in places().await {
            let name = if parallel { "Rung" } else { "Told" };
            let observer = |script| {
                let builder = over(after_a_death(&place.store)).claim_expiry(Duration::from_millis(700));
                observing(builder, script, parallel)
            };
            let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(2)));
            let running = begun(observer(gated(&journal, &gate))).await;
            let last = put(&place.store, made(0..3)).await;
            evento_tests::eventually("two are done and one runs", || {
                journal.len() == 3 && running.status()[0].counters.settled == 2
            })
            .await;
            // It ends with its handler in the middle.
            let error = running.stop(Duration::ZERO).await.unwrap_err();
            assert!(matches!(error, RunError::Stragglers { .. }), "{error}");
            assert_eq!(claims(&place.store, name).await, (1, 2), "{}", place.name);

            let again = Journal::default();
            let running = begun(observer(noting(&again))).await;
            settled(&running, &last).await;
            let handled = again.all();
            assert!(handled.len() == 1 && handled[0] < 3, "{} {name}: {handled:?}", place.name);
            assert_eq!(dead_letters(&running).await.len(), 0);
            stop(running).await;
            assert_eq!(claims(&place.store, name).await, (0, 3), "{}", place.name);
            gate.add_permits(10);
            place.close().await;
        }
    }
}

#[tokio::test]
async fn f15_an_event_whose_dead_letter_no_store_takes_is_not_passed() {
    for parallel in [false, true] {
        for place in places().await {
            let name = if parallel { "Pooled" } else { "Limited" };
            for mode in MODES {
                let (down, journal) = (Switch::turned(), Journal::default());
                let fails = down.clone();
                let store = fated(&place.store, move |settlement| {
                    let refused = fails.is_on() && !settlement.dead_letters.is_empty();
                    async move { if refused { Fate::Refused } else { Fate::Stored } }
                });
                let script = failing(&journal, |call| (call.n == 1).then(hopeless));
                let builder = if parallel {
                    over(store).component(Pooled(script)).executor(tasks(1)).checkpoint_mode(mode)
                } else {
                    over(store).component(Limited(script))
                };
                let running = begun(builder).await;
                let last = put(&place.store, made(0..4)).await;
                evento_tests::eventually("it says why it stands", || {
                    matches!(running.status()[0].reason, Some(StallReason::Store { .. }))
                })
                .await;
                let consumer = running.consumers().remove(0);
                let before =
                    consumer.dead_letters(evento_runtime::store::LetterFilter::all(), None, 100).await.unwrap();
                assert!(running.status()[0].watermark.as_ref() < Some(&last), "{} {mode}", place.name);
                assert!(watermark(&place.store, name).await.as_ref() < Some(&last), "{} {mode}", place.name);
                down.turn(false);
                settled(&running, &last).await;
                assert_eq!(dead_letters(&running).await.len(), before.len() + 1, "{} {mode}", place.name);
                stop(running).await;
            }
            place.close().await;
        }
    }
}

#[tokio::test]
async fn f16_a_failed_commit_starts_nothing_a_second_time() {
    for place in places().await {
        for mode in MODES {
            let left = Arc::new(AtomicI64::new(3));
            let store = fated(&place.store, move |settlement| {
                let left = if settlement.checkpoint.is_some() { left.fetch_sub(1, Ordering::SeqCst) } else { 0 };
                async move {
                    match left {
                        1 | 3 => Fate::Refused,
                        2 => Fate::Doubted,
                        _ => Fate::Stored,
                    }
                }
            });
            let journal = Journal::default();
            let running =
                begun(over(store).component(Pooled(noting(&journal))).executor(tasks(4)).checkpoint_mode(mode)).await;
            let last = put(&place.store, made(0..100)).await;
            settled(&running, &last).await;
            stop(running).await;
            let all = sorted(&journal);
            // The second round of this store goes on where the first one ended.
            assert_eq!(all, (0..100).collect::<Vec<_>>(), "{} {mode}", place.name);
            assert_eq!(watermark(&place.store, "Pooled").await, Some(last), "{} {mode}", place.name);
        }
        place.close().await;
    }
}

#[tokio::test]
async fn f16b_a_commit_that_failed_is_stored_although_nothing_else_happens() {
    for place in places().await {
        let (down, journal) = (Switch::default(), Journal::default());
        let fails = down.clone();
        let store = fated(&place.store, move |settlement| {
            let refused = fails.is_on() && settlement.checkpoint.is_some();
            async move { if refused { Fate::Refused } else { Fate::Stored } }
        });
        let (log, stops) = (journal.clone(), Journal::default());
        let told = stops.clone();
        let script = Script::new(move |call| {
            log.push(call.n);
            told.push(call.stop);
            async { Ok(Flow::Continue) }
        });
        let pooled = over(store).component(Pooled(script)).executor(tasks(4));
        let running = begun(pooled.checkpoint_mode(CheckpointMode::Watermark)).await;
        down.turn(true);
        let last = put(&place.store, made(0..10)).await;
        evento_tests::eventually("it is idle, and a write has failed", || {
            journal.len() == 10 && matches!(running.status()[0].reason, Some(StallReason::Store { .. }))
        })
        .await;
        assert_ne!(watermark(&place.store, "Pooled").await.as_ref(), Some(&last));
        down.turn(false);
        evento_tests::eventually("it says so no more", || running.status()[0].reason == Some(StallReason::CaughtUp))
            .await;
        assert_eq!(watermark(&place.store, "Pooled").await, Some(last), "{}", place.name);

        // The same with nothing but the flush of a stop to store it.
        down.turn(true);
        let last = put(&place.store, made(10..20)).await;
        evento_tests::eventually("it is idle, and a write has failed", || {
            journal.len() == 20 && matches!(running.status()[0].reason, Some(StallReason::Store { .. }))
        })
        .await;
        let stopping = tokio::spawn(stop(running));
        stops.all().remove(0).stopped().await;
        down.turn(false);
        stopping.await.unwrap();
        assert_eq!(watermark(&place.store, "Pooled").await, Some(last), "{}", place.name);
        place.close().await;
    }
}

#[tokio::test]
async fn f28_a_process_that_dies_around_the_write_of_a_saga_applies_every_event_once() {
    for place in places().await {
        let mut expected = Vec::new();
        for (round, fate) in
            (0..).zip([Fate::Refused, Fate::Doubted, Fate::DiesBefore, Fate::DiesAfter, Fate::DiesBefore])
        {
            let struck = Switch::default();
            let strikes = struck.clone();
            let mut store = fated(&place.store, move |settlement| {
                let strikes = (!settlement.sagas.is_empty() && !strikes.is_on()).then(|| strikes.turn(true));
                async move { if strikes.is_some() { fate } else { Fate::Stored } }
            });
            store.processor.lock = after_a_death(&place.store).processor.lock;
            let journal = Journal::default();
            let running = begun(over(store).component(Tally(noting(&journal)))).await;
            let numbers = round * 10..round * 10 + 3;
            let last = put(&place.store, numbers.clone().map(|n| counted("a", n))).await;
            expected.extend(numbers);
            evento_tests::eventually("the write has begun", || struck.is_on()).await;
            if matches!(fate, Fate::DiesBefore | Fate::DiesAfter) {
                running.stop(Duration::ZERO).await.unwrap_err();
                let running = begun(over(after_a_death(&place.store)).component(Tally(noting(&journal)))).await;
                settled(&running, &last).await;
                stop(running).await;
            } else {
                settled(&running, &last).await;
                stop(running).await;
            }
            let calls = journal.len();
            assert_eq!(calls, if fate == Fate::DiesBefore { 4 } else { 3 }, "{} {fate:?}", place.name);
            assert_eq!(tallied(&place.store).await, expected, "{} {fate:?}", place.name);
        }
        place.close().await;
    }
}

#[tokio::test]
async fn f30_a_store_that_is_away_ends_no_retry_for_ever() {
    for place in places().await {
        let (down, journal) = (Switch::default(), Journal::default());
        let fails = down.clone();
        let store = fated(&place.store, move |_| {
            let refused = fails.is_on();
            async move { if refused { Fate::Refused } else { Fate::Stored } }
        });
        let healed = Switch::default();
        let heals = healed.clone();
        let script = failing(&journal, move |call| (call.n == 1 && !heals.is_on()).then(|| "not yet".into()));
        let running = begun(over(store).component(Plain(script))).await;
        down.turn(true);
        let last = put(&place.store, made(0..3)).await;
        // Each failure is to be recorded, and none can be.
        evento_tests::eventually("it is tried again and again", || journal.len() > 8).await;
        assert_eq!(running.status()[0].counters.dead_lettered, 0);
        down.turn(false);
        healed.turn(true);
        settled(&running, &last).await;
        assert_eq!(dead_letters(&running).await.len(), 0, "{}", place.name);
        let all = journal.all();
        let attempts: Vec<u32> = all.iter().filter(|(n, _)| *n == 1).map(|(_, attempt)| *attempt).collect();
        assert_eq!(attempts, (1..=u32::try_from(attempts.len()).unwrap()).collect::<Vec<_>>());
        assert_eq!(all.last(), Some(&(2, 1)), "what follows waited: {}", place.name);
        stop(running).await;
        place.close().await;
    }
}
