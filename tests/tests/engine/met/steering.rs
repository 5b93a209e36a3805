//! What operators ask for, and what becomes of it when it fails half-way or has to share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evento_runtime::CheckpointMode;
use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use tokio::sync::Semaphore;

use crate::reported::parts::{Fate, Switch, begun, hopeless, noting, switched};
use crate::scripted::{
    Journal, MemoryStore, Plain, Pooled, Script, append, bundle, dead_letters, over, settled, stop, tasks,
};

/// A wish that was not stored, or whose answer was lost: whoever asked is told, what is stored counts, and the next wish
/// is carried out at once.
#[tokio::test]
async fn b47_a_pause_that_fails_half_way_is_told_and_stands_in_no_later_ones_way() {
    for fate in [Fate::Refused, Fate::Doubted] {
        let memory = MemoryStore::new();
        let (journal, fails) = (Journal::default(), Switch::default());
        let failing = fails.clone();
        let config = switched(&memory.store(), move || if failing.is_on() { fate } else { Fate::Stored });
        let running = begun(over(config).component(Plain(noting(&journal)))).await;
        let consumer = running.consumers().remove(0);
        let is_paused = || consumer.status().reason == Some(StallReason::Paused);

        fails.turn(true);
        assert!(consumer.pause().await.is_err(), "{fate:?}");
        if fate == Fate::Doubted {
            evento_tests::eventually("what is stored counts", is_paused).await;
        }
        let last = append(&memory, 0..1, 0).await;
        if fate == Fate::Refused {
            settled(&running, &last).await;
        }
        fails.turn(false);
        // As often as anybody likes.
        for _ in 0..2 {
            consumer.pause().await.unwrap();
            evento_tests::eventually("it stands", is_paused).await;
        }

        fails.turn(true);
        assert!(consumer.resume().await.is_err(), "{fate:?}");
        let last = append(&memory, 1..2, 0).await;
        if fate == Fate::Refused {
            evento_tests::eventually("it still stands", is_paused).await;
            assert_eq!(journal.len(), 1, "what was read while it stood");
        }
        fails.turn(false);
        consumer.resume().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(journal.all(), [0, 1], "{fate:?}");
        stop(running).await;
    }
}

/// Letters of the same consumer of the same bundle, in two stores of one process.
#[tokio::test]
async fn b63_a_letter_is_tried_again_in_the_store_it_lies_in() {
    let healed = Switch::default();
    let script = || {
        let healed = healed.clone();
        Script::new(move |_| {
            let end = if healed.is_on() { Ok(Flow::Continue) } else { Err(hopeless()) };
            async move { end }
        })
    };
    let (one, two) = (MemoryStore::new(), MemoryStore::new());
    let mut running = Vec::new();
    for memory in [&one, &two] {
        let last = append(memory, 0..3, 0).await;
        let begun = begun(bundle(memory).component(Pooled(script())).executor(tasks(1))).await;
        settled(&begun, &last).await;
        running.push(begun);
    }
    healed.turn(true);
    assert_eq!(running[0].consumers().remove(0).redrive(LetterFilter::all()).await.unwrap(), 3);
    while !dead_letters(&running[0]).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let others = dead_letters(&running[1]).await;
    assert!(others.len() == 3 && others.iter().all(|dead| !dead.requested && dead.letter.attempts == 1), "{others:?}");
    assert_eq!(running[1].consumers().remove(0).redrive(LetterFilter::all()).await.unwrap(), 3);
    while !dead_letters(&running[1]).await.is_empty() {
        tokio::task::yield_now().await;
    }
    for running in running {
        stop(running).await;
    }
}

/// Many letters are tried again, and each takes its time: live events have nearly all permits all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b68_letters_that_are_tried_again_leave_the_permits_to_live_events() {
    const LETTERS: u64 = 200;
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let memory = MemoryStore::new();
        let last = append(&memory, 0..LETTERS, 0).await;
        let (live, healed, gate) = (Journal::default(), Switch::default(), Arc::new(Semaphore::new(0)));
        let (again, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let script = {
            let (live, healed, gate) = (live.clone(), healed.clone(), Arc::clone(&gate));
            let (again, most) = (Arc::clone(&again), Arc::clone(&most));
            Script::new(move |call| {
                let (live, healed, gate) = (live.clone(), healed.is_on(), Arc::clone(&gate));
                let (again, most) = (Arc::clone(&again), Arc::clone(&most));
                async move {
                    match call.n {
                        LETTERS.. => live.push(call.n),
                        _ if !healed => return Err(hopeless()),
                        _ => {
                            most.fetch_max(again.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            gate.acquire().await.unwrap().forget();
                            again.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                    Ok(Flow::Continue)
                }
            })
        };
        let running = begun(bundle(&memory).component(Pooled(script)).executor(tasks(8)).checkpoint_mode(mode)).await;
        settled(&running, &last).await;
        healed.turn(true);
        let consumer = running.consumers().remove(0);
        assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), LETTERS);
        evento_tests::eventually("some letters run", || again.load(Ordering::SeqCst) > 0).await;
        let last = append(&memory, LETTERS..LETTERS + 500, 0).await;
        settled(&running, &last).await;
        assert_eq!(live.len(), 500, "{mode}");
        gate.add_permits(1_000);
        while !dead_letters(&running).await.is_empty() {
            tokio::task::yield_now().await;
        }
        let most = most.load(Ordering::SeqCst);
        assert!((1..=4).contains(&most), "{most} letters at once, {mode}");
        stop(running).await;
    }
}
