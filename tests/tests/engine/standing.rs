//! G17: a consumer that does not move says why, and names the event that is in the way; while it lasts, the log does too.
//! G3: so does a window that is half full.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::{ConsumerStatus, StallReason};
use evento_runtime::{BundleBuilder, CheckpointMode, Flow, NewEvent, Running};
use tokio::sync::Semaphore;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::reported::parts::{begun, gated};
use crate::scripted::{
    Closed, Journal, Limited, Made, MemoryStore, Mixed, Neighbour, Pooled, Script, append, append_all, bundle, lanes,
    stop, tasks,
};

fn on(store: &MemoryStore) -> BundleBuilder {
    bundle(store).checkpoint_mode(CheckpointMode::Watermark).lease_renewal(LeaseRenewal::Runtime)
}

/// The status of a component, once it stands for this reason.
async fn stands(running: &Running, component: &str, reason: &StallReason) -> ConsumerStatus {
    let mut cells = running.supervisor().status_cells().into_iter();
    let cell = cells.find(|cell| &*cell.get().consumer.component == component).unwrap();
    cell.subscribe().wait_for(|status| status.reason.as_ref() == Some(reason)).await.unwrap().clone()
}

async fn held_by(running: &Running, component: &str, reason: &StallReason) -> String {
    let status = stands(running, component, reason).await;
    status.held_by.map_or_else(|| "nobody".to_owned(), |held_by| held_by.to_string())
}

/// A key whose waiting events are all that is read ahead, and as many handlers as the window allows.
#[tokio::test(start_paused = true)]
async fn a_full_window_names_the_event_that_fills_it() {
    for key in [true, false] {
        let store = MemoryStore::new();
        append(&store, 0..20, u64::from(key)).await;
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let builder = on(&store).component(Pooled(gated(&journal, &gate)));
        let builder = match key {
            true => builder.executor(lanes(4)).look_ahead(8),
            false => builder.executor(tasks(4)).window(2).checkpoint_every(2),
        };
        let running = begun(builder).await;
        let held_by = held_by(&running, "Pooled", &StallReason::WindowFull).await;
        assert_eq!(held_by, if key { "Pooled::made at 1, key k0" } else { "Pooled::made at 1" });
        gate.add_permits(1_000);
        stop(running).await;
    }
}

/// What the barrier waits for, then the handler that is the barrier.
#[tokio::test(start_paused = true)]
async fn a_barrier_names_what_it_waits_for() {
    let store = MemoryStore::new();
    let events: [NewEvent; 3] = [Made { n: 0 }.into(), Closed { n: 1 }.into(), Made { n: 2 }.into()];
    append_all(&store, events).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let running = begun(on(&store).component(Mixed(gated(&journal, &gate))).executor(tasks(2))).await;
    assert_eq!(held_by(&running, "Mixed", &StallReason::InlineBarrier).await, "Mixed::made at 1");
    gate.add_permits(1);
    evento_tests::eventually("the barrier runs", || journal.len() == 2).await;
    assert_eq!(held_by(&running, "Mixed", &StallReason::InlineBarrier).await, "Mixed::closed at 2");
    gate.add_permits(1_000);
    stop(running).await;
}

#[tokio::test(start_paused = true)]
async fn a_consumer_without_a_permit_names_the_executor_and_its_own_first_event() {
    let store = MemoryStore::new();
    append(&store, 0..3, 1).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let script = gated(&journal, &gate);
    let builder = on(&store).component(Pooled(script.clone())).component(Neighbour(script)).executor(tasks(1));
    let running = begun(builder).await;
    evento_tests::eventually("one of them runs", || journal.len() == 1).await;
    let runs = running.status().iter().find(|status| status.in_flight == 1).unwrap().consumer.component.to_string();
    let waits = if runs == "Pooled" { "Neighbour" } else { "Pooled" };
    let reason = StallReason::NoPermit { executor: "pool".to_owned() };
    assert_eq!(held_by(&running, waits, &reason).await, format!("{waits}::made at 1, key k0"));
    gate.add_permits(1_000);
    stop(running).await;
}

/// Warnings and what they say.
struct Warnings(Journal<BTreeMap<String, String>>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let mut fields = BTreeMap::new();
            event.record(&mut Fields(&mut fields));
            self.0.push(fields);
        }
    }
}

/// At once, and then ever more rarely, in the log; and nothing of it while it is paused.
#[tokio::test(start_paused = true)]
async fn the_log_tells_of_a_consumer_that_does_not_move_at_each_doubling() {
    let warnings = Journal::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Warnings(warnings.clone())));
    let store = MemoryStore::new();
    append(&store, 0..2, 1).await;
    let script = Script::new(|_| async { Ok(Flow::RetryAfter(Duration::from_secs(3_600))) });
    let running = begun(on(&store).component(Limited(script))).await;
    assert_eq!(
        held_by(&running, "Limited", &StallReason::BackingOff).await,
        "Limited::made at 1, key k0, after a failed attempt"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    let told = |name: &str| -> Vec<String> {
        let lines = warnings.all().into_iter().filter(|line| line["message"] == "the consumer does not move");
        lines.map(|line| line[name].clone()).collect()
    };
    assert_eq!(told("seconds"), ["5", "10", "20", "40"]);
    assert_eq!(told("reason")[0], "backing off");
    assert_eq!(told("held_by")[0], "Limited::made at 1, key k0, after a failed attempt");
    running.consumers().remove(0).pause().await.unwrap();
    stands(&running, "Limited", &StallReason::Paused).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(told("seconds").len(), 4);
    stop(running).await;
}

/// The events that keep half of the window open, although nothing else happens; and nothing of it with one less.
#[tokio::test(start_paused = true)]
async fn half_of_the_window_is_warned_of_with_the_event_that_pins_it_at_each_doubling_of_its_age() {
    let warnings = Journal::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Warnings(warnings.clone())));
    let store = MemoryStore::new();
    append(&store, 0..2, 0).await;
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let running = begun(on(&store).component(Pooled(gated(&journal, &gate))).executor(tasks(4)).window(6)).await;
    let told = |name: &str| -> Vec<String> {
        let lines = warnings.all().into_iter().filter(|line| line["message"].starts_with("half of the window"));
        lines.map(|line| line[name].clone()).collect()
    };
    let ages = || -> Vec<f64> {
        told("age_seconds").iter().map(|age| (age.parse::<f64>().unwrap() * 10.0).round() / 10.0).collect()
    };
    evento_tests::eventually("two run", || journal.len() == 2).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(ages().is_empty(), "a third of the window: {:?}", ages());
    append(&store, 2..3, 0).await;
    evento_tests::eventually("three run", || journal.len() == 3).await;
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let ages = ages();
    assert!((60.0..62.0).contains(&ages[0]), "{ages:?}");
    let doubled: Vec<bool> = ages.windows(2).map(|pair| (pair[1] - 2.0 * pair[0]).abs() < 0.2).collect();
    assert_eq!(doubled, [true; 4], "{ages:?}");
    for (name, value) in [
        ("consumer", "b/Pooled v1"),
        ("gap", "3"),
        ("window", "6"),
        ("handler", "Pooled::made"),
        ("event", "Made"),
        ("position", "1"),
    ] {
        assert_eq!(told(name)[0].trim_matches('"'), value, "{name}");
    }
    // The oldest of them ends: what is left is less than half.
    gate.add_permits(1);
    evento_tests::eventually("it is settled", || running.status()[0].exposure == 2).await;
    tokio::time::sleep(Duration::from_secs(10_000)).await;
    assert_eq!(told("gap").len(), 5);
    gate.add_permits(1_000);
    stop(running).await;
}
