//! Observers at the moment between the question for a claim and the handler: whatever is asked of them then, nothing
//! runs twice, nothing is lost, and no claim is left that anybody would have to wait for.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::executor::Admission;
use evento_runtime::identity::Epoch;
use evento_runtime::store::{Lease, LetterFilter, Settlement, Store};
use evento_runtime::{AdminError, Running};
use tokio::sync::Semaphore;

use super::parts::*;
use crate::scripted::{Journal, MemoryStore, Neighbour, over, settled, stop, tasks};

/// An observer whose claims are stored only once `let_go` has a permit for each write.
struct Claiming {
    store: Store,
    asked: Switch,
    let_go: Arc<Semaphore>,
    handled: Journal<u64>,
    running: Running,
    name: &'static str,
}

impl Claiming {
    /// With one event appended, whose claim is being stored.
    async fn begun(parallel: bool) -> Self {
        let store = MemoryStore::new().store();
        let (asked, let_go, handled) = (Switch::default(), Arc::new(Semaphore::new(0)), Journal::default());
        let (asks, lets) = (asked.clone(), Arc::clone(&let_go));
        let slow = fated(&store, move |settlement| {
            let (asks, lets) = (asks.clone(), Arc::clone(&lets));
            async move {
                if !settlement.claims.taken.is_empty() {
                    asks.turn(true);
                    lets.acquire().await.unwrap().forget();
                }
                Fate::Stored
            }
        });
        let running = begun(observing(over(slow), noting(&handled), parallel)).await;
        put(&store, made([1])).await;
        evento_tests::eventually("the claim is being stored", || asked.is_on()).await;
        let name = if parallel { "Rung" } else { "Told" };
        Self { store, asked, let_go, handled, running, name }
    }
}

#[tokio::test]
async fn a_pause_while_claiming_begins_nothing_and_a_resume_handles_it_once() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let consumer = one.running.consumers().remove(0);
        consumer.pause().await.unwrap();
        one.let_go.add_permits(100);
        evento_tests::eventually("it stands", || consumer.status().reason == Some(StallReason::Paused)).await;
        while claims(&one.store, one.name).await != (1, 0) {
            tokio::task::yield_now().await;
        }
        assert_eq!((one.handled.len(), consumer.status().counters.started), (0, 0), "{}", one.name);
        consumer.resume().await.unwrap();
        let last = put(&one.store, made([2])).await;
        settled(&one.running, &last).await;
        assert_eq!(one.handled.all(), [1, 2], "{}", one.name);
        stop(one.running).await;
        assert_eq!(claims(&one.store, one.name).await, (0, 2), "{}", one.name);
    }
}

#[tokio::test]
async fn a_stop_while_claiming_leaves_the_event_to_the_next_process_and_no_claim() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let (let_go, store, name, handled) =
            (Arc::clone(&one.let_go), one.store.clone(), one.name, one.handled.clone());
        let stopping = tokio::spawn(one.running.stop(Duration::from_secs(10)));
        tokio::task::yield_now().await;
        let_go.add_permits(100);
        stopping.await.unwrap().unwrap();
        // It may have begun before the stop was seen; then it was finished.
        let before = handled.len();
        assert_eq!(claims(&store, name).await, (0, before), "{name}");
        let again = Journal::default();
        let running = begun(observing(over(ConsumerEngineConfig::of(&store)), noting(&again), parallel)).await;
        let last = log(&store).await.pop().unwrap().position;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(before + again.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_deadline_while_claiming_loses_nothing() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let began = tokio::time::Instant::now();
        let running = one.running;
        let error = running.stop(Duration::from_millis(50)).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(10), "{error}");
        assert_eq!(one.handled.len(), 0);
        let again = Journal::default();
        let running = begun(observing(over(after_a_death(&one.store)), noting(&again), parallel)).await;
        let last = log(&one.store).await.pop().unwrap().position;
        settled(&running, &last).await;
        // The write that came too late is refused by its epoch.
        one.let_go.add_permits(100);
        let last = put(&one.store, made([2])).await.max(last);
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(again.all(), [1, 2], "{}", one.name);
        assert_eq!(claims(&one.store, one.name).await, (0, 2), "{}", one.name);
    }
}

#[tokio::test]
async fn a_move_while_claiming_handles_everything_from_there_once() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let consumer = one.running.consumers().remove(0);
        let moving = tokio::spawn(async move { consumer.seek_keeping(SeekTo::Start).await });
        tokio::task::yield_now().await;
        one.let_go.add_permits(100);
        moving.await.unwrap().unwrap();
        let last = put(&one.store, made([2])).await;
        settled(&one.running, &last).await;
        let handled = one.handled.all();
        // Once, and once more if it had begun before the move was seen.
        assert!(handled == [1, 2] || handled == [1, 1, 2], "{}: {handled:?}", one.name);
        stop(one.running).await;
        assert_eq!(claims(&one.store, one.name).await, (0, 2), "{}", one.name);
    }
}

#[tokio::test]
async fn an_event_skipped_while_its_claim_is_stored_is_not_handled() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let position = log(&one.store).await.remove(0).position;
        let consumer = one.running.consumers().remove(0);
        consumer.skip(position.clone()).await.unwrap();
        one.let_go.add_permits(100);
        settled(&one.running, &position).await;
        let last = put(&one.store, made([2])).await;
        settled(&one.running, &last).await;
        assert_eq!((one.handled.all(), consumer.status().counters.skipped), (vec![2], 1), "{}", one.name);
        assert!(matches!(consumer.skip(position).await, Err(AdminError::NotOpen { .. })));
        stop(one.running).await;
        assert_eq!(claims(&one.store, one.name).await, (0, 2), "{}", one.name);
    }
}

#[tokio::test]
async fn an_ownership_lost_while_claiming_begins_nothing_under_it() {
    for parallel in [false, true] {
        let one = Claiming::begun(parallel).await;
        let epoch = one.running.status()[0].epoch.0;
        let lease = Lease { consumer: id(one.name), owner: one.store.stores.lock.owner(), epoch: Epoch(epoch + 5) };
        one.store.stores.state.settle(&lease, Settlement::default()).await.unwrap();
        // The question is answered: somebody else owns it.
        one.let_go.add_permits(100);
        evento_tests::eventually("it owns again", || one.running.status()[0].epoch.0 > epoch + 5).await;
        let last = put(&one.store, made([2])).await;
        settled(&one.running, &last).await;
        assert_eq!(one.handled.all(), [1, 2], "{}", one.name);
        assert!(one.asked.is_on());
        stop(one.running).await;
        assert_eq!(claims(&one.store, one.name).await, (0, 2), "{}", one.name);
    }
}

#[tokio::test]
async fn f07_a_refused_observer_event_holds_no_claim() {
    let store = MemoryStore::new().store();
    let (journal, pool) = (Journal::default(), tasks(1));
    let builder = over(ConsumerEngineConfig::of(&store)).component(Rung(noting(&journal))).executor(Arc::clone(&pool));
    let running = begun(builder.admission_wait(Duration::from_millis(5))).await;
    // Somebody else has the only permit.
    let admission = Admission { consumer: Arc::new(id("Other")), key: None, wait: Duration::from_secs(60) };
    let permit = pool.admit(admission).await.unwrap();
    let last = put(&store, made(0..3)).await;
    evento_tests::eventually("it was refused", || running.status()[0].counters.rejected >= 3).await;
    let status = running.status().remove(0);
    assert_eq!(status.reason, Some(StallReason::NoPermit { executor: "pool".to_owned() }));
    assert_eq!((journal.len(), status.counters.started), (0, 0));
    assert_eq!(claims(&store, "Rung").await, (0, 0));
    drop(permit);
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!((journal.all(), claims(&store, "Rung").await), (vec![0, 1, 2], (0, 3)));
}

#[tokio::test]
async fn f14_a_poison_event_of_an_observer_pins_no_permit() {
    let store = MemoryStore::new().store();
    let (journal, others) = (Journal::default(), Journal::default());
    let script = failing(&journal, |call| (call.n < 4).then(|| "poison".into()));
    let builder = over(ConsumerEngineConfig::of(&store)).component(Rung(script)).component(Neighbour(noting(&others)));
    let running = begun(builder.executor(tasks(2))).await;
    let last = put(&store, made(0..20)).await;
    // More poison than permits, and the default of further attempts.
    settled(&running, &last).await;
    let observer = running.consumers_of::<Rung>().remove(0);
    let dead = observer.dead_letters(LetterFilter::all(), None, 100).await.unwrap();
    assert!(dead.len() == 4 && dead.iter().all(|dead| dead.letter.attempts == 1), "{dead:?}");
    assert_eq!((journal.len(), others.len()), (20, 20));
    stop(running).await;

    // In its own loop it is tried for ever: that stops itself, nobody else, and an operator can skip it.
    let store = MemoryStore::new().store();
    let (journal, others) = (Journal::default(), Journal::default());
    let script = failing(&journal, |call| (call.n == 0).then(|| "poison".into()));
    let builder = over(ConsumerEngineConfig::of(&store)).component(Told(script)).component(Neighbour(noting(&others)));
    let running = begun(builder.executor(tasks(1))).await;
    let first = put(&store, made([0])).await;
    let last = put(&store, made(1..5)).await;
    evento_tests::eventually("it is tried again and again", || journal.len() > 10 && others.len() == 5).await;
    let observer = running.consumers_of::<Told>().remove(0);
    assert_eq!(observer.status().counters.dead_lettered, 0);
    observer.skip(first).await.unwrap();
    settled(&running, &last).await;
    assert!(journal.all().iter().rev().take(4).map(|(n, _)| *n).eq([4, 3, 2, 1]));
    stop(running).await;
    assert_eq!(claims(&store, "Told").await, (0, 5));
}

#[tokio::test]
async fn a_redriven_event_of_an_observer_is_handled_once_also_by_the_next_process() {
    for parallel in [false, true] {
        let store = MemoryStore::new().store();
        let (healed, journal) = (Switch::default(), Journal::default());
        let heals = healed.clone();
        let script = failing(&journal, move |call| (call.n == 1 && !heals.is_on()).then(hopeless));
        let running = begun(observing(over(ConsumerEngineConfig::of(&store)), script.clone(), parallel)).await;
        let last = put(&store, made(0..3)).await;
        settled(&running, &last).await;
        let observer = running.consumers().remove(0);
        observer.pause().await.unwrap();
        assert_eq!(observer.redrive(LetterFilter::all()).await.unwrap(), 1);
        stop(running).await;
        healed.turn(true);
        let running = begun(observing(over(ConsumerEngineConfig::of(&store)), script, parallel)).await;
        let observer = running.consumers().remove(0);
        observer.resume().await.unwrap();
        evento_tests::eventually("it is handled", || journal.len() == 4).await;
        while store.stores.dead_letters.count(observer.id()).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
        let last = put(&store, made([9])).await;
        settled(&running, &last).await;
        stop(running).await;
        let mut tail = journal.all().split_off(3);
        tail.sort_unstable();
        assert_eq!(tail, [(1, 1), (9, 1)]);
        assert_eq!(claims(&store, observer.id().component.as_ref()).await, (0, 4));
    }
}

#[tokio::test]
async fn the_narrowest_settings_stop_no_observer_and_no_saga() {
    for narrow in [false, true] {
        let store = MemoryStore::new().store();
        let journal = Journal::default();
        let builder = over(ConsumerEngineConfig::of(&store))
            .component(Told(noting(&journal)))
            .component(Rung(noting(&journal)))
            .component(Tally(noting(&journal)))
            .executor(tasks(4));
        // One event at a time may run again, or every event is stored before the next begins.
        let builder = if narrow { builder.window(1) } else { builder.checkpoint_every(1) };
        let running = begun(builder).await;
        let last = put(&store, (0..30).flat_map(|n| [counted("a", n), made([n]).remove(0)])).await;
        settled(&running, &last).await;
        stop(running).await;
        assert_eq!(sorted(&journal), (0..30).flat_map(|n| [n; 3]).collect::<Vec<_>>());
        assert_eq!((claims(&store, "Told").await, claims(&store, "Rung").await), ((0, 30), (0, 30)));
        assert_eq!(tallied(&store).await, (0..30).collect::<Vec<_>>());
    }
}
