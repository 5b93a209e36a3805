//! G4: a handler with a key of its own keeps the order of that field, whatever streams its events are in.

use std::collections::BTreeMap;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, ErrorClass};
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
    let released = std::sync::Arc::new(tokio::sync::Notify::new());
    let script = Script::new(move |call| {
        let released = std::sync::Arc::clone(&released);
        async move {
            match call.n {
                3 => released.notify_waiters(),
                2 => {}
                _ => released.notified().await,
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
