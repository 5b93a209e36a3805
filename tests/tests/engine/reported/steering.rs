//! Pausing, redriving, looking: what an operator does while events go wrong.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::CheckpointMode;
use evento_runtime::consumer::StallReason;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{
    Call, Journal, MemoryStore, Neighbour, Plain, Pooled, Script, dead_letters, over, settled, stop, tasks,
};

#[tokio::test]
async fn f17_a_failure_while_paused_is_neither_lost_nor_dead_lettered_in_any_kind() {
    for component in ["Plain", "Tally", "Told", "Rung", "Pooled"] {
        let store = MemoryStore::new().store();
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let (log, opens) = (journal.clone(), Arc::clone(&gate));
        let script = Script::new(move |call: Call| {
            let (log, gate) = (log.clone(), Arc::clone(&opens));
            async move {
                log.push((call.n, call.attempt));
                gate.acquire().await.unwrap().forget();
                // As hopeless as can be; but nobody may say so now.
                if log.len() == 1 { Err(hopeless()) } else { Ok(Flow::Continue) }
            }
        });
        let builder = over(ConsumerEngineConfig::of(&store));
        let builder = match component {
            "Plain" => builder.component(Plain(script)),
            "Tally" => builder.component(Tally(script)),
            "Told" => builder.component(Told(script)),
            "Rung" => builder.component(Rung(script)).executor(tasks(1)),
            _ => builder.component(Pooled(script)).executor(tasks(1)).checkpoint_mode(CheckpointMode::OnStart),
        };
        let running = begun(builder).await;
        let both = (0..3).flat_map(|n| [counted("a", n), made([n]).remove(0)]);
        let last = put(&store, both).await;
        evento_tests::eventually("one runs", || journal.len() == 1).await;
        let consumer = running.consumers().remove(0);
        consumer.pause().await.unwrap();
        gate.add_permits(1_000);
        evento_tests::eventually("it stands", || consumer.status().reason == Some(StallReason::Paused)).await;
        let counters = consumer.status().counters;
        assert_eq!((counters.failed, counters.dead_lettered, journal.len()), (0, 0, 1), "{component}");
        consumer.resume().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(journal.all(), [(0, 1), (0, 1), (1, 1), (2, 1)], "{component}");
        assert_eq!(dead_letters(&running).await.len(), 0, "{component}");
        stop(running).await;
    }
}

#[tokio::test]
async fn a_paused_consumer_keeps_no_permit_from_others() {
    let store = MemoryStore::new().store();
    let (journal, others, gate) = (Journal::default(), Journal::default(), Arc::new(Semaphore::new(0)));
    let (seen, opens) = (journal.clone(), Arc::clone(&gate));
    let script = Script::new(move |call: Call| {
        let (seen, gate) = (seen.clone(), Arc::clone(&opens));
        async move {
            seen.push((call.n, call.attempt));
            match (call.n, call.attempt) {
                // One waits for its next attempt when the pause comes, one fails during it.
                (0, 1) => Ok(Flow::RetryAfter(Duration::from_secs(3_600))),
                (1, 1) if seen.all().iter().filter(|(n, _)| *n == 1).count() == 1 => {
                    gate.acquire().await.unwrap().forget();
                    Err("interrupted".into())
                }
                _ => Ok(Flow::Continue),
            }
        }
    });
    let builder =
        over(ConsumerEngineConfig::of(&store)).component(Pooled(script)).component(Neighbour(noting(&others)));
    let running = begun(builder.executor(tasks(2)).checkpoint_mode(CheckpointMode::OnStart)).await;
    let neighbour = running.consumers_of::<Neighbour>().remove(0);
    let paused = running.consumers_of::<Pooled>().remove(0);
    neighbour.pause().await.unwrap();
    put(&store, made(0..6)).await;
    evento_tests::eventually("both permits are in use", || journal.len() == 2).await;
    evento_tests::eventually("one waits", || paused.status().in_flight == 1).await;
    paused.pause().await.unwrap();
    gate.add_permits(1);
    evento_tests::eventually("it stands", || paused.status().reason == Some(StallReason::Paused)).await;
    // However long the pause: the executor is free for others.
    neighbour.resume().await.unwrap();
    evento_tests::eventually("the other one has the executor", || others.len() == 6).await;
    assert_eq!(journal.len(), 2);
    paused.resume().await.unwrap();
    let last = put(&store, made([6])).await;
    settled(&running, &last).await;
    // What had begun goes on before anything new; what failed during the pause has not failed.
    assert_eq!(journal.all()[2..], [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)]);
    assert_eq!(paused.status().counters.failed, 1);
    assert_eq!(dead_letters(&running).await.len(), 0);
    stop(running).await;
}

#[tokio::test]
async fn f19_looking_at_a_consumer_changes_nothing() {
    for place in places().await {
        let stores = &place.store.stores;
        let last = put(&place.store, made(0..3)).await;
        for component in ["Plain", "Told", "Tally"] {
            let id = id(component);
            assert!(stores.state.load(&id).await.unwrap().checkpoint.is_none());
            assert_eq!(stores.dead_letters.list(&id, &LetterFilter::all(), None, 10).await.unwrap().len(), 0);
            assert_eq!(stores.dead_letters.count(&id).await.unwrap(), 0);
            assert_eq!(stores.dead_letters.requested(&id, 10).await.unwrap().len(), 0);
            assert_eq!(stores.dead_letters.request(&id, &LetterFilter::all()).await.unwrap(), 0);
            assert_eq!(stores.sagas.instances(&id, None, 10).await.unwrap().len(), 0);
            assert_eq!(stores.sagas.timers(&id, 10).await.unwrap().len(), 0);
            assert_eq!(claims(&place.store, component).await, (0, 0));
        }
        assert_eq!(stores.dead_letters.wanted("b").await.unwrap(), []);
        assert_eq!(stores.state.paused("b").await.unwrap(), []);
        assert_eq!(stores.state.consumers("b").await.unwrap(), [], "{}: looking has left something", place.name);
        // So a projector begins at the beginning.
        let journal = Journal::default();
        let running = begun(over(ConsumerEngineConfig::of(&place.store)).component(Plain(noting(&journal)))).await;
        settled(&running, &last).await;
        for _ in 0..100 {
            let _ = (running.status(), running.consumers().remove(0).status());
        }
        stop(running).await;
        assert_eq!(journal.all(), [0, 1, 2], "{}", place.name);
        place.close().await;
    }
}

#[tokio::test]
async fn f26_a_process_that_dies_in_the_middle_of_a_redrive_keeps_the_letters() {
    for component in ["Plain", "Pooled", "Tally", "Rung"] {
        for place in places().await {
            let (broken, hangs) = (Switch::turned(), Switch::default());
            let journal = Journal::default();
            let (log, fails, hang) = (journal.clone(), broken.clone(), hangs.clone());
            let script = Script::new(move |call: Call| {
                let (log, fails, hangs) = (log.clone(), fails.is_on(), hang.is_on());
                async move {
                    log.push((call.n, call.attempt));
                    if hangs {
                        std::future::pending::<()>().await;
                    }
                    if fails && call.n < 6 { Err(hopeless()) } else { Ok(Flow::Continue) }
                }
            });
            let process = || {
                let builder = over(after_a_death(&place.store));
                match component {
                    "Plain" => builder.component(Plain(script.clone())),
                    "Tally" => builder.component(Tally(script.clone())),
                    "Rung" => builder.component(Rung(script.clone())).executor(tasks(2)),
                    _ => builder.component(Pooled(script.clone())).executor(tasks(2)),
                }
            };
            let running = begun(process()).await;
            let both = (0..6).flat_map(|n| [counted("a", n), made([n]).remove(0)]);
            let last = put(&place.store, both).await;
            settled(&running, &last).await;
            let consumer = running.consumers().remove(0);
            assert_eq!(dead_letters(&running).await.len(), 6, "{} {component}", place.name);
            journal.clear();
            hangs.turn(true);
            broken.turn(false);
            consumer.redrive(LetterFilter::all()).await.unwrap();
            evento_tests::eventually("one of them runs", || journal.len() > 0).await;
            running.stop(Duration::ZERO).await.unwrap_err();
            assert_eq!(place.store.stores.dead_letters.count(consumer.id()).await.unwrap(), 6);

            hangs.turn(false);
            let before = watermark(&place.store, component).await;
            let running = begun(process()).await;
            while place.store.stores.dead_letters.count(consumer.id()).await.unwrap() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(watermark(&place.store, component).await, before, "a redrive touches no checkpoint");
            stop(running).await;
            if component == "Tally" {
                assert_eq!(tallied(&place.store).await, [0, 1, 2, 3, 4, 5], "{}", place.name);
            }
            place.close().await;
        }
    }
}

#[tokio::test]
async fn f35_a_row_that_a_pause_or_an_error_made_is_no_obstacle_to_the_first_commit() {
    for (component, early) in [("Plain", false), ("Pooled", true)] {
        for place in places().await {
            let journal = Journal::default();
            // The row is there before the consumer has ever run.
            place.store.stores.state.set_enabled(&id(component), false).await.unwrap();
            place.store.stores.state.set_enabled(&id(component), early).await.unwrap();
            let script = failing(&journal, |call| (call.n == 0).then(hopeless));
            let builder = over(ConsumerEngineConfig::of(&place.store));
            let builder = match component {
                "Plain" => builder.component(Plain(script)),
                _ => builder.component(Pooled(script)).executor(tasks(2)),
            };
            let running = begun(builder).await;
            let last = put(&place.store, made(0..3)).await;
            if !early {
                running.consumers().remove(0).resume().await.unwrap();
            }
            settled(&running, &last).await;
            stop(running).await;
            assert_eq!(watermark(&place.store, component).await, Some(last), "{} {component}", place.name);
            assert_eq!(state(&place.store, component).await.errors.recent.len(), journal.len() / 3, "{}", place.name);
            place.close().await;
        }
    }
}
