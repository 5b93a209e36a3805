//! The kit for users' own tests: the real engine on a virtual clock, and handlers that do not stand a re-run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::ConsumerExecutors;
use evento_runtime::prelude::*;
use evento_runtime::testing::{self, NotSettled, Rerun, Scenario, simulate};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
struct Paid {
    order: u64,
    cents: u64,
}

#[derive(Debug, Clone, PartialEq, Event, Serialize, Deserialize)]
struct InvoiceDue {
    order: u64,
}

fn payments(count: u64) -> Vec<Paid> {
    (0..count).map(|order| Paid { order, cents: order * 100 }).collect()
}

/// Adds up: every re-run counts twice.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<u64>>);

#[projector(version = 1)]
impl Counter {
    #[event_handler]
    async fn paid(&self, event: Paid) {
        *self.0.lock().unwrap() += event.cents;
    }
}

/// Upserts: a re-run changes nothing.
#[derive(Clone, Default)]
struct View(Arc<Mutex<BTreeMap<u64, u64>>>);

#[projector(version = 1)]
impl View {
    #[event_handler(executor = "view")]
    async fn paid(&self, event: Paid) {
        self.0.lock().unwrap().insert(event.order, event.cents);
        tokio::task::yield_now().await;
    }
}

/// Refuses what it has seen, as a unique constraint does: a re-run ends among the dead letters.
#[derive(Clone, Default)]
struct Inserts(Arc<Mutex<BTreeSet<u64>>>);

#[projector(version = 1)]
impl Inserts {
    #[event_handler(retry = 1)]
    async fn paid(&self, event: Paid) -> Result<(), BoxError> {
        if self.0.lock().unwrap().insert(event.order) { Ok(()) } else { Err("unique constraint".into()) }
    }
}

#[test]
fn a_handler_that_adds_up_is_found() {
    let error = simulate(Counter::default, payments(20), 20).compare(|counter| *counter.0.lock().unwrap()).unwrap_err();
    let rerun = error.downcast_ref::<Rerun>().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(rerun.undisturbed, "(19000, [])");
    assert_ne!(rerun.left, rerun.undisturbed);
    assert!(error.to_string().contains("(seed "), "{error}");
}

#[test]
fn a_handler_that_upserts_passes() {
    simulate(View::default, payments(20), 50)
        .wiring(|bundle| bundle.executor(ConsumerExecutors::partitioned("view", 4)))
        .compare(|view| view.0.lock().unwrap().clone())
        .unwrap();
}

#[test]
fn a_handler_whose_insert_is_refused_the_second_time_is_found_by_its_dead_letters() {
    let error = simulate(Inserts::default, payments(20), 20).compare(|rows| rows.0.lock().unwrap().len()).unwrap_err();
    let rerun = error.downcast_ref::<Rerun>().unwrap_or_else(|| panic!("{error}"));
    assert!(rerun.left.contains("unique constraint") && !rerun.undisturbed.contains("unique"), "{rerun}");
}

/// Invoices what was paid; free orders are a mistake.
#[derive(Default)]
struct Invoicing;

#[projector(version = 1)]
impl Invoicing {
    #[event_handler(retry = 3, retry_delay = "10m", max_delay = "10m")]
    async fn paid(&self, event: Paid, attempt: Attempt, outbox: Outbox) -> Result<(), BoxError> {
        match (event.cents, attempt.0) {
            (0, _) => Err("nothing to invoice".into()),
            (1, 1..3) => Err("not yet".into()),
            _ => {
                outbox.emit(InvoiceDue { order: event.order });
                Ok(())
            }
        }
    }
}

#[test]
fn given_when_then() {
    testing::run(async {
        let began = tokio::time::Instant::now();
        let test =
            Scenario::given([Paid { order: 1, cents: 500 }], |bundle| bundle.component(Invoicing)).await.unwrap();
        assert_eq!(test.emitted::<InvoiceDue>().await.unwrap(), [InvoiceDue { order: 1 }]);
        test.when([Paid { order: 2, cents: 1 }, Paid { order: 3, cents: 0 }]).await.unwrap();
        assert_eq!(test.emitted::<InvoiceDue>().await.unwrap().last(), Some(&InvoiceDue { order: 2 }));
        let letters = test.dead_letters().await.unwrap();
        assert_eq!((letters.len(), letters[0].letter.attempts), (1, 4));
        assert_eq!(test.log().await.unwrap().len(), 5);
        // Further attempts came ten minutes after each other, by a clock that nobody waits for.
        assert!(began.elapsed() > Duration::from_secs(40 * 60));
        // What the test appends itself was not emitted.
        test.when([InvoiceDue { order: 9 }]).await.unwrap();
        assert_eq!(test.emitted::<InvoiceDue>().await.unwrap().len(), 2);
        test.stop().await.unwrap();
    })
    .unwrap();
}

/// Fails for ever.
struct Hopeless;

#[projector(version = 1)]
impl Hopeless {
    #[event_handler]
    async fn paid(&self, event: Paid) -> Result<(), BoxError> {
        Err(format!("cannot handle {}", event.order).into())
    }
}

#[test]
fn what_never_settles_says_why() {
    let error = testing::run(Scenario::given(payments(1), |bundle| bundle.component(Hopeless)));
    let error = error.unwrap().err().unwrap();
    assert!(error.is::<NotSettled>() && error.to_string().contains("cannot handle 0"), "{error}");
}
