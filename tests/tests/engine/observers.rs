//! Observers: from the head on, each event claimed before it starts, covered once it is settled, whatever the mode.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::AdminError;
use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::prelude::*;
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::{ClaimState, Claims, LetterFilter, Settlement, StoreConfig};
use evento_runtime::{BundleBuilder, Running};
use tokio::sync::Semaphore;

use crate::reported::parts::{gated, log};
use crate::scripted::{Call, Journal, Made, MemoryStore, Script, append, bundle, settled, stop, tasks};

/// An observer in its own loop.
struct Quiet(Script);

#[observer(version = 1)]
impl Quiet {
    #[event_handler(retry = 1, retry_delay = "1ms")]
    async fn made(&self, event: Made) -> Result<Flow, BoxError> {
        self.0.run(event.n).await
    }
}

/// An observer on the executor `pool`.
struct Busy(Script);

#[observer(version = 1)]
impl Busy {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms")]
    async fn made(&self, event: Made) -> Result<Flow, BoxError> {
        self.0.run(event.n).await
    }
}

fn logging(journal: &Journal<u64>) -> Script {
    let journal = journal.clone();
    Script::new(move |call: Call| {
        let journal = journal.clone();
        async move {
            journal.push(call.n);
            if call.n % 10 == 7 { Err("as always".into()) } else { Ok(Flow::Continue) }
        }
    })
}

async fn begun(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

fn id(component: &str) -> ConsumerId {
    ConsumerId { bundle: "b".into(), component: component.into(), version: 1, context: ContextPattern::All }
}

/// How many events are claimed and not done, and how many are done.
async fn claims(store: &MemoryStore, component: &str) -> (usize, usize) {
    let open = Box::new(store.clone()).open().await.unwrap();
    let all = open.events.fetch(None, limits(), &EventFilter::new(None, ContextPattern::All)).await.unwrap();
    let ids: Vec<_> = all.events.iter().map(|event| event.id).collect();
    let claims = open.stores.claims.claims(&id(component), &ids).await.unwrap();
    let done = claims.iter().filter(|(_, state)| *state == ClaimState::Done).count();
    (claims.len() - done, done)
}

const fn limits() -> FetchLimits {
    FetchLimits { events: 100_000, bytes: usize::MAX }
}

#[tokio::test]
async fn an_observer_begins_at_the_head_and_every_event_is_claimed_and_done() {
    for parallel in [false, true] {
        let (store, journal) = (MemoryStore::new(), Journal::default());
        append(&store, 0..5, 1).await;
        let builder = if parallel {
            bundle(&store).component(Busy(logging(&journal))).executor(tasks(8))
        } else {
            bundle(&store).component(Quiet(logging(&journal)))
        };
        let name = if parallel { "Busy" } else { "Quiet" };
        let running = begun(builder).await;
        let last = append(&store, 10..60, 0).await;
        settled(&running, &last).await;
        let mut seen = journal.all();
        seen.sort_unstable();
        let mut expected: Vec<u64> = (10..60).chain([17, 27, 37, 47, 57]).collect();
        expected.sort_unstable();
        assert_eq!(seen, expected, "each once, and a further attempt of those that fail");
        let consumer = running.consumers().remove(0);
        assert_eq!(consumer.dead_letters(LetterFilter::all(), None, 100).await.unwrap().len(), 5);
        stop(running).await;
        assert_eq!(claims(&store, name).await, (0, 50));
    }
}

#[tokio::test]
async fn what_was_handled_is_not_handled_again_although_no_checkpoint_says_so() {
    let (store, journal) = (MemoryStore::new(), Journal::default());
    let running = begun(bundle(&store).component(Quiet(logging(&journal)))).await;
    stop(running).await;
    append(&store, 0..20, 1).await;
    // As if a process had died between what it stored of its claims and its next checkpoint.
    let open = Box::new(store.clone()).open().await.unwrap();
    let events = open.events.fetch(None, limits(), &EventFilter::new(None, ContextPattern::All)).await.unwrap().events;
    let epoch = open.stores.state.load(&id("Quiet")).await.unwrap().epoch;
    let lease = open.stores.lock.acquire(&id("Quiet"), epoch).await.unwrap().unwrap();
    let (done, held) = (&events[3..8], &events[12..13]);
    let claims = Claims {
        done: done.iter().map(|event| event.id).collect(),
        taken: held.iter().map(|event| event.id).collect(),
        expiry: Duration::from_millis(600),
        ..Claims::default()
    };
    let mut settlement = Settlement::default();
    settlement.claims = claims;
    open.stores.state.settle(&lease, settlement).await.unwrap();
    open.stores.lock.release(&lease).await.unwrap();

    let began = tokio::time::Instant::now();
    let running = begun(bundle(&store).component(Quiet(logging(&journal)))).await;
    evento_tests::eventually("it waits for the claim of another", || journal.all().last() == Some(&11)).await;
    assert_eq!(running.status()[0].reason, Some(StallReason::BackingOff));
    let last = events.last().unwrap().position.clone();
    settled(&running, &last).await;
    assert!(began.elapsed() >= Duration::from_millis(400), "the claim has not expired yet");
    let mut seen = journal.all();
    seen.dedup();
    assert_eq!(seen, (0..3).chain(8..20).collect::<Vec<_>>());
    assert_eq!(running.status()[0].counters.skipped, 5);
    stop(running).await;
}

#[tokio::test]
async fn a_stop_leaves_no_claim_that_anybody_would_have_to_wait_for() {
    let (store, journal) = (MemoryStore::new(), Journal::<u64>::default());
    let log = journal.clone();
    let script = Script::new(move |call: Call| {
        let log = log.clone();
        async move {
            log.push(call.n);
            if call.n % 2 == 1 {
                return Ok(Flow::RetryAfter(Duration::from_secs(3_600)));
            }
            Ok(Flow::Continue)
        }
    });
    let running = begun(bundle(&store).component(Busy(script)).executor(tasks(4))).await;
    append(&store, 0..10, 0).await;
    evento_tests::eventually("all were tried", || journal.len() == 10).await;
    evento_tests::eventually("they wait", || running.status()[0].in_flight == 0).await;
    stop(running).await;
    assert_eq!(claims(&store, "Busy").await, (0, 5));
    let again = Journal::default();
    let running = begun(bundle(&store).component(Busy(logging(&again))).executor(tasks(4))).await;
    evento_tests::eventually("the next process runs them at once", || again.len() >= 5).await;
    stop(running).await;
    let mut seen = again.all();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1, 3, 5, 7, 9]);
}

#[tokio::test]
async fn a_claim_is_renewed_while_its_handler_runs() {
    let store = MemoryStore::new();
    let gate = Arc::new(tokio::sync::Notify::new());
    let (entered, journal) = (Arc::clone(&gate), Journal::default());
    let log = journal.clone();
    let script = Script::new(move |call: Call| {
        let (gate, log) = (Arc::clone(&entered), log.clone());
        async move {
            log.push(call.n);
            gate.notified().await;
            Ok(Flow::Continue)
        }
    });
    let expiry = Duration::from_millis(150);
    let running = begun(bundle(&store).claim_expiry(expiry).component(Busy(script)).executor(tasks(1))).await;
    let last = append(&store, [1], 0).await;
    evento_tests::eventually("it runs", || journal.len() == 1).await;
    let open = Box::new(store.clone()).open().await.unwrap();
    let event = open
        .events
        .fetch(None, limits(), &EventFilter::new(None, ContextPattern::All))
        .await
        .unwrap()
        .events
        .remove(0)
        .id;
    for _ in 0..10 {
        tokio::time::sleep(expiry / 3).await;
        let claims = open.stores.claims.claims(&id("Busy"), &[event]).await.unwrap();
        assert!(matches!(claims[..], [(_, ClaimState::Held { remaining, .. })] if !remaining.is_zero()), "{claims:?}");
    }
    gate.notify_one();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(claims(&store, "Busy").await, (0, 1));
}

#[tokio::test]
async fn an_observer_told_to_go_back_handles_again_what_it_has_handled() {
    let (store, journal) = (MemoryStore::new(), Journal::default());
    let running = begun(bundle(&store).component(Busy(logging(&journal))).executor(tasks(4))).await;
    let last = append(&store, 0..5, 0).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    assert!(matches!(consumer.seek(SeekTo::Start).await, Err(AdminError::WouldRepeat { .. })));
    consumer.seek_keeping(SeekTo::Start).await.unwrap();
    evento_tests::eventually("all again", || journal.len() == 10).await;
    stop(running).await;
}

/// A stop that waits for a handler renews what that has claimed: nobody else begins with it meanwhile.
#[tokio::test(start_paused = true)]
async fn a_claim_is_renewed_while_a_stop_waits_for_its_handler() {
    let store = MemoryStore::new();
    let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let builder = bundle(&store).component(Quiet(gated(&journal, &gate))).claim_expiry(Duration::from_secs(3));
    let running = begun(builder.lease_renewal(LeaseRenewal::Runtime)).await;
    append(&store, [1], 0).await;
    evento_tests::eventually("it runs", || journal.len() == 1).await;
    let stopping = tokio::spawn(running.stop(Duration::from_secs(60)));
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let event = log(&store.store()).await[0].id;
        let claims = store.store().stores.claims.claims(&id("Quiet"), &[event]).await.unwrap();
        assert!(matches!(&claims[..], [(_, ClaimState::Held { remaining, .. })] if !remaining.is_zero()), "{claims:?}");
    }
    gate.add_permits(1);
    stopping.await.unwrap().unwrap();
    assert_eq!(journal.len(), 1);
}
