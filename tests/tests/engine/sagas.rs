//! Sagas: one instance for what events have in common, state fresh for each attempt, everything settled together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, SagaInstance};
use evento_runtime::{BundleBuilder, HandlerError, Running};
use serde::{Deserialize, Serialize};

use crate::scripted::{Journal, MemoryStore, append_all, bundle, settled, stop};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Placed {
    order_id: String,
    /// How often the handler is to fail first; for ever if it is above 100.
    fail: u32,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Noted {
    order_id: Option<String>,
    add: u64,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Paid {
    payment: String,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Overdue {
    order_id: String,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Shipped {
    order_id: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Progressing {
    order_id: String,
    sum: u64,
    seen: u32,
}

/// What handlers see: the order, the sum and how often the state was touched.
type Seen = Journal<(String, u64, u32)>;

#[derive(Clone)]
struct Order {
    seen: Seen,
    patience: Duration,
}

#[saga(version = 1)]
impl Order {
    #[saga_event_handler(init, association = order_id, retry = 3, retry_delay = "1ms", max_delay = "2ms")]
    async fn placed(
        &self,
        event: Placed,
        state: &mut Progressing,
        attempt: Attempt,
        also: Associations,
        outbox: Outbox,
    ) -> Result<(), BoxError> {
        state.order_id.clone_from(&event.order_id);
        state.seen += 1;
        state.sum += 1;
        also.add("payment", format!("pay-{}", event.order_id))?;
        outbox.schedule(self.patience, Overdue { order_id: event.order_id.clone() });
        self.seen.push((event.order_id.clone(), state.sum, state.seen));
        if attempt.0 <= event.fail { Err("not yet".into()) } else { Ok(()) }
    }

    #[saga_event_handler(association = order_id)]
    async fn noted(&self, event: Noted, state: &mut Progressing) -> Flow {
        state.seen += 1;
        state.sum += event.add;
        self.seen.push((state.order_id.clone(), state.sum, state.seen));
        if event.add == 99 { Flow::Skip } else { Flow::Continue }
    }

    #[saga_event_handler(association = payment, property = "payment")]
    async fn paid(&self, _event: Paid, state: &mut Progressing, outbox: Outbox) -> Flow {
        self.seen.push((state.order_id.clone(), state.sum, state.seen));
        outbox.emit(Shipped { order_id: state.order_id.clone() });
        Flow::Complete
    }

    #[saga_event_handler(association = order_id)]
    async fn overdue(&self, _event: Overdue, state: &mut Progressing) -> Flow {
        self.seen.push((format!("late {}", state.order_id), state.sum, state.seen));
        Flow::Complete
    }
}

#[derive(Default)]
struct Count(Arc<AtomicU64>);

/// How many `Shipped` there are in the log.
#[projector(version = 1)]
impl Count {
    #[event_handler]
    async fn shipped(&self, _event: Shipped) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn placed(order: &str) -> NewEvent {
    failing(order, 0)
}

fn failing(order: &str, fail: u32) -> NewEvent {
    Placed { order_id: order.into(), fail }.into()
}

fn noted(order: &str, add: u64) -> NewEvent {
    Noted { order_id: Some(order.into()), add }.into()
}

fn paid(order: &str) -> NewEvent {
    Paid { payment: format!("pay-{order}") }.into()
}

fn saga(seen: &Seen, patience: Duration, store: &MemoryStore) -> BundleBuilder {
    bundle(store).component(Order { seen: seen.clone(), patience })
}

async fn begun(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

const NEVER: Duration = Duration::from_secs(3_600);

async fn instances(running: &Running) -> Vec<SagaInstance> {
    let status = running.status();
    let saga = status.iter().find(|consumer| &*consumer.consumer.component == "Order").unwrap();
    running.store().stores.sagas.instances(&saga.consumer, None, 1_000).await.unwrap()
}

fn entry(order: &str, sum: u64, seen: u32) -> (String, u64, u32) {
    (order.to_owned(), sum, seen)
}

#[tokio::test]
async fn events_meet_in_the_instance_their_values_name_until_it_is_complete() {
    let (store, seen) = (MemoryStore::new(), Seen::default());
    let shipped = Count::default();
    let ships = Arc::clone(&shipped.0);
    // Before it first ran: a saga begins at the head.
    append_all(&store, [placed("old")]).await;
    let running = begun(saga(&seen, NEVER, &store).component(shipped)).await;
    let events = [
        noted("a", 5),
        placed("a"),
        placed("b"),
        noted("a", 10),
        noted("old", 7),
        placed("a"),
        noted("b", 20),
        noted("", 3),
        Noted { order_id: None, add: 4 }.into(),
        paid("a"),
        noted("a", 30),
        placed("c"),
    ];
    let last = append_all(&store, events).await;
    settled(&running, &last).await;
    let expected = [
        entry("a", 1, 1),
        entry("b", 1, 1),
        entry("a", 11, 2),
        // A second one of the same value finds the instance and begins none.
        entry("a", 12, 3),
        entry("b", 21, 2),
        entry("a", 12, 3),
        entry("c", 1, 1),
    ];
    assert_eq!(seen.all(), expected);
    let live: Vec<_> = instances(&running).await.iter().map(|instance| instance.associations.len()).collect();
    assert_eq!(live, [2, 2], "b and c, each found by its order and its payment");
    evento_tests::eventually("what it emitted is in the log, once", || ships.load(Ordering::Relaxed) == 1).await;
    stop(running).await;

    // The next process goes on with what is stored.
    let running = begun(saga(&seen, NEVER, &store).component(Count::default())).await;
    let last = append_all(&store, [noted("b", 100), paid("b"), paid("c"), placed("a")]).await;
    settled(&running, &last).await;
    assert_eq!(seen.all()[7..], [entry("b", 121, 3), entry("b", 121, 3), entry("c", 1, 1), entry("a", 1, 1)]);
    assert_eq!(instances(&running).await.len(), 1, "a value is free again once its instance has ended");
    stop(running).await;
}

#[tokio::test]
async fn a_failed_attempt_leaves_nothing_and_the_next_one_sees_none_of_it() {
    let (store, seen) = (MemoryStore::new(), Seen::default());
    let running = begun(saga(&seen, NEVER, &store)).await;
    let last =
        append_all(&store, [failing("a", 2), noted("a", 99), noted("a", 5), failing("dead", 1_000), noted("dead", 1)])
            .await;
    settled(&running, &last).await;
    let attempts = [entry("a", 1, 1), entry("a", 1, 1), entry("a", 1, 1)];
    // `Skip` keeps no change either.
    let after = [entry("a", 100, 2), entry("a", 6, 2)];
    let dead = [entry("dead", 1, 1), entry("dead", 1, 1), entry("dead", 1, 1), entry("dead", 1, 1)];
    assert_eq!(
        seen.all(),
        [&attempts[..], &after[..], &dead[..]].concat(),
        "nothing finds an instance that never began"
    );
    assert_eq!(instances(&running).await.len(), 1);
    let consumer = running.consumers().remove(0);
    assert_eq!(consumer.dead_letters(LetterFilter::all().handler("placed"), None, 10).await.unwrap().len(), 1);
    assert!(consumer.dead_letters(LetterFilter::all().error("no such text"), None, 10).await.unwrap().is_empty());
    assert_eq!(running.store().stores.sagas.timers(consumer.id(), 10).await.unwrap().len(), 1, "that of the live one");
    stop(running).await;
}

#[tokio::test]
async fn a_dead_letter_of_a_saga_is_applied_when_it_is_redriven() {
    let (store, seen) = (MemoryStore::new(), Seen::default());
    let running = begun(saga(&seen, NEVER, &store)).await;
    // Four attempts are not enough, and the redriven one is the first of its own.
    let last = append_all(&store, [placed("other"), failing("a", 4)]).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    assert_eq!(consumer.redrive(LetterFilter::all()).await.unwrap(), 1);
    evento_tests::eventually("it was tried again", || seen.len() == 6).await;
    assert_eq!(seen.all()[5], entry("a", 1, 1));
    stop(running).await;
}

#[tokio::test]
async fn a_timer_fires_unless_its_instance_has_ended_also_after_a_restart() {
    let (store, seen) = (MemoryStore::new(), Seen::default());
    let soon = Duration::from_millis(200);
    let running = begun(saga(&seen, soon, &store)).await;
    let last = append_all(&store, [placed("quick"), paid("quick"), placed("slow")]).await;
    settled(&running, &last).await;
    assert_eq!(instances(&running).await.len(), 1);
    let before = seen.len();
    evento_tests::eventually("the timer has fired", || seen.len() > before).await;
    assert_eq!(seen.all()[before..], [entry("late slow", 1, 1)]);
    evento_tests::eventually("it has ended", || running.status()[0].reason == Some(StallReason::CaughtUp)).await;
    assert_eq!(instances(&running).await.len(), 0);

    let last = append_all(&store, [placed("asleep")]).await;
    settled(&running, &last).await;
    stop(running).await;
    tokio::time::sleep(soon).await;
    assert_eq!(seen.all().last(), Some(&entry("asleep", 1, 1)), "nobody was there to fire it");
    let running = begun(saga(&seen, soon, &store)).await;
    evento_tests::eventually("it fires late rather than never", || {
        seen.all().last() == Some(&entry("late asleep", 1, 1))
    })
    .await;
    let fired = seen.all().iter().filter(|(order, ..)| order.starts_with("late")).count();
    assert_eq!(fired, 2);
    stop(running).await;
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Joined {
    order_id: String,
    with: String,
}

#[derive(Default, Clone)]
struct Greedy;

/// Takes whatever association its events name.
#[saga(version = 1)]
impl Greedy {
    #[saga_event_handler(init, association = order_id, retry = 5, retry_delay = "1ms")]
    fn joined(&self, event: Joined, state: &mut u32, also: Associations) -> Result<(), BoxError> {
        *state += 1;
        also.add("order_id", event.with)?;
        Ok(())
    }
}

#[tokio::test]
async fn a_value_that_finds_another_instance_cannot_be_taken() {
    let store = MemoryStore::new();
    let running = bundle(&store).component(Greedy).build().unwrap().start().await.unwrap();
    let joined = |order: &str, with: &str| NewEvent::from(Joined { order_id: order.into(), with: with.into() });
    let long = "x".repeat(300);
    let last = append_all(
        &store,
        [
            joined("a", "a2"),
            joined("b", "a2"),
            joined("b", ""),
            joined("b", "B"),
            joined("a2", "a3"),
            joined("c", &long),
            joined(&long, "d"),
        ],
    )
    .await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    let dead = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    let told: Vec<_> = dead.iter().map(|dead| (dead.letter.attempts, dead.letter.error.as_str())).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|(attempts, _)| *attempts == 1), "no further attempt can help: {told:?}");
    assert!(told[0].1.contains("`order_id=a2` already finds another instance"), "{told:?}");
    assert!(told[1].1.contains("300 bytes") && told[2].1.contains("300 bytes"), "{told:?}");
    let found: Vec<Vec<String>> = running
        .store()
        .stores
        .sagas
        .instances(consumer.id(), None, 10)
        .await
        .unwrap()
        .iter()
        .map(|instance| instance.associations.iter().map(|one| one.value().to_owned()).collect())
        .collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&vec!["a".into(), "a2".into(), "a3".into()]), "{found:?}");
    assert!(found.contains(&vec!["B".into(), "b".into()]), "{found:?}");
    stop(running).await;
}

#[tokio::test]
async fn going_back_applies_no_event_twice_to_an_instance() {
    let (store, seen) = (MemoryStore::new(), Seen::default());
    let running = begun(saga(&seen, NEVER, &store)).await;
    let last = append_all(&store, [placed("a"), noted("a", 5), placed("b"), paid("b"), noted("a", 6)]).await;
    settled(&running, &last).await;
    let before = seen.all();
    let consumer = running.consumers().remove(0);
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    let last = append_all(&store, [noted("a", 1)]).await;
    settled(&running, &last).await;
    assert_eq!(seen.all()[before.len()..], [entry("a", 13, 4)], "and what has ended stays ended");
    stop(running).await;
}

#[derive(Default)]
struct Impostor;

/// No saga: it can neither end one nor schedule.
#[projector(version = 1)]
impl Impostor {
    #[event_handler(retry = 5)]
    fn noted(&self, event: Noted, outbox: Outbox) -> Flow {
        if event.add == 1 {
            return Flow::Complete;
        }
        outbox.schedule(NEVER, event);
        Flow::Continue
    }
}

#[tokio::test]
async fn only_a_saga_can_be_completed_or_schedule() {
    let store = MemoryStore::new();
    let running = bundle(&store).component(Impostor).build().unwrap().start().await.unwrap();
    let last = append_all(&store, [noted("a", 1), noted("a", 2)]).await;
    settled(&running, &last).await;
    let dead = running.consumers().remove(0).dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    let told: Vec<_> = dead.iter().map(|dead| (dead.letter.attempts, dead.letter.error.as_str())).collect();
    assert!(told.len() == 2 && told.iter().all(|(attempts, _)| *attempts == 1), "{told:?}");
    assert!(told[0].1.contains("`Flow::Complete`") && told[1].1.contains("`Outbox::schedule`"), "{told:?}");
    stop(running).await;
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Renamed {
    order_id: String,
    to: String,
}

#[derive(Default)]
struct Renaming;

/// Gives up the value that began it.
#[saga(version = 1)]
impl Renaming {
    #[saga_event_handler(init, association = order_id)]
    fn placed(&self, _event: Placed, state: &mut u32) {
        *state += 1;
    }

    #[saga_event_handler(association = order_id)]
    fn renamed(&self, event: Renamed, state: &mut u32, also: Associations) -> Result<(), HandlerError> {
        *state += 10;
        also.remove("order_id", &event.order_id);
        also.add("order_id", event.to)
    }
}

#[tokio::test]
async fn an_instance_that_gave_up_the_value_it_began_with_is_not_begun_again() {
    let store = MemoryStore::new();
    let running = bundle(&store).component(Renaming).build().unwrap().start().await.unwrap();
    let renamed = Renamed { order_id: "a".into(), to: "b".into() };
    let last = append_all(&store, [placed("a"), renamed.into()]).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    consumer.wait_for(&last, Duration::from_secs(30)).await.unwrap();
    let live = running.store().stores.sagas.instances(consumer.id(), None, 10).await.unwrap();
    assert_eq!(live.iter().map(|one| &one.state[..]).collect::<Vec<_>>(), [b"11"]);
    assert_eq!(live[0].associations[0].value(), "b");
    stop(running).await;
}
