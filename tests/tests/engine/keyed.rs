//! G4: a handler with a key of its own keeps the order of that field, whatever streams its events are in.

use std::collections::BTreeMap;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::LetterKind;
use evento_runtime::{CheckpointMode, DeadLetterPolicy, ErrorClass};
use serde::{Deserialize, Serialize};

use crate::scripted::{Journal, MemoryStore, Script, append_all, bundle, dead_letters, lanes, settled, stop};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Ordered {
    n: u64,
    customer: Option<String>,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Moved {
    n: u64,
    customer: String,
}

/// Two handlers that name the same field, and one in the order of its streams.
struct ByCustomer(Script);

#[projector(version = 1)]
impl ByCustomer {
    #[event_handler(executor = "pool", key = customer, retry = 3, retry_delay = "1ms")]
    async fn ordered(&self, event: Ordered, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }

    #[event_handler(executor = "pool", key = customer, retry = 3, retry_delay = "1ms")]
    async fn moved(&self, event: Moved, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }

    #[event_handler(executor = "pool", retry = 3, retry_delay = "1ms")]
    async fn made(
        &self,
        event: crate::scripted::Made,
        meta: Metadata,
        attempt: Attempt,
        stop: Stop,
    ) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }
}

/// Events of three customers, each in a stream of its own, and others between them.
fn event(n: u64) -> NewEvent {
    let customer = format!("c{}", n % 3);
    match n % 5 {
        4 => crate::scripted::Made { n }.into(),
        3 => NewEvent::from(Moved { n, customer }),
        _ => NewEvent::from(Ordered { n, customer: Some(customer) }),
    }
    .key(format!("s{n}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_values_are_in_order_across_streams_and_event_types() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append_all(&store, (0..300).map(event)).await;
        let journal: Journal<(u64, bool)> = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            let log = log.clone();
            async move {
                log.push((call.n, true));
                if call.n % 7 == 0 {
                    tokio::time::sleep(Duration::from_micros(300)).await;
                }
                log.push((call.n, false));
                if call.n % 11 == 0 && call.attempt == 1 { Err("not yet".into()) } else { Ok(Flow::Continue) }
            }
        });
        let builder = bundle(&store).component(ByCustomer(script)).executor(lanes(8)).checkpoint_mode(mode);
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(dead_letters(&running).await.len(), 0);
        stop(running).await;
        let mut of_customer: BTreeMap<u64, Vec<(u64, bool)>> = BTreeMap::new();
        for (n, begins) in journal.all().into_iter().filter(|(n, _)| n % 5 != 4) {
            of_customer.entry(n % 3).or_default().push((n, begins));
        }
        assert_eq!(of_customer.len(), 3);
        for (customer, steps) in of_customer {
            let begun: Vec<u64> = steps.iter().filter(|(_, begins)| *begins).map(|(n, _)| *n).collect();
            assert!(begun.is_sorted(), "c{customer}: {begun:?}");
            assert!(steps.chunks(2).all(|pair| pair[0] == (pair[1].0, true)), "c{customer}: two at once");
        }
    }
}

/// Neither holds up anything else, and what does not decode fails where it is handled.
#[tokio::test]
async fn without_a_value_there_is_no_order_and_without_a_payload_that_of_the_stream() {
    let store = MemoryStore::new();
    let nobody = |n, customer: Option<&str>| {
        NewEvent::from(Ordered { n, customer: customer.map(str::to_owned) }).key("one stream")
    };
    let broken = NewEvent::raw("Ordered", "application/json", b"{".to_vec()).key("one stream");
    // The first of each waits for the last.
    let events = [nobody(0, None), nobody(1, Some("")), broken, nobody(2, None), nobody(3, Some(""))];
    let last = append_all(&store, events).await;
    // Whichever of them begins first.
    let released = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let script = Script::new(move |call| {
        let released = std::sync::Arc::clone(&released);
        async move {
            match call.n {
                3 => released.add_permits(2),
                2 => {}
                _ => released.acquire().await?.forget(),
            }
            Ok(Flow::Continue)
        }
    });
    let builder = bundle(&store).component(ByCustomer(script)).executor(lanes(4));
    let running = builder.checkpoint_mode(CheckpointMode::Watermark).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let dead = dead_letters(&running).await;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].letter.class, dead[0].letter.handler.as_str()), (ErrorClass::Permanent, "ordered"));
    stop(running).await;
}

/// What runs of its stream is before it.
#[tokio::test]
async fn what_does_not_decode_waits_for_its_stream() {
    let store = MemoryStore::new();
    let broken = NewEvent::raw("Ordered", "application/json", b"{".to_vec()).key("one stream");
    let made = |n| NewEvent::from(crate::scripted::Made { n });
    let last = append_all(&store, [made(0).key("one stream"), broken, made(1).key("another")]).await;
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let (journal, closed) = (Journal::default(), std::sync::Arc::clone(&gate));
    let log = journal.clone();
    let script = Script::new(move |call| {
        let (journal, gate) = (log.clone(), std::sync::Arc::clone(&closed));
        async move {
            if call.n == 0 {
                gate.acquire().await.unwrap().forget();
            }
            journal.push(call.n);
            Ok(Flow::Continue)
        }
    });
    let builder = bundle(&store).component(ByCustomer(script)).executor(lanes(4));
    let running = builder.checkpoint_mode(CheckpointMode::Watermark).build().unwrap().start().await.unwrap();
    evento_tests::eventually("what comes after it is handled", || journal.len() == 1).await;
    assert_eq!(running.status()[0].counters.failed, 0);
    gate.add_permits(1);
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 1);
    stop(running).await;
}

/// What queues behind an event that was given up is what has the same value, in whatever stream.
#[tokio::test]
async fn what_is_parked_is_the_value_and_not_the_stream() {
    let store = MemoryStore::new();
    let ordered = |n, customer: &str| NewEvent::from(Ordered { n, customer: Some(customer.to_owned()) });
    let events = [
        ordered(0, "c").key("s0"),
        ordered(1, "c").key("s1"),
        ordered(2, "d").key("s0"),
        NewEvent::from(Moved { n: 3, customer: "c".to_owned() }).key("s3"),
        crate::scripted::Made { n: 4 }.into(),
    ];
    let last = append_all(&store, events).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        let end = if call.n == 0 { Err(HandlerError::permanent("never").into()) } else { Ok(Flow::Continue) };
        if end.is_ok() {
            log.push(call.n);
        }
        async move { end }
    });
    let builder = bundle(&store).component(ByCustomer(script)).executor(lanes(4));
    let builder = builder.checkpoint_mode(CheckpointMode::Watermark).dead_letter::<ByCustomer>(DeadLetterPolicy::Park);
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let letters: Vec<_> = dead_letters(&running)
        .await
        .iter()
        .map(|dead| (dead.letter.event.position.as_u64(), dead.letter.kind))
        .collect();
    assert_eq!(letters, [(Some(1), LetterKind::Dead), (Some(2), LetterKind::Parked), (Some(4), LetterKind::Parked)]);
    let mut handled = journal.all();
    handled.sort_unstable();
    assert_eq!(handled, [2, 4]);
    stop(running).await;
}
