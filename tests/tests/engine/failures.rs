//! G10, G11, G12: the failure table, cell by cell, and what a dead letter keeps.

use std::io;

use evento_runtime::component::Kind;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, ErrorClass};

use crate::scripted::{
    Journal, Limited, MemoryStore, Plain, Pooled, Script, append, append_all, bundle, dead_letters, lanes, settled,
    stop, tasks,
};

fn attempts_of(journal: &Journal<(u64, u32)>, n: u64) -> u32 {
    journal.all().iter().filter(|(event, _)| *event == n).map(|(_, attempt)| *attempt).max().unwrap_or_default()
}

/// Fails for event 3 with `error`, until attempt `until`.
fn failing(journal: &Journal<(u64, u32)>, until: u32, error: fn() -> BoxError) -> Script {
    let journal = journal.clone();
    Script::new(move |call| {
        journal.push((call.n, call.attempt));
        async move { if call.n == 3 && call.attempt < until { Err(error()) } else { Ok(Flow::Continue) } }
    })
}

fn ordinary() -> BoxError {
    "out of stock".into()
}

fn transient() -> BoxError {
    io::Error::from(io::ErrorKind::ConnectionRefused).into()
}

fn permanent() -> BoxError {
    HandlerError::permanent("wrong address").into()
}

#[derive(Clone, Copy, PartialEq)]
enum On {
    Loop,
    Executor(CheckpointMode),
}

/// Runs ten events with two further attempts each; answers (attempts of event 3, dead letters).
async fn run(on: On, until: u32, error: fn() -> BoxError) -> (u32, usize) {
    let store = MemoryStore::new();
    let last = append(&store, 0..10, 3).await;
    let journal = Journal::default();
    let script = failing(&journal, until, error);
    let builder = match on {
        On::Loop => bundle(&store).component(Limited(script)),
        On::Executor(mode) => bundle(&store).component(Pooled(script)).executor(lanes(4)).checkpoint_mode(mode),
    };
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await.len();
    let handled = (0..10).filter(|n| attempts_of(&journal, *n) > 0).count();
    assert_eq!(handled, 10, "a failure stops no other event");
    stop(running).await;
    (attempts_of(&journal, 3), dead)
}

const ON_START: On = On::Executor(CheckpointMode::OnStart);
const WATERMARK: On = On::Executor(CheckpointMode::Watermark);

#[tokio::test]
async fn an_ordinary_error_gets_its_further_attempts_and_then_the_dead_letters() {
    for on in [On::Loop, ON_START, WATERMARK] {
        assert_eq!(run(on, 3, ordinary).await, (3, 0));
        assert_eq!(run(on, u32::MAX, ordinary).await, (3, 1));
    }
}

#[tokio::test]
async fn a_transient_error_spends_no_budget_but_under_on_start() {
    assert_eq!(run(On::Loop, 9, transient).await, (9, 0));
    assert_eq!(run(WATERMARK, 9, transient).await, (9, 0));
    assert_eq!(run(ON_START, 9, transient).await, (3, 1));
}

#[tokio::test]
async fn a_permanent_error_is_tried_once() {
    for on in [On::Loop, ON_START, WATERMARK] {
        assert_eq!(run(on, u32::MAX, permanent).await, (1, 1));
    }
}

#[tokio::test]
async fn a_panic_is_that_events_failure_and_nothing_else() {
    for on in [On::Loop, ON_START, WATERMARK] {
        assert_eq!(run(on, u32::MAX, || panic!("boom")).await, (1, 1));
    }
}

#[tokio::test]
async fn for_ever_is_for_ever_in_the_consumers_own_loop() {
    let store = MemoryStore::new();
    let last = append(&store, 0..10, 3).await;
    let journal = Journal::default();
    let running =
        bundle(&store).component(Plain(failing(&journal, 50, ordinary))).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    assert_eq!((attempts_of(&journal, 3), dead_letters(&running).await.len()), (50, 0));
    let order: Vec<u64> = journal.all().into_iter().map(|(n, _)| n).collect();
    assert!(order.is_sorted(), "later events waited");
    stop(running).await;
}

#[tokio::test]
async fn what_a_handler_asks_for_is_done() {
    let store = MemoryStore::new();
    let last = append(&store, 0..5, 0).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        log.push((call.n, call.attempt));
        async move {
            Ok(match (call.n, call.attempt) {
                (1, _) => Flow::Skip,
                (2, _) => Flow::DeadLetter("nobody lives there".to_owned()),
                (3, 1) => Flow::RetryAfter(std::time::Duration::from_millis(1)),
                _ => Flow::Continue,
            })
        }
    });
    let running = bundle(&store).component(Limited(script)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].letter.error, "nobody lives there");
    assert_eq!(attempts_of(&journal, 3), 2);
    assert_eq!(running.status()[0].counters.skipped, 1);
    stop(running).await;
}

#[tokio::test]
async fn a_payload_that_does_not_decode_is_kept_byte_for_byte() {
    let store = MemoryStore::new();
    let payloads: [&[u8]; 4] = [b"\xff\x00\xfe", b"{\"n\":", b"{\"n\":\"text\"}", b""];
    let events = payloads.map(|payload| NewEvent::raw("Made", "application/json", payload.to_vec()).key("k"));
    append_all(&store, events).await;
    let last = append(&store, [7], 1).await;
    let journal = Journal::default();
    let script = failing(&journal, 0, ordinary);
    let running = bundle(&store).component(Pooled(script)).executor(tasks(2)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await;
    assert_eq!(dead.iter().map(|dead| &dead.letter.event.payload[..]).collect::<Vec<_>>(), payloads);
    assert!(dead.iter().all(|dead| dead.letter.class == ErrorClass::Permanent && dead.letter.attempts == 1));
    assert!(dead[1].letter.error.contains("caused by"), "{}", dead[1].letter.error);
    assert_eq!(attempts_of(&journal, 7), 1, "the consumer goes on");
    stop(running).await;
}

#[tokio::test]
async fn a_dead_letter_keeps_the_whole_story() {
    let store = MemoryStore::new();
    let last = append(&store, [3], 1).await;
    let script = failing(&Journal::default(), u32::MAX, ordinary);
    let running = bundle(&store).component(Limited(script)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await.remove(0).letter;
    assert_eq!((dead.attempts, dead.class, dead.handler.as_str()), (3, ErrorClass::Ordinary, "made"));
    assert_eq!(dead.error, "out of stock");
    assert!(dead.first_failed_at < dead.last_failed_at);
    let status = &running.status()[0];
    assert_eq!((status.errors.streak, status.errors.recent.len()), (3, 3));
    stop(running).await;
}

#[tokio::test]
async fn one_consumers_failures_change_nothing_for_another() {
    let store = MemoryStore::new();
    let last = append(&store, 0..200, 5).await;
    let healthy = Journal::default();
    let running = bundle(&store)
        .component(Pooled(Script::new(|_| async { panic!("always") })))
        .component(Plain(failing(&healthy, 0, ordinary)))
        .executor(lanes(4))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    settled(&running, &last).await;
    assert_eq!(healthy.len(), 200);
    let by_name = |name: &str| running.status().into_iter().find(|status| &*status.consumer.component == name).unwrap();
    assert_eq!(by_name("Plain").counters.dead_lettered, 0);
    assert_eq!(by_name("Pooled").counters.dead_lettered, 200);
    assert_eq!(Kind::Projector.to_string(), "projector");
    stop(running).await;
}
