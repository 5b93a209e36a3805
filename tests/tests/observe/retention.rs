//! History goes when it is told to, and nothing that waits for somebody.

use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::SeekTo;
use evento_runtime::event::Timestamp;
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, MemoryStore};
use evento_runtime::{AdminError, BundleBuilder, Position, RunError, Running};
use evento_tests::eventually;
use tokio::sync::Semaphore;

use crate::shop::{Gate, InOrder, Placed, bundle, orders, place, settled};

const PATIENCE: Duration = Duration::from_secs(10);

async fn start(builder: BundleBuilder) -> Running {
    let builder = builder.lease_renewal(LeaseRenewal::Runtime).component(InOrder(Gate::open()));
    builder.build().unwrap().start().await.unwrap()
}

/// Discards the oldest dead letter, and lets housekeeping look at it.
async fn discard_one(running: &Running) {
    let consumer = running.consumers().remove(0);
    let letters = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    let first = LetterFilter::at(letters[0].letter.event.position.clone());
    assert_eq!(running.store().stores.dead_letters.discard(consumer.id(), &first).await.unwrap(), 1);
    // By the clock of the machine it was a moment ago; by that of the tasks, which stands still, hours go by.
    std::thread::sleep(Duration::from_millis(3));
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
}

/// How much history there was; it is gone then.
async fn history(running: &Running) -> u64 {
    running.consumers()[0].purge(Timestamp::from_micros(i64::MAX)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn resolved_dead_letters_are_kept_for_as_long_as_was_said() {
    let store = MemoryStore::new();
    let day = start(bundle("shop", &store).keep_resolved(Duration::from_secs(86_400))).await;
    let last = place(&day, orders(3, 9)).await;
    settled(&day, &last).await;
    discard_one(&day).await;
    assert_eq!(history(&day).await, 1, "not a day ago");
    day.stop(PATIENCE).await.unwrap();
    let moment = start(bundle("shop", &store).keep_resolved(Duration::from_millis(1))).await;
    discard_one(&moment).await;
    assert_eq!(history(&moment).await, 0, "swept");
    let consumer = moment.status()[0].consumer.clone();
    assert_eq!(moment.store().stores.dead_letters.count(&consumer).await.unwrap(), 1, "what waits for somebody stays");
    moment.stop(PATIENCE).await.unwrap();
}

/// Projects nothing, from the first event on.
#[derive(Default)]
struct Late;

#[projector(version = 1)]
impl Late {
    #[event_handler]
    async fn placed(&self, _event: Placed) {}
}

/// Projects nothing, from what comes next on.
#[derive(Default)]
struct Next;

#[projector(version = 1, start = "head")]
impl Next {
    #[event_handler]
    async fn placed(&self, _event: Placed) {}
}

/// Everything of housekeeping that is due.
async fn hours_go_by() {
    std::thread::sleep(Duration::from_millis(3));
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
}

#[tokio::test(start_paused = true)]
async fn events_are_kept_for_as_long_as_was_said_and_until_everybody_has_settled_them() {
    let store = MemoryStore::new();
    let day = start(bundle("shop", &store).keep_events(Duration::from_secs(86_400))).await;
    let last = place(&day, orders(10, 0)).await;
    settled(&day, &last).await;
    hours_go_by().await;
    let log = day.store().events.clone();
    assert_eq!(log.pruned().await.unwrap(), None, "not a day ago");
    day.stop(PATIENCE).await.unwrap();

    let gate = Gate::shut();
    let builder = bundle("shop", &store).keep_events(Duration::from_millis(1)).lease_renewal(LeaseRenewal::Runtime);
    let moment = builder.component(InOrder(gate.clone())).build().unwrap().start().await.unwrap();
    let more = place(&moment, orders(10, 0)).await;
    hours_go_by().await;
    let watermark = moment.status()[0].watermark.clone();
    assert_eq!(watermark.as_ref(), Some(&last), "it waits in the first of the new ones");
    assert_eq!(log.pruned().await.unwrap(), watermark, "up to there and no further");
    assert_eq!(log.count_after(None, 100).await.unwrap(), 11, "the last of the key, and what is not settled");
    gate.0.add_permits(Semaphore::MAX_PERMITS);
    settled(&moment, &more).await;
    hours_go_by().await;
    let log_left = log.count_after(None, 100).await.unwrap();
    assert_eq!(log_left, 2, "the last of its key up to there, and the last of all");
    let audit = moment.store().stores.admin.audit("shop", None, 10).await.unwrap();
    let told: Vec<_> = audit.iter().map(|row| (&*row.who, &*row.origin, &*row.action, &*row.result)).collect();
    assert_eq!(
        told,
        [
            ("keep_events", "shop-1", "prune", "done: 9 events, up to position 19"),
            ("keep_events", "shop-1", "prune", "done: 9 events, up to position 10"),
        ]
    );
    moment.stop(PATIENCE).await.unwrap();
}

/// What was taken out is missed by nobody without a word: a new component is refused, and so is a seek.
#[tokio::test(start_paused = true)]
async fn nobody_begins_below_what_was_pruned() {
    let store = MemoryStore::new();
    let running = start(bundle("shop", &store)).await;
    let last = place(&running, orders(10, 0)).await;
    settled(&running, &last).await;
    let pruned = running.store().prune(Timestamp::from_micros(i64::MAX), 1_000).await.unwrap();
    assert_eq!((pruned.events, pruned.to.map(|to| to.to_text()).as_deref()), (8, Some("9")));
    let consumer = running.consumers().remove(0);
    let at = |n| SeekTo::After(Position::from_u64(n));
    for below in [SeekTo::Start, at(3), at(8), SeekTo::Time(Timestamp::from_micros(0))] {
        let refused = consumer.seek_keeping(below.clone()).await.unwrap_err();
        assert!(refused.to_string().contains("`after:9`"), "{below:?}: {refused}");
        assert!(matches!(refused, AdminError::Pruned { .. }), "{refused:?}");
    }
    assert_eq!(running.status()[0].watermark, Some(last.clone()), "it stands where it was");
    consumer.seek_keeping(at(9)).await.unwrap();
    settled(&running, &last).await;

    let builder = || bundle("shop", &store).lease_renewal(LeaseRenewal::Runtime).component(InOrder(Gate::open()));
    let refused = builder().register::<Late>().build().unwrap().start().await.unwrap_err();
    let RunError::Launch(refused) = refused else { panic!("{refused:?}") };
    let [problem] = &refused.problems[..] else { panic!("{refused:?}") };
    assert_eq!(problem.code, "history-pruned");
    assert_eq!(
        problem.message,
        "`shop/Late v1` begins with the first event of `memory`, which was pruned up to position 9"
    );
    assert!(problem.help.as_deref().unwrap().contains("`after:9`"), "{problem:?}");
    let next = builder().register::<Next>().build().unwrap().start().await.unwrap();
    let handle = next.consumers_of::<Next>().remove(0);
    eventually("it begins", || handle.status().epoch.0 > 0).await;
    handle.seek_keeping(at(9)).await.unwrap();
    eventually("it has handled what is left", || handle.status().counters.settled == 1).await;
    next.stop(PATIENCE).await.unwrap();
    running.stop(PATIENCE).await.unwrap();
}

/// A dead letter has a copy of what it is about.
#[tokio::test(start_paused = true)]
async fn a_dead_letter_outlives_its_event() {
    let store = MemoryStore::new();
    let running = start(bundle("shop", &store)).await;
    let given_up = place(&running, orders(1, 99)).await;
    let last = place(&running, orders(3, 0)).await;
    settled(&running, &last).await;
    hours_go_by().await;
    assert_eq!(running.store().prune(Timestamp::from_micros(i64::MAX), 1_000).await.unwrap().events, 2);
    assert!(running.store().events.read_exact(std::slice::from_ref(&given_up)).await.unwrap().is_empty());
    let consumer = running.consumers().remove(0);
    let letter = async || consumer.dead_letters(LetterFilter::at(given_up.clone()), None, 1).await.unwrap().remove(0);
    let before = letter().await.letter.attempts;
    assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
    for _ in 0..600 {
        if letter().await.letter.attempts > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(letter().await.letter.attempts > before, "it was handed to its handler once more");
    running.stop(PATIENCE).await.unwrap();
}
