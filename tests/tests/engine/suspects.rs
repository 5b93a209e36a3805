//! G10: attempts survive the process, and cost nothing where it always stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evento_runtime::consumer::SeekTo;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, OwnershipMark, RecordedAttempt, Settlement, Store};
use evento_runtime::{BundleBuilder, CheckpointMode, ErrorClass, Running};
use tokio::sync::Semaphore;

use crate::reported::parts::{
    Fate, Rung, Switch, Tally, Told, after_a_death, begun, counted, fated, gated, id, made, noting, put,
};
use crate::scripted::{
    Journal, Made, MemoryStore, Plain, Pooled, Script, dead_letters, lanes, over, settled, stop, tasks,
};

/// A process with a lock of its own, as if the lease of the one before it had expired. Once it is dead, the store hears
/// nothing of it.
fn process(store: &Store, dead: &Switch, written: &Journal<Settlement>) -> ConsumerEngineConfig {
    let (dead, written) = (dead.clone(), written.clone());
    let mut config = fated(store, move |settlement| {
        let alive = !dead.is_on();
        if alive {
            written.push(settlement);
        }
        async move { if alive { Fate::Stored } else { Fate::Refused } }
    });
    config.processor.lock = after_a_death(store).processor.lock;
    config
}

/// Ends the process with one event.
fn deadly(journal: &Journal<u64>, dead: &Switch, poison: u64) -> Script {
    let (journal, dead) = (journal.clone(), dead.clone());
    Script::new(move |call| {
        let (journal, dead) = (journal.clone(), dead.clone());
        async move {
            if call.n == poison {
                dead.turn(true);
                std::future::pending::<()>().await;
            }
            journal.push(call.n);
            Ok(Flow::Continue)
        }
    })
}

async fn ends(running: Running, dead: &Switch) {
    evento_tests::eventually("the process ends", || dead.is_on()).await;
    running.stop(Duration::ZERO).await.unwrap_err();
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Where {
    Loop,
    Executor(CheckpointMode),
    Lanes,
    Observer,
    ObserverOnExecutor,
    Saga,
}

impl Where {
    const ALL: [Self; 7] = [
        Self::Loop,
        Self::Executor(CheckpointMode::OnStart),
        Self::Executor(CheckpointMode::Watermark),
        Self::Lanes,
        Self::Observer,
        Self::ObserverOnExecutor,
        Self::Saga,
    ];

    fn on(self, builder: BundleBuilder, script: Script) -> BundleBuilder {
        // Claims of the dead are not waited for.
        let builder = builder.claim_expiry(Duration::from_millis(20));
        match self {
            Self::Loop => builder.component(Plain(script)),
            Self::Executor(mode) => builder.component(Pooled(script)).executor(tasks(4)).checkpoint_mode(mode),
            Self::Lanes => {
                builder.component(Pooled(script)).executor(lanes(4)).checkpoint_mode(CheckpointMode::Watermark)
            }
            Self::Observer => builder.component(Told(script)),
            Self::ObserverOnExecutor => builder.component(Rung(script)).executor(tasks(4)),
            Self::Saga => builder.component(Tally(script)),
        }
    }

    const fn component(self) -> &'static str {
        match self {
            Self::Loop => "Plain",
            Self::Executor(_) | Self::Lanes => "Pooled",
            Self::Observer => "Told",
            Self::ObserverOnExecutor => "Rung",
            Self::Saga => "Tally",
        }
    }
}

#[tokio::test]
async fn an_event_that_ends_the_process_again_and_again_is_given_up_and_the_rest_is_handled() {
    for on in Where::ALL {
        let store = MemoryStore::new().store();
        let (journal, component) = (Journal::default(), on.component());
        // An ownership, so that observers and sagas begin before the events.
        let (alive, none) = (Switch::default(), Journal::default());
        stop(begun(on.on(over(process(&store, &alive, &none)), noting(&journal))).await).await;
        let events: Vec<NewEvent> = match on {
            Where::Saga => (0..12).map(|n| counted(&format!("o{}", n % 3), n)).collect(),
            _ => (0..12).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 3))).collect(),
        };
        let last = put(&store, events).await;
        for end in 0..4 {
            let (dead, written) = (Switch::default(), Journal::default());
            let running = begun(on.on(over(process(&store, &dead, &written)), deadly(&journal, &dead, 7))).await;
            ends(running, &dead).await;
            let recorded = written.all().into_iter().flat_map(|one| one.attempts).map(|one| one.attempts).max();
            assert_eq!(recorded.unwrap_or(0), end, "{on:?}: what ran at the first end is not known");
        }
        let running = begun(on.on(over(process(&store, &alive, &none)), deadly(&journal, &Switch::default(), 7))).await;
        settled(&running, &last).await;
        let letters = dead_letters(&running).await;
        let [letter] = &letters[..] else { panic!("{on:?}: {letters:?}") };
        assert_eq!((letter.letter.class, letter.letter.attempts), (ErrorClass::Permanent, 3), "{on:?}");
        assert!(letter.letter.error.contains("3 times in a row"), "{on:?}: {}", letter.letter.error);
        let mut left = recorded(&store, component).await;
        for _ in 0..5_000 {
            if left.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            left = recorded(&store, component).await;
        }
        assert_eq!(left, [], "{on:?}: with the checkpoint the records go");
        stop(running).await;
        let mut handled = journal.all();
        handled.sort_unstable();
        handled.dedup();
        assert_eq!(handled, (0..12).filter(|n| *n != 7).collect::<Vec<_>>(), "{on:?}");
    }
}

async fn recorded(store: &Store, component: &str) -> Vec<RecordedAttempt> {
    store.stores.state.attempts(&id(component)).await.unwrap()
}

#[tokio::test]
async fn a_process_that_always_stops_records_nothing() {
    let store = MemoryStore::new().store();
    let journal = Journal::default();
    for run in 0..3 {
        let (alive, written) = (Switch::default(), Journal::default());
        let last = put(&store, made(run * 1_000..(run + 1) * 1_000)).await;
        let builder = over(process(&store, &alive, &written)).component(Pooled(noting(&journal))).executor(tasks(8));
        let running = begun(builder.component(Plain(noting(&journal)))).await;
        settled(&running, &last).await;
        stop(running).await;
        let written = written.all();
        assert!(written.iter().all(|one| one.attempts.is_empty() && !one.forget_attempts));
        let marks: Vec<OwnershipMark> = written.iter().filter_map(|one| one.ownership).collect();
        let count = |mark| marks.iter().filter(|one| **one == mark).count();
        assert_eq!((count(OwnershipMark::Begins), count(OwnershipMark::Ends)), (2, 2));
        // Begun by the write that fences, ended by the last one.
        assert!(written.len() < 600, "{} writes for 2,000 events", written.len());
        for component in ["Plain", "Pooled"] {
            assert_eq!(store.stores.state.load(&id(component)).await.unwrap().begun, 0);
        }
    }
    assert_eq!(journal.len(), 6_000);
}

/// What ran beside each other at one end does not do so again; everything else does.
#[tokio::test]
async fn what_ran_at_an_end_runs_one_at_a_time_afterwards() {
    let store = MemoryStore::new().store();
    let last = put(&store, made(0..40)).await;
    let builder = |dead: &Switch, script| {
        let builder = over(process(&store, dead, &Journal::default())).component(Pooled(script)).executor(tasks(8));
        builder.checkpoint_mode(CheckpointMode::Watermark)
    };
    for _ in 0..2 {
        let (dead, gate, begin) = (Switch::default(), Arc::new(Semaphore::new(0)), Journal::default());
        let running = begun(builder(&dead, gated(&begin, &gate))).await;
        evento_tests::eventually("eight run", || begin.len() == 8).await;
        dead.turn(true);
        ends(running, &dead).await;
    }
    let left = recorded(&store, "Pooled").await;
    assert_eq!(left.iter().map(|one| one.attempts).collect::<Vec<_>>(), [1; 8]);
    let (now, most, most_of_all, all) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let counts = [&now, &most, &all, &most_of_all].map(Arc::clone);
    let script = Script::new(move |call| {
        let [now, most, all, most_of_all] = counts.each_ref().map(Arc::clone);
        async move {
            let again = usize::from(call.n < 8);
            most.fetch_max(now.fetch_add(again, Ordering::SeqCst) + again, Ordering::SeqCst);
            most_of_all.fetch_max(all.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            assert_eq!(call.attempt, if again == 1 { 2 } else { 1 }, "the number of the attempt survives as well");
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(again, Ordering::SeqCst);
            all.fetch_sub(1, Ordering::SeqCst);
            Ok(Flow::Continue)
        }
    });
    let running = begun(builder(&Switch::default(), script)).await;
    settled(&running, &last).await;
    assert_eq!(dead_letters(&running).await.len(), 0);
    stop(running).await;
    assert_eq!(most.load(Ordering::SeqCst), 1);
    assert!(most_of_all.load(Ordering::SeqCst) > 1, "the others do not wait for them");
}

/// A letter that is tried again ends the process as surely as its event did.
#[tokio::test]
async fn a_redriven_letter_that_ends_the_process_is_given_up_again() {
    let store = MemoryStore::new().store();
    let last = put(&store, made(0..3)).await;
    let builder = |dead: &Switch, script| over(process(&store, dead, &Journal::default())).component(Plain(script));
    let hopeless = Script::new(|call| async move {
        if call.n == 1 { Err(HandlerError::permanent("hopeless").into()) } else { Ok(Flow::Continue) }
    });
    let running = begun(builder(&Switch::default(), hopeless)).await;
    settled(&running, &last).await;
    stop(running).await;
    store.stores.dead_letters.request(&id("Plain"), &LetterFilter::all()).await.unwrap();
    let journal = Journal::default();
    for _ in 0..4 {
        let dead = Switch::default();
        let running = begun(builder(&dead, deadly(&journal, &dead, 1))).await;
        ends(running, &dead).await;
    }
    let dead = Switch::default();
    let running = begun(builder(&dead, deadly(&journal, &dead, 1))).await;
    evento_tests::eventually("it has failed again", || running.status()[0].counters.failed == 1).await;
    stop(running).await;
    assert_eq!(store.stores.dead_letters.requested(&id("Plain"), 10).await.unwrap().len(), 0, "not marked any more");
    let letters = store.stores.dead_letters.list(&id("Plain"), &LetterFilter::all(), None, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert!(letters[0].letter.error.contains("3 times in a row"), "{}", letters[0].letter.error);
    assert_eq!(journal.len(), 0, "nothing else was redriven");
}

/// Whoever moves a consumer back wants everything tried again.
#[tokio::test]
async fn a_move_back_forgets_what_was_recorded() {
    let store = MemoryStore::new().store();
    put(&store, made(0..3)).await;
    let journal = Journal::default();
    let builder =
        |dead: &Switch| over(process(&store, dead, &Journal::default())).component(Plain(deadly(&journal, dead, 2)));
    for _ in 0..3 {
        let dead = Switch::default();
        ends(begun(builder(&dead)).await, &dead).await;
    }
    assert_eq!(recorded(&store, "Plain").await[0].attempts, 2);
    let dead = Switch::default();
    let running =
        begun(over(process(&store, &dead, &Journal::default())).component(Plain(noting(&Journal::default())))).await;
    running.consumers()[0].seek_keeping(SeekTo::Start).await.unwrap();
    assert!(recorded(&store, "Plain").await.is_empty());
    stop(running).await;
}

/// Only what runs when a process ends has to do with its end.
#[tokio::test]
async fn what_waits_for_another_attempt_when_the_process_ends_is_not_given_up() {
    let store = MemoryStore::new().store();
    let last = put(&store, made(0..3)).await;
    let journal: Journal<u64> = Journal::default();
    for round in 1..=6 {
        let (dead, written, log) = (Switch::default(), Journal::default(), journal.clone());
        let script = Script::new(move |call| {
            log.push(call.n);
            async { Ok(Flow::RetryAfter(Duration::from_secs(3_600))) }
        });
        let running = begun(Where::Loop.on(over(process(&store, &dead, &written)), script)).await;
        evento_tests::eventually("it waits", || running.status()[0].counters.retried == 1).await;
        // What was recorded when it began is taken back.
        for _ in 0..5_000 {
            if recorded(&store, "Plain").await.iter().all(|record| record.attempts == 0) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(journal.all(), vec![0; round]);
        dead.turn(true);
        running.stop(Duration::ZERO).await.ok();
    }
    let alive = Switch::default();
    let running = begun(Where::Loop.on(over(process(&store, &alive, &Journal::default())), noting(&journal))).await;
    settled(&running, &last).await;
    assert!(dead_letters(&running).await.is_empty());
    stop(running).await;
}
