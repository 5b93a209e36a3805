//! Checkpoints that stop, and checkpoints that pass what has not happened.

use std::sync::Arc;

use evento_runtime::CheckpointMode;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use tokio::sync::Semaphore;

use crate::reported::parts::{Fate, Switch, after_a_death, begun, fated, hopeless, noting, sorted, state};
use crate::scripted::{
    Foreign, Journal, Made, MemoryStore, Pooled, Script, append, append_all, bundle, dead_letters, lanes, over,
    settled, stop,
};

/// A hundred lanes, and every eleventh event nobody's: stored again and again, never back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b09_checkpoints_go_on_to_the_end_with_many_lanes() {
    const EVENTS: u64 = 20_000;
    const WINDOW: u32 = 512;
    let memory = MemoryStore::new();
    let events = (0..EVENTS).map(|n| match n % 11 {
        10 => Foreign { n }.into(),
        _ => NewEvent::from(Made { n }).key(format!("k{}", n % 257)),
    });
    let last = append_all(&memory, events).await;
    let stored: Journal<u64> = Journal::default();
    let log = stored.clone();
    let config = fated(&memory.store(), move |settlement| {
        let watermark = settlement.checkpoint.and_then(|checkpoint| checkpoint.watermark);
        log.push(watermark.and_then(|position| position.as_u64()).unwrap_or_default());
        async { Fate::Stored }
    });
    let script = Script::new(|call| async move {
        for _ in 0..call.n % 5 {
            tokio::task::yield_now().await;
        }
        Ok(Flow::Continue)
    });
    let builder = over(config).component(Pooled(script)).executor(lanes(100)).window(WINDOW.try_into().unwrap());
    let running = begun(builder.checkpoint_mode(CheckpointMode::Watermark)).await;
    settled(&running, &last).await;
    evento_tests::eventually("nothing is left to be stored", || running.status()[0].exposure == 0).await;
    let stored = stored.all();
    assert_eq!(stored.last(), Some(&EVENTS), "of {} checkpoints", stored.len());
    assert!(stored.is_sorted(), "{stored:?}");
    // How far one goes has no bound, as what stands at the watermark fills no window; how many are passed has one.
    let least = EVENTS * 10 / 11 / u64::from(WINDOW);
    assert!(stored.len() as u64 >= least, "{} of {least}: {stored:?}", stored.len());
    stop(running).await;
}

/// A letter from the beginning is handled while later events run; then the process dies.
#[tokio::test]
async fn b11_a_letter_tried_again_moves_no_checkpoint() {
    let memory = MemoryStore::new();
    let store = memory.store();
    let last = append(&memory, 0..20, 5).await;
    let (journal, healed, gate) = (Journal::default(), Switch::default(), Arc::new(Semaphore::new(0)));
    let (log, is_healed, closed) = (journal.clone(), healed.clone(), Arc::clone(&gate));
    let script = Script::new(move |call| {
        log.push(call.n);
        let (healed, gate) = (is_healed.is_on(), Arc::clone(&closed));
        async move {
            if call.n >= 30 && call.n % 5 != 4 {
                gate.acquire().await.unwrap().forget();
            }
            if call.n == 4 && !healed { Err(hopeless()) } else { Ok(Flow::Continue) }
        }
    });
    let builder = bundle(&memory).component(Pooled(script)).executor(lanes(8));
    let running = begun(builder.checkpoint_mode(CheckpointMode::Watermark)).await;
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 1);
    healed.turn(true);
    append(&memory, 20..40, 5).await;
    // Four of them run, and those of one key are handled.
    evento_tests::eventually("the later ones run", || journal.all().iter().filter(|n| **n >= 30).count() == 6).await;
    let thirtieth = Some(Position::from_u64(30));
    let checkpoint = async || state(&store, "Pooled").await.checkpoint.unwrap_or_default();
    while checkpoint().await.watermark != thirtieth || checkpoint().await.open.len() != 8 {
        tokio::task::yield_now().await;
    }
    let stored = checkpoint().await;
    let consumer = running.consumers().remove(0);
    let before = consumer.status().watermark_lag;
    assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
    while !dead_letters(&running).await.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(journal.all().iter().filter(|n| **n == 4).count(), 2);
    let status = consumer.status();
    assert_eq!((status.watermark, status.watermark_lag), (thirtieth.clone(), before));
    assert_eq!(checkpoint().await, stored);
    // Nothing of it is given back, as if the process had died.
    let next = Journal::default();
    let builder = over(after_a_death(&store)).component(Pooled(noting(&next))).executor(lanes(8));
    let second = begun(builder.checkpoint_mode(CheckpointMode::Watermark)).await;
    settled(&second, &Position::from_u64(40)).await;
    assert_eq!(sorted(&next), [30, 31, 32, 33, 35, 36, 37, 38], "what was open, and nothing else");
    stop(second).await;
    gate.add_permits(1_000);
    running.stop(std::time::Duration::from_secs(10)).await.ok();
}
