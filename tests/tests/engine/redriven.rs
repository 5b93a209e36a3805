//! G12: dead letters that are tried again: in order, once each, without touching the checkpoint, and never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use evento_runtime::{CheckpointMode, Running};

use crate::scripted::{
    Closed, Journal, Made, MemoryStore, Mixed, Pooled, Script, append, append_all, bundle, dead_letters, lanes,
    settled, stop, tasks,
};

/// Everything fails until it is healed.
fn healing(journal: &Journal<(String, u64)>, healed: &Arc<AtomicBool>) -> Script {
    let (journal, healed) = (journal.clone(), Arc::clone(healed));
    Script::new(move |call| {
        let (journal, healed) = (journal.clone(), Arc::clone(&healed));
        async move {
            tokio::task::yield_now().await;
            if !healed.load(Ordering::SeqCst) {
                return Err(HandlerError::permanent("down").into());
            }
            journal.push((call.key.unwrap_or_default(), call.n));
            Ok(Flow::Continue)
        }
    })
}

async fn start(store: &MemoryStore, script: &Script, mode: CheckpointMode) -> Running {
    let builder = bundle(store).component(Pooled(script.clone())).executor(lanes(4)).checkpoint_mode(mode);
    builder.build().unwrap().start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_are_handled_oldest_first_per_key_beside_live_events() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..60, 3).await;
        let (journal, healed) = (Journal::default(), Arc::new(AtomicBool::new(false)));
        let script = healing(&journal, &healed);
        let running = start(&store, &script, mode).await;
        settled(&running, &last).await;
        assert_eq!(dead_letters(&running).await.len(), 60);
        healed.store(true, Ordering::SeqCst);
        let consumer = running.consumers().remove(0);
        let before = consumer.status().watermark;
        assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 60);
        evento_tests::eventually("all letters are handled", || journal.len() == 60).await;
        let queue = Arc::clone(&running.store().stores.dead_letters);
        while queue.count(consumer.id()).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(consumer.status().watermark, before, "a redrive touches no checkpoint");
        for key in ["k0", "k1", "k2"] {
            let of_key: Vec<u64> = journal.all().into_iter().filter(|(k, _)| k == key).map(|(_, n)| n).collect();
            assert!(of_key.is_sorted(), "{key}: {of_key:?}");
        }
        let last = append(&store, 60..70, 3).await;
        settled(&running, &last).await;
        stop(running).await;
        // Resolved is resolved: the next run finds nothing to do.
        let running = start(&store, &script, mode).await;
        settled(&running, &last).await;
        assert_eq!(journal.len(), 70);
        stop(running).await;
    }
}

#[tokio::test]
async fn a_letter_that_fails_again_stays_with_its_attempts_added_up() {
    let store = MemoryStore::new();
    let last = append(&store, 0..3, 1).await;
    let (journal, healed) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let running = start(&store, &healing(&journal, &healed), CheckpointMode::Watermark).await;
    settled(&running, &last).await;
    let first = dead_letters(&running).await.remove(1).letter;
    let consumer = running.consumers().remove(0);
    assert_eq!(consumer.redrive(LetterFilter::at(Position::from_u64(2))).await.unwrap(), 1);
    let queue = Arc::clone(&running.store().stores.dead_letters);
    while queue.list(consumer.id(), &LetterFilter::all(), None, 10).await.unwrap()[1].letter.attempts < 2 {
        tokio::task::yield_now().await;
    }
    let again = dead_letters(&running).await;
    assert_eq!(
        again.iter().map(|dead| (dead.letter.attempts, dead.requested)).collect::<Vec<_>>(),
        [(1, false), (2, false), (1, false)]
    );
    assert_eq!(again[1].letter.first_failed_at, first.first_failed_at);
    assert!(again[1].letter.last_failed_at > first.last_failed_at);
    stop(running).await;
}

#[tokio::test]
async fn what_is_meant_is_chosen_by_name_key_or_position() {
    let store = MemoryStore::new();
    append(&store, 0..9, 3).await;
    let last = append_all(&store, (0..3).map(|n| NewEvent::from(Closed { n }).key("k1"))).await;
    let (journal, healed) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let script = healing(&journal, &healed);
    let running = bundle(&store).component(Mixed(script)).executor(tasks(2)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    healed.store(true, Ordering::SeqCst);
    let consumer = running.consumers().remove(0);
    assert_eq!(consumer.redrive(LetterFilter::all().name("Closed")).await.unwrap(), 3);
    evento_tests::eventually("those in the consumer's own loop", || journal.len() == 3).await;
    assert_eq!(consumer.redrive(LetterFilter::all().name("Made").key("k1")).await.unwrap(), 3);
    evento_tests::eventually("those of the key", || journal.len() == 6).await;
    assert_eq!(consumer.redrive(LetterFilter::at(Position::from_u64(1))).await.unwrap(), 1);
    evento_tests::eventually("the one", || journal.len() == 7).await;
    assert_eq!(consumer.redrive(LetterFilter::all().key("nobody")).await.unwrap(), 0);
    stop(running).await;
}

#[tokio::test]
async fn the_owner_carries_out_what_another_instance_asks_for() {
    let store = MemoryStore::new();
    let last = append(&store, 0..10, 2).await;
    let (journal, healed) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let script = healing(&journal, &healed);
    let owner = start(&store, &script, CheckpointMode::Watermark).await;
    let other = start(&store, &script, CheckpointMode::Watermark).await;
    settled(&owner, &last).await;
    healed.store(true, Ordering::SeqCst);
    assert_eq!(other.consumers().remove(0).redrive(LetterFilter::all()).await.unwrap(), 10);
    evento_tests::eventually("the owner has handled them", || journal.len() == 10).await;
    stop(other).await;
    stop(owner).await;
}

#[tokio::test]
async fn marks_outlive_the_process_that_should_have_carried_them_out() {
    let store = MemoryStore::new();
    let last = append(&store, 0..10, 2).await;
    let (journal, healed) = (Journal::default(), Arc::new(AtomicBool::new(false)));
    let script = healing(&journal, &healed);
    let running = start(&store, &script, CheckpointMode::Watermark).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    consumer.pause().await.unwrap();
    consumer.redrive(LetterFilter::all()).await.unwrap();
    stop(running).await;
    assert_eq!(journal.len(), 0);
    healed.store(true, Ordering::SeqCst);
    let running = start(&store, &script, CheckpointMode::Watermark).await;
    running.consumers().remove(0).resume().await.unwrap();
    evento_tests::eventually("the next run carries them out", || journal.len() == 10).await;
    stop(running).await;
}

/// The handler of `Made` is gone; another takes its place.
struct Other;

#[projector(version = 1, name = "Pooled")]
impl Other {
    #[event_handler]
    async fn closed(&self, event: Closed) {
        let _ = event;
    }
}

#[tokio::test]
async fn a_letter_whose_handler_is_gone_loses_its_mark_and_nothing_else() {
    let store = MemoryStore::new();
    let last = append(&store, 0..6, 2).await;
    let script = healing(&Journal::default(), &Arc::new(AtomicBool::new(false)));
    let running = start(&store, &script, CheckpointMode::Watermark).await;
    settled(&running, &last).await;
    stop(running).await;
    let running = bundle(&store).component(Other).build().unwrap().start().await.unwrap();
    let consumer = running.consumers().remove(0);
    assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 6);
    let queue = Arc::clone(&running.store().stores.dead_letters);
    while !queue.requested(consumer.id(), 10).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let letters = dead_letters(&running).await;
    assert!(letters.len() == 6 && letters.iter().all(|dead| dead.letter.attempts == 1 && dead.letter.error == "down"));
    let _ = Made { n: 0 };
    stop(running).await;
}
