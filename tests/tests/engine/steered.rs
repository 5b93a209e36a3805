//! Pausing, skipping, moving: what an operator may ask, and what it does to events.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::{AdminError, CheckpointMode, Flow, Position};
use tokio::sync::Semaphore;

use crate::scripted::{
    Journal, MemoryStore, Plain, Pooled, Script, append, bundle, dead_letters, lanes, settled, stop, tasks,
};

fn counting(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push(call.n);
        async { Ok(Flow::Continue) }
    })
}

#[tokio::test]
async fn a_paused_consumer_finishes_what_runs_begins_nothing_and_stays_paused_over_a_restart() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..100, 0).await;
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let (j, g) = (journal.clone(), Arc::clone(&gate));
        let script = Script::new(move |call| {
            let (journal, gate) = (j.clone(), Arc::clone(&g));
            async move {
                journal.push(call.n);
                gate.acquire().await.unwrap().forget();
                // Half of what ran while it was paused fails: no attempt is spent.
                if call.attempt == 1 && call.n % 2 == 0 { Err("interrupted".into()) } else { Ok(Flow::Continue) }
            }
        });
        let start = async || {
            let builder = bundle(&store).component(Pooled(script.clone())).executor(tasks(4)).checkpoint_mode(mode);
            builder.build().unwrap().start().await.unwrap()
        };
        let running = start().await;
        evento_tests::eventually("four run", || journal.len() == 4).await;
        let consumer = running.consumers_of::<Pooled>().remove(0);
        consumer.pause().await.unwrap();
        gate.add_permits(4);
        evento_tests::eventually("it stands", || consumer.status().reason == Some(StallReason::Paused)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(journal.len(), 4, "something began while it was paused");
        assert_eq!(consumer.status().counters.failed, 0);
        stop(running).await;

        let running = start().await;
        let consumer = running.consumers().remove(0);
        evento_tests::eventually("it still stands", || consumer.status().reason == Some(StallReason::Paused)).await;
        assert_eq!(journal.len(), 4);
        gate.add_permits(1_000);
        consumer.resume().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(dead_letters(&running).await.len(), 0);
        stop(running).await;
        let mut seen = journal.all();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..100).collect::<Vec<_>>(), "{mode}");
    }
}

#[tokio::test]
async fn another_instance_can_pause_the_owner() {
    let store = MemoryStore::new();
    append(&store, 0..10, 1).await;
    let (one, two) = (Journal::default(), Journal::default());
    let first = bundle(&store).component(Plain(counting(&one))).build().unwrap().start().await.unwrap();
    let second = bundle(&store).component(Plain(counting(&two))).build().unwrap().start().await.unwrap();
    evento_tests::eventually("the first handles", || one.len() == 10).await;
    second.consumers().remove(0).pause().await.unwrap();
    evento_tests::eventually("the owner stands", || first.status()[0].reason == Some(StallReason::Paused)).await;
    let last = append(&store, 10..20, 1).await;
    first.consumers().remove(0).resume().await.unwrap();
    settled(&first, &last).await;
    assert_eq!((one.len(), two.len()), (20, 0));
    let refused = second.consumers().remove(0).seek(SeekTo::Head).await;
    assert!(matches!(refused, Err(AdminError::NotOwner { .. })), "{refused:?}");
    stop(first).await;
    stop(second).await;
}

#[tokio::test]
async fn a_stuck_event_can_be_skipped() {
    for parallel in [false, true] {
        let store = MemoryStore::new();
        let last = append(&store, 0..20, 1).await;
        let journal = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            let log = log.clone();
            async move {
                if call.n == 7 || call.n == 9 {
                    return Ok(Flow::RetryAfter(Duration::from_secs(3_600)));
                }
                log.push(call.n);
                Ok(Flow::Continue)
            }
        });
        let builder = if parallel {
            bundle(&store).component(Pooled(script)).executor(lanes(2)).checkpoint_mode(CheckpointMode::Watermark)
        } else {
            bundle(&store).component(Plain(script))
        };
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("it is stuck", || {
            journal.len() == 7 && running.status()[0].reason == Some(StallReason::BackingOff)
        })
        .await;
        let consumer = running.consumers().remove(0);
        let at = |n: u64| Position::from_u64(n + 1);
        // One that is not begun yet, one that waits, one that is settled.
        consumer.skip(at(9)).await.unwrap();
        consumer.skip(at(7)).await.unwrap();
        assert!(matches!(consumer.skip(at(3)).await, Err(AdminError::NotOpen { .. })));
        settled(&running, &last).await;
        assert_eq!(journal.all(), (0..20).filter(|n| *n != 7 && *n != 9).collect::<Vec<_>>());
        assert_eq!(consumer.status().counters.skipped, 2);
        assert_eq!(dead_letters(&running).await.len(), 0);
        stop(running).await;
    }
}

#[tokio::test]
async fn a_consumer_can_be_moved_and_going_back_has_to_be_meant() {
    let store = MemoryStore::new();
    let last = append(&store, 0..50, 5).await;
    let journal = Journal::default();
    let running = bundle(&store)
        .component(Pooled(counting(&journal)))
        .executor(lanes(4))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    let refused = consumer.seek(SeekTo::Start).await;
    assert!(matches!(refused, Err(AdminError::WouldRepeat { .. })), "{refused:?}");
    let refused = consumer.seek(SeekTo::After(Position::from_u64(51))).await;
    assert!(matches!(refused, Err(AdminError::BehindHead { .. })), "{refused:?}");
    evento_tests::eventually("it goes on", || consumer.status().reason == Some(StallReason::CaughtUp)).await;
    assert_eq!(journal.len(), 50, "a refused request changes nothing");

    consumer.seek_keeping(SeekTo::After(Position::from_u64(40))).await.unwrap();
    evento_tests::eventually("the last ten are handled again", || journal.len() == 60).await;
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    evento_tests::eventually("everything is handled again", || journal.len() == 110).await;
    let epoch = consumer.status().epoch;
    assert!(epoch.0 >= 5, "each move is an ownership of its own");

    // Forward over what is not handled yet.
    consumer.pause().await.unwrap();
    let last = append(&store, 50..90, 5).await;
    consumer.seek(SeekTo::Head).await.unwrap();
    consumer.resume().await.unwrap();
    settled(&running, &last).await;
    let last = append(&store, 90..95, 5).await;
    settled(&running, &last).await;
    assert_eq!(journal.len(), 115);
    stop(running).await;
}

#[tokio::test]
async fn moving_past_a_stuck_event_repeats_nothing_that_was_handled_behind_it() {
    let store = MemoryStore::new();
    let last = append(&store, 0..20, 0).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        let log = log.clone();
        async move {
            if call.n == 2 || call.n == 7 {
                return Ok(Flow::RetryAfter(Duration::from_secs(3_600)));
            }
            log.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let builder = bundle(&store).component(Pooled(script)).executor(tasks(4));
    let running = builder.checkpoint_mode(CheckpointMode::Watermark).build().unwrap().start().await.unwrap();
    evento_tests::eventually("all others are handled", || journal.len() == 18).await;
    let consumer = running.consumers().remove(0);
    consumer.seek(SeekTo::After(Position::from_u64(3))).await.unwrap();
    // What is open behind the target stays open.
    let waited = consumer.wait_for(&last, Duration::from_millis(100)).await;
    assert!(waited.is_err(), "the eighth is still open");
    assert!(consumer.wait_for(&Position::from_u64(7), Duration::from_secs(30)).await.is_ok());
    assert_eq!(journal.len(), 18);
    stop(running).await;
}

#[tokio::test]
async fn a_wait_after_a_move_back_waits_for_the_repetition() {
    let store = MemoryStore::new();
    let last = append(&store, 0..10, 0).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(10)));
    let (log, entered) = (journal.clone(), Arc::clone(&gate));
    let script = Script::new(move |call| {
        let (log, gate) = (log.clone(), Arc::clone(&entered));
        async move {
            gate.acquire().await.unwrap().forget();
            log.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store).component(Plain(script)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    assert!(consumer.wait_for(&last, Duration::from_millis(50)).await.is_err());
    gate.add_permits(10);
    consumer.wait_for(&last, Duration::from_secs(30)).await.unwrap();
    assert_eq!(journal.len(), 20);
    stop(running).await;
}
