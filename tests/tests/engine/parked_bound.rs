//! G6, G12: what is parked is bounded: of one key, and of all of them together. At the bound nothing is lost and nothing is
//! overtaken; the consumer says why it stands.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, LetterKind};
use evento_runtime::{BundleBuilder, CheckpointMode, DeadLetterPolicy};

use crate::reported::parts::begun;
use crate::scripted::{
    Call, Journal, Limited, MemoryStore, Pooled, Script, append, bundle, dead_letters, lanes, settled, stop,
};

/// Fails for good for the numbers that are poison at the time; notes what it has handled.
fn poisoned(poison: &Arc<Mutex<BTreeSet<u64>>>, handled: &Journal<u64>) -> Script {
    let (poison, handled) = (Arc::clone(poison), handled.clone());
    Script::new(move |call: Call| {
        let is_poison = poison.lock().unwrap().contains(&call.n);
        if !is_poison {
            handled.push(call.n);
        }
        async move { if is_poison { Err(HandlerError::permanent("poison").into()) } else { Ok(Flow::Continue) } }
    })
}

fn parking(builder: BundleBuilder, script: Script, mode: Option<CheckpointMode>) -> BundleBuilder {
    match mode {
        Some(mode) => builder
            .component(Pooled(script))
            .executor(lanes(4))
            .checkpoint_mode(mode)
            .dead_letter::<Pooled>(DeadLetterPolicy::Park),
        None => builder.component(Limited(script)).dead_letter::<Limited>(DeadLetterPolicy::Park),
    }
}

fn is_full(reason: Option<&StallReason>, key: &str) -> bool {
    matches!(reason, Some(StallReason::ParkedQueueFull { key: of }) if of == key)
}

/// Three keys fail, and there is room for two events: the third one is tried until there is more.
#[tokio::test]
async fn at_the_bound_no_further_key_is_given_up_and_nothing_is_lost() {
    for mode in [Some(CheckpointMode::OnStart), Some(CheckpointMode::Watermark), None] {
        let store = MemoryStore::new();
        append(&store, 0..24, 4).await;
        let poison = Arc::new(Mutex::new(BTreeSet::from([0, 1, 2])));
        let handled = Journal::default();
        let builder = || parking(bundle(&store).parked_events(2), poisoned(&poison, &handled), mode);
        let running = begun(builder()).await;
        let consumer = running.consumers().remove(0);
        evento_tests::eventually("it has tried the third key again", || consumer.status().counters.failed > 5).await;
        if mode.is_some() {
            evento_tests::eventually("the healthy key is handled", || handled.len() == 6).await;
            assert!(handled.all().iter().all(|n| n % 4 == 3), "something of a parked key ran: {:?}", handled.all());
        }
        evento_tests::eventually("it says why it stands", || {
            let status = consumer.status();
            let third = status.held_by.as_ref().is_some_and(|held_by| held_by.failed > 0);
            third && (0..3).any(|key| is_full(status.reason.as_ref(), &format!("k{key}")))
        })
        .await;
        let status = consumer.status();
        // Two keys, or one with its next event.
        let given_up = usize::try_from(status.counters.dead_lettered).unwrap();
        assert_eq!((status.parked_events, given_up), (2, status.parked_keys), "{mode:?}");
        stop(running).await;

        // The same in the next run, and with a bound that is below what there is.
        let running = begun(parking(bundle(&store).parked_events(1), poisoned(&poison, &handled), mode)).await;
        let consumer = running.consumers().remove(0);
        evento_tests::eventually("it tries the third key again", || consumer.status().counters.failed > 5).await;
        assert_eq!((consumer.status().parked_events, dead_letters(&running).await.len()), (2, 2), "{mode:?}");

        poison.lock().unwrap().clear();
        consumer.redrive(LetterFilter::all()).await.unwrap();
        let last = append(&store, 24..28, 4).await;
        settled(&running, &last).await;
        evento_tests::eventually("every key is free", || consumer.status().parked_keys == 0).await;
        evento_tests::eventually("everything is handled", || handled.len() == 28).await;
        assert!(dead_letters(&running).await.is_empty());
        for key in 0..4 {
            let of_key: Vec<u64> = handled.all().into_iter().filter(|n| n % 4 == key).collect();
            assert_eq!(of_key, (0..28).filter(|n| n % 4 == key).collect::<Vec<_>>(), "{mode:?}");
        }
        stop(running).await;
    }
}

/// Room that one key gives back is for what waits of another one.
#[tokio::test]
async fn what_waits_for_room_gets_that_of_another_key() {
    let store = MemoryStore::new();
    let last = append(&store, 0..8, 2).await;
    let poison = Arc::new(Mutex::new(BTreeSet::from([0, 1])));
    let handled = Journal::default();
    let builder =
        parking(bundle(&store).parked_events(4), poisoned(&poison, &handled), Some(CheckpointMode::Watermark));
    let running = begun(builder).await;
    let consumer = running.consumers().remove(0);
    evento_tests::eventually("half of them are parked", || consumer.status().parked_events == 4).await;
    poison.lock().unwrap().remove(&0);
    consumer.redrive(LetterFilter::all().key("k0")).await.unwrap();
    evento_tests::eventually("one key is handled", || handled.len() == 4).await;
    settled(&running, &last).await;
    assert_eq!((handled.all(), consumer.status().parked_events), (vec![0, 2, 4, 6], 4));
    let kinds: Vec<LetterKind> = dead_letters(&running).await.iter().map(|dead| dead.letter.kind).collect();
    assert_eq!(kinds, [LetterKind::Dead, LetterKind::Parked, LetterKind::Parked, LetterKind::Parked]);
    stop(running).await;
}

/// One that was given up and nothing behind it in the store: what waited is free at once, in order.
#[tokio::test]
async fn a_queue_of_one_frees_what_waited_in_order() {
    for mode in [Some(CheckpointMode::OnStart), Some(CheckpointMode::Watermark), None] {
        let store = MemoryStore::new();
        append(&store, 0..9, 1).await;
        let poison = Arc::new(Mutex::new(BTreeSet::from([0])));
        let handled = Journal::default();
        let running = begun(parking(bundle(&store).parked_queue(1), poisoned(&poison, &handled), mode)).await;
        let consumer = running.consumers().remove(0);
        let full = || is_full(consumer.status().reason.as_ref(), "k0");
        evento_tests::eventually("it says why it stands", full).await;
        assert_eq!((consumer.status().parked_events, consumer.status().open), (1, 8), "{mode:?}");
        poison.lock().unwrap().clear();
        consumer.redrive(LetterFilter::all()).await.unwrap();
        settled(&running, &Position::from_u64(9)).await;
        evento_tests::eventually("it is free", || consumer.status().parked_keys == 0).await;
        assert_eq!(handled.all(), (0..9).collect::<Vec<_>>(), "{mode:?}");
        stop(running).await;
    }
}

/// Skipped before it begins, or where it waits for room: it is no row, and nothing is in its way any more.
#[tokio::test]
async fn what_is_skipped_is_not_parked_and_waits_for_no_room() {
    let store = MemoryStore::new();
    append(&store, 0..3, 1).await;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let (handled, closed) = (Journal::default(), Arc::clone(&gate));
    let log = handled.clone();
    let script = Script::new(move |call: Call| {
        let (handled, gate) = (log.clone(), Arc::clone(&closed));
        async move {
            handled.push(call.n);
            gate.acquire().await.unwrap().forget();
            if call.n == 0 { Err(HandlerError::permanent("poison").into()) } else { Ok(Flow::Continue) }
        }
    });
    let builder = parking(bundle(&store).parked_queue(1), script, Some(CheckpointMode::Watermark));
    let running = begun(builder).await;
    let consumer = running.consumers().remove(0);
    evento_tests::eventually("the first one runs", || handled.len() == 1).await;
    consumer.skip(Position::from_u64(2)).await.unwrap();
    gate.add_permits(10);
    evento_tests::eventually("the third one waits", || is_full(consumer.status().reason.as_ref(), "k0")).await;
    assert_eq!((consumer.status().open, consumer.status().counters.skipped), (1, 1));
    consumer.skip(Position::from_u64(3)).await.unwrap();
    evento_tests::eventually("nothing waits", || consumer.status().reason == Some(StallReason::CaughtUp)).await;
    assert_eq!((dead_letters(&running).await.len(), handled.all()), (1, vec![0]));
    stop(running).await;
}
