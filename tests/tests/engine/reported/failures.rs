//! Events that cannot be handled.

use evento_runtime::CheckpointMode;
use evento_runtime::consumer::StallReason;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;

use super::parts::*;
use crate::scripted::{Journal, MemoryStore, Plain, Pooled, Script, dead_letters, over, settled, stop, tasks};

#[tokio::test]
async fn f10_a_transient_failure_in_the_loop_holds_itself_and_nothing_before_it() {
    let store = MemoryStore::new().store();
    let (journal, away) = (Journal::default(), Switch::turned());
    let is_away = away.clone();
    let script = failing(&journal, move |call| (call.n == 5 && is_away.is_on()).then(timed_out));
    let running = begun(over(ConsumerEngineConfig::of(&store)).component(Plain(script))).await;
    let last = put(&store, made(0..10)).await;
    evento_tests::eventually("it is tried again and again", || journal.len() > 15).await;
    evento_tests::eventually("it says so", || running.status()[0].reason == Some(StallReason::BackingOff)).await;
    // What was handled before it is stored although it is not.
    let before = log(&store).await[4].position.clone();
    while watermark(&store, "Plain").await != Some(before.clone()) {
        tokio::task::yield_now().await;
    }
    assert!(journal.all().iter().all(|(n, _)| *n <= 5), "something overtook it");
    away.turn(false);
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 0);
    let order: Vec<u64> = journal.all().into_iter().map(|(n, _)| n).collect();
    assert!(order.is_sorted());
    stop(running).await;
}

#[tokio::test]
async fn f20_a_panic_is_the_end_of_that_event_in_every_kind() {
    let store = MemoryStore::new().store();
    let journal = Journal::default();
    let script = || {
        let journal = journal.clone();
        Script::new(move |call| {
            let journal = journal.clone();
            async move {
                assert!(call.n != 1, "boom");
                journal.push(call.n);
                Ok(Flow::Continue)
            }
        })
    };
    let builder = over(ConsumerEngineConfig::of(&store))
        .component(Plain(script()))
        .component(Pooled(script()))
        .component(Told(script()))
        .component(Rung(script()))
        .component(Tally(script()));
    let running = begun(builder.executor(tasks(2))).await;
    put(&store, made(0..3)).await;
    let last = put(&store, (0..3).map(|n| counted("a", n))).await;
    settled(&running, &last).await;
    for consumer in running.consumers() {
        let dead = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
        assert!(dead.len() == 1 && dead[0].letter.attempts == 1, "{}: {dead:?}", consumer.id());
        assert!(dead[0].letter.error.contains("panicked: boom"), "{}: {}", consumer.id(), dead[0].letter.error);
    }
    assert_eq!(sorted(&journal), [0, 0, 0, 0, 0, 2, 2, 2, 2, 2]);
    stop(running).await;
    assert_eq!(tallied(&store).await, [0, 2], "what it had changed before it panicked is gone");
}

#[tokio::test]
async fn f41_an_event_without_a_payload_or_a_known_name_stops_no_later_one() {
    for place in places().await {
        let journal = Journal::default();
        let builder = over(ConsumerEngineConfig::of(&place.store))
            .component(Plain(noting(&journal)))
            .component(Pooled(noting(&journal)))
            .component(Told(noting(&journal)))
            .component(Rung(noting(&journal)))
            .component(Tally(noting(&journal)));
        let running = begun(builder.executor(tasks(2)).checkpoint_mode(CheckpointMode::Watermark)).await;
        let raw = |name: &str, payload: &'static [u8]| NewEvent::raw(name, "application/json", payload);
        let events = [
            raw("Forgotten", b""),
            raw("Made", b""),
            raw("Made", b"null"),
            raw("Made", b"\0\xff{"),
            raw("Counted", b""),
            raw("Counted", b"null"),
            raw("Counted", b"{\"order\":{\"no\":\"text\"},\"n\":7}"),
        ];
        put(&place.store, events).await;
        put(&place.store, made([1])).await;
        let last = put(&place.store, [counted("a", 2)]).await;
        settled(&running, &last).await;
        for consumer in running.consumers() {
            let dead = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
            let payloads: Vec<&[u8]> = dead.iter().map(|dead| &dead.letter.event.payload[..]).collect();
            let expected: [&[u8]; 3] = match &*consumer.id().component {
                "Tally" => [b"", b"null", b"{\"order\":{\"no\":\"text\"},\"n\":7}"],
                _ => [b"", b"null", b"\0\xff{"],
            };
            assert_eq!(payloads, expected, "{} {}", place.name, consumer.id());
            assert!(dead.iter().all(|dead| dead.letter.attempts == 1), "{dead:?}");
        }
        assert_eq!(sorted(&journal), [1, 1, 1, 1, 2], "{}", place.name);
        stop(running).await;
        place.close().await;
    }
}
