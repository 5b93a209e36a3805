//! Sagas with `dead_letter = "park"`: an instance whose event was given up stands. Its later events and its timers wait,
//! also where it could not even begin; other instances go on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, LetterKind};
use evento_runtime::{BundleBuilder, Running};
use serde::{Deserialize, Serialize};

use crate::scripted::{Journal, MemoryStore, append_all, bundle, dead_letters, settled, stop};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Begun {
    order: String,
    n: u64,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Step {
    order: String,
    n: u64,
}

/// Found by another value than the others.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Paid {
    payment: String,
    n: u64,
}

/// A timer.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Overdue {
    order: String,
    n: u64,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Closed {
    order: String,
    n: u64,
}

/// What an instance has seen.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Steps(Vec<u64>);

#[derive(Clone, Default)]
struct Orders {
    poison: Arc<Mutex<BTreeSet<u64>>>,
    /// By order: what the state holds after each event.
    seen: Journal<(String, Vec<u64>)>,
}

impl Orders {
    fn see(&self, order: &str, n: u64, state: &mut Steps) -> Result<(), BoxError> {
        state.0.push(n);
        if self.poison.lock().unwrap().contains(&n) {
            return Err(HandlerError::permanent("poison").into());
        }
        self.seen.push((order.to_owned(), state.0.clone()));
        Ok(())
    }

    fn last_of(&self, order: &str) -> Vec<u64> {
        self.seen.all().into_iter().rfind(|(of, _)| of == order).map(|(_, numbers)| numbers).unwrap_or_default()
    }
}

#[saga(version = 1, start = "beginning", dead_letter = "park")]
impl Orders {
    #[saga_event_handler(init, association = order, retry = 0)]
    async fn begun(&self, event: Begun, state: &mut Steps, also: Associations, outbox: Outbox) -> Result<(), BoxError> {
        also.add("payment", format!("pay-{}", event.order))?;
        outbox.schedule(Duration::from_millis(1), Overdue { order: event.order.clone(), n: 1_000 });
        self.see(&event.order, event.n, state)
    }

    #[saga_event_handler(association = order, retry = 0)]
    async fn step(&self, event: Step, state: &mut Steps) -> Result<(), BoxError> {
        self.see(&event.order, event.n, state)
    }

    #[saga_event_handler(association = payment, retry = 0)]
    async fn paid(&self, event: Paid, state: &mut Steps) -> Result<(), BoxError> {
        self.see(&event.payment.replace("pay-", ""), event.n, state)
    }

    #[saga_event_handler(association = order, retry = 0)]
    async fn overdue(&self, event: Overdue, state: &mut Steps) -> Result<(), BoxError> {
        self.see(&event.order, event.n, state)
    }

    #[saga_event_handler(association = order, retry = 0)]
    async fn closed(&self, event: Closed, state: &mut Steps) -> Result<Flow, BoxError> {
        self.see(&event.order, event.n, state)?;
        Ok(Flow::Complete)
    }
}

async fn start(builder: BundleBuilder, orders: &Orders) -> Running {
    builder.component(orders.clone()).build().unwrap().start().await.unwrap()
}

fn begun(order: &str, n: u64) -> NewEvent {
    Begun { order: order.to_owned(), n }.into()
}

fn step(order: &str, n: u64) -> NewEvent {
    Step { order: order.to_owned(), n }.into()
}

fn paid(order: &str, n: u64) -> NewEvent {
    Paid { payment: format!("pay-{order}"), n }.into()
}

fn closed(order: &str, n: u64) -> NewEvent {
    Closed { order: order.to_owned(), n }.into()
}

#[tokio::test]
async fn an_instance_whose_event_was_given_up_stands_until_that_is_handled() {
    let store = MemoryStore::new();
    let orders = Orders::default();
    orders.poison.lock().unwrap().insert(3);
    let running = start(bundle(&store), &orders).await;
    append_all(&store, [begun("a", 1), begun("b", 2)]).await;
    evento_tests::eventually("the timers have fired", || {
        orders.last_of("a") == [1, 1_000] && orders.last_of("b") == [2, 1_000]
    })
    .await;
    let last = append_all(&store, [step("a", 3), step("b", 4), paid("a", 5), step("a", 6), closed("b", 7)]).await;
    settled(&running, &last).await;
    let letters = dead_letters(&running).await;
    let kinds: Vec<_> = letters.iter().map(|dead| (&*dead.letter.handler, dead.letter.kind)).collect();
    assert_eq!(kinds, [("step", LetterKind::Dead), ("paid", LetterKind::Parked), ("step", LetterKind::Parked)]);
    let consumer = running.consumers().remove(0);
    assert_eq!((consumer.status().parked_keys, consumer.status().parked_events), (1, 3));
    // It is told which one stands, and another of the same name as one that has ended is no matter of it.
    let sagas = Arc::clone(&running.store().stores.sagas);
    let instance = sagas.instances(consumer.id(), None, 10).await.unwrap().remove(0).id;
    assert!(letters.iter().all(|dead| dead.letter.parks.as_ref().is_some_and(|key| *key.key == instance.to_string())));
    assert_eq!((orders.last_of("a"), orders.last_of("b")), (vec![1, 1_000], vec![2, 1_000, 4, 7]));
    // Over a restart as well.
    stop(running).await;
    let running = start(bundle(&store), &orders).await;
    let last = append_all(&store, [paid("a", 8), closed("a", 9), begun("c", 10)]).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    assert_eq!((orders.last_of("a"), consumer.status().parked_events), (vec![1, 1_000], 5));
    assert_eq!(orders.last_of("c")[0], 10);
    orders.poison.lock().unwrap().clear();
    consumer.redrive(LetterFilter::all()).await.unwrap();
    evento_tests::eventually("it went on to its end", || consumer.status().parked_keys == 0).await;
    assert_eq!(orders.last_of("a"), [1, 1_000, 3, 5, 6, 8, 9]);
    assert!(dead_letters(&running).await.is_empty());
    stop(running).await;
}

#[tokio::test]
async fn what_comes_for_an_instance_that_could_not_begin_waits_for_it() {
    let store = MemoryStore::new();
    let orders = Orders::default();
    orders.poison.lock().unwrap().insert(1);
    let running = start(bundle(&store), &orders).await;
    let events = [begun("a", 1), step("a", 2), begun("b", 3), begun("a", 4), step("b", 5), step("nobody", 6)];
    let last = append_all(&store, events).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    assert_eq!((consumer.status().parked_keys, consumer.status().parked_events), (1, 3));
    assert!(orders.last_of("a").is_empty());
    orders.poison.lock().unwrap().clear();
    consumer.redrive(LetterFilter::all().kind(LetterKind::Dead)).await.unwrap();
    evento_tests::eventually("it has begun and gone on", || consumer.status().parked_keys == 0).await;
    // The timer came when the instance had begun.
    evento_tests::eventually("its timer has fired", || orders.last_of("a").contains(&1_000)).await;
    let seen: Vec<u64> = orders.last_of("a").into_iter().filter(|n| *n != 1_000).collect();
    assert_eq!(seen, [1, 2, 4]);
    assert_eq!(orders.last_of("b").into_iter().filter(|n| *n != 1_000).collect::<Vec<_>>(), [3, 5]);
    stop(running).await;
}

#[tokio::test]
async fn a_full_queue_of_an_instance_holds_up_no_other() {
    for queue in [1, 3] {
        a_full_queue(queue).await;
    }
}

async fn a_full_queue(queue: usize) {
    let store = MemoryStore::new();
    let orders = Orders::default();
    orders.poison.lock().unwrap().insert(2);
    let builder = || bundle(&store).parked_queue(queue).look_ahead(12).page(10);
    let running = start(builder(), &orders).await;
    append_all(&store, [begun("a", 0), begun("b", 1)]).await;
    evento_tests::eventually("the timers have fired", || orders.last_of("a").len() + orders.last_of("b").len() == 4)
        .await;
    append_all(&store, (1..=20).map(|n| step(if n % 2 == 0 { "a" } else { "b" }, n))).await;
    let consumer = running.consumers().remove(0);
    evento_tests::eventually("the other one goes on", || orders.last_of("b").last() == Some(&19)).await;
    let full = |reason: Option<StallReason>| matches!(reason, Some(StallReason::ParkedQueueFull { .. }));
    evento_tests::eventually("it says what stands", || full(consumer.status().reason)).await;
    orders.poison.lock().unwrap().clear();
    consumer.redrive(LetterFilter::all()).await.unwrap();
    let last = append_all(&store, [step("a", 22), step("b", 23)]).await;
    settled(&running, &last).await;
    evento_tests::eventually("it went on", || consumer.status().parked_keys == 0).await;
    let expected: Vec<u64> = [0, 1_000].into_iter().chain((2..=22).filter(|n| n % 2 == 0)).collect();
    evento_tests::eventually("it has seen everything", || orders.last_of("a").last() == Some(&22)).await;
    assert_eq!(orders.last_of("a"), expected);
    stop(running).await;
}
