//! Sagas over stores that fail in between, and timers whose process dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::identity::ConsumerId;
use evento_runtime::prelude::*;
use evento_runtime::store::{Association, SagaFound, SagaId, SagaInstance, SagaStateStore, Store, Timer};
use evento_runtime::{StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{Journal, MemoryStore, dead_letters, over, settled, stop};

#[tokio::test]
async fn f29_a_time_out_inside_a_saga_is_held_and_applied_once() {
    let store = MemoryStore::new().store();
    let (journal, away) = (Journal::default(), Switch::turned());
    let is_away = away.clone();
    let script = failing(&journal, move |call| (call.n == 1 && is_away.is_on()).then(timed_out));
    let running = begun(over(ConsumerEngineConfig::of(&store)).component(Tally(script))).await;
    let last = put(&store, (0..3).map(|n| counted("a", n))).await;
    // One further attempt is its whole budget.
    evento_tests::eventually("it is tried beyond its budget", || journal.len() > 8).await;
    assert_eq!(running.status()[0].counters.dead_lettered, 0);
    away.turn(false);
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 0);
    assert_eq!(tallied(&store).await, [0, 1, 2], "none of the attempts that failed is in it");
    stop(running).await;
}

/// Finds instances only every other time.
struct Forgetful {
    inner: Arc<dyn SagaStateStore>,
    asked: AtomicUsize,
}

#[async_trait]
impl SagaStateStore for Forgetful {
    async fn find(&self, consumer: &ConsumerId, by: &Association, begun: SagaId) -> Result<SagaFound, StoreError> {
        // Sometimes before the handler, sometimes after it.
        if !self.asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) {
            return self.inner.find(consumer, by, begun).await;
        }
        Err(StoreError::new(StoreErrorKind::Connection, "forgetful"))
    }

    async fn instances(
        &self,
        consumer: &ConsumerId,
        after: Option<SagaId>,
        limit: usize,
    ) -> Result<Vec<SagaInstance>, StoreError> {
        self.inner.instances(consumer, after, limit).await
    }

    async fn timers(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<Timer>, StoreError> {
        self.inner.timers(consumer, limit).await
    }

    async fn sweep_ended(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        self.inner.sweep_ended(bundle, age).await
    }
}

#[tokio::test]
async fn a_store_that_fails_between_find_and_settle_spends_no_attempt_and_changes_nothing() {
    for place in places().await {
        let refused = Arc::new(AtomicUsize::new(0));
        let refuses = Arc::clone(&refused);
        let mut store = fated(&place.store, move |settlement| {
            let every_other = !settlement.sagas.is_empty() && refuses.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            async move { if every_other { Fate::Refused } else { Fate::Stored } }
        });
        let inner = store.processor.saga_state_store;
        store.processor.saga_state_store = Arc::new(Forgetful { inner, asked: AtomicUsize::new(0) });
        let journal = Journal::default();
        let script = failing(&journal, |call| (call.n == 3 && call.attempt == 1).then(|| "not yet".into()));
        let running = begun(over(store).component(Tally(script))).await;
        let last = put(&place.store, (0..8).map(|n| counted("a", n))).await;
        settled(&running, &last).await;
        let counters = running.status()[0].counters;
        assert_eq!((counters.failed, counters.dead_lettered), (1, 0), "{}: only the handler has failed", place.name);
        stop(running).await;
        assert_eq!(tallied(&place.store).await, (0..8).collect::<Vec<_>>(), "{}", place.name);
        let all = journal.all();
        assert!(all.len() > 9, "no failure came after a handler");
        let attempts = |wanted| all.iter().filter(|(_, attempt)| *attempt == wanted).count();
        assert_eq!(all.iter().filter(|(n, _)| *n == 3).map(|(_, attempt)| *attempt).max(), Some(2));
        assert!(attempts(2) >= 1 && attempts(3) == 0, "{}: {all:?}", place.name);
        place.close().await;
    }
}

#[tokio::test]
async fn an_event_skipped_while_it_runs_is_not_handled_again_because_the_store_failed_then() {
    let store = MemoryStore::new().store();
    let mut config = ConsumerEngineConfig::of(&store);
    let inner = config.processor.saga_state_store;
    // It is found before the handler, and not after it.
    config.processor.saga_state_store = Arc::new(Forgetful { inner, asked: AtomicUsize::new(2) });
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let running = begun(over(config).component(Tally(gated(&journal, &gate)))).await;
    let position = put(&store, [counted("a", 0)]).await;
    evento_tests::eventually("it runs", || journal.len() == 1).await;
    running.consumers().remove(0).skip(position.clone()).await.unwrap();
    gate.add_permits(1_000);
    settled(&running, &position).await;
    assert_eq!((journal.all(), running.status()[0].counters.skipped), (vec![0], 1));
    stop(running).await;
    assert!(tallied(&store).await.is_empty());
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Set {
    order: String,
    millis: u64,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Rang {
    order: String,
}

/// Rings when its time has come, and again as often as it rings.
struct Alarm(Journal<u64>);

#[saga(version = 1)]
impl Alarm {
    #[saga_event_handler(init, association = order)]
    fn set(&self, event: Set, state: &mut u64, outbox: Outbox) {
        *state = 0;
        outbox.schedule(Duration::from_millis(event.millis), Rang { order: event.order });
    }

    #[saga_event_handler(association = order)]
    fn rang(&self, _event: Rang, state: &mut u64) {
        *state += 1;
        self.0.push(*state);
    }
}

fn set(order: &str, millis: u64) -> NewEvent {
    Set { order: order.to_owned(), millis }.into()
}

async fn rung(store: &Store) -> usize {
    log(store).await.iter().filter(|event| &*event.name == "Rang").count()
}

/// Two who believe to own it may both run its handler; only one of them may change its state.
async fn assert_rung_once(store: &Store, journal: &Journal<u64>, order: &str) {
    assert!(journal.all().iter().all(|state| *state == 1), "{:?}", journal.all());
    let by = Association::new("order", order).unwrap().unwrap();
    let found = store.stores.sagas.find(&id("Alarm"), &by, SagaId::from_uuid(uuid::Uuid::nil())).await.unwrap();
    let SagaFound::Live(instance) = found else { panic!("it has no instance") };
    assert_eq!(&instance.state[..], b"1");
}

#[tokio::test]
async fn a_timer_rings_once_whoever_dies_around_it() {
    for place in places().await {
        for (order, fate) in
            [("a", Fate::Refused), ("b", Fate::Doubted), ("c", Fate::DiesBefore), ("d", Fate::DiesAfter)]
        {
            let before = rung(&place.store).await;
            let struck = Switch::default();
            let strikes = struck.clone();
            let mut store = fated(&place.store, move |settlement| {
                let strikes = (!settlement.fired.is_empty() && !strikes.is_on()).then(|| strikes.turn(true));
                async move { if strikes.is_some() { fate } else { Fate::Stored } }
            });
            store.processor.lock = after_a_death(&place.store).processor.lock;
            let journal = Journal::default();
            let running = begun(over(store).component(Alarm(journal.clone()))).await;
            put(&place.store, [set(order, 50)]).await;
            evento_tests::eventually("it is about to ring", || struck.is_on()).await;
            let running = if matches!(fate, Fate::DiesBefore | Fate::DiesAfter) {
                running.stop(Duration::ZERO).await.unwrap_err();
                begun(over(after_a_death(&place.store)).component(Alarm(journal.clone()))).await
            } else {
                running
            };
            evento_tests::eventually("it rings", || journal.len() > 0).await;
            let last = put(&place.store, [set("later", 3_600_000)]).await;
            settled(&running, &last).await;
            stop(running).await;
            assert_eq!(rung(&place.store).await - before, 1, "{} {fate:?}", place.name);
            assert_rung_once(&place.store, &journal, order).await;
            let timers = place.store.stores.sagas.timers(&id("Alarm"), 10).await.unwrap();
            assert!(!timers.is_empty(), "that of `later` is kept");
        }
        place.close().await;
    }
}

#[tokio::test]
async fn timers_of_two_who_believe_to_own_ring_once() {
    for place in places().await {
        let gate = Arc::new(Semaphore::new(0));
        let opens = Arc::clone(&gate);
        // The first one is slow to store that its timer is due.
        let slow = fated(&place.store, move |settlement| {
            let opens = Arc::clone(&opens);
            async move {
                if !settlement.fired.is_empty() {
                    opens.acquire().await.unwrap().forget();
                }
                Fate::Stored
            }
        });
        let journal = Journal::default();
        let first = begun(over(slow).component(Alarm(journal.clone()))).await;
        let last = put(&place.store, [set("a", 30)]).await;
        settled(&first, &last).await;
        let second = begun(over(after_a_death(&place.store)).component(Alarm(journal.clone()))).await;
        evento_tests::eventually("the second one rings", || journal.len() > 0).await;
        gate.add_permits(1_000);
        first.stop(Duration::from_secs(10)).await.unwrap();
        let last = put(&place.store, [set("b", 3_600_000)]).await;
        settled(&second, &last).await;
        stop(second).await;
        assert_eq!(rung(&place.store).await, 1, "{}", place.name);
        assert_rung_once(&place.store, &journal, "a").await;
        place.close().await;
    }
}
