//! Handlers that take many events at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::interceptor::{Interceptor, Invocation};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, Sqlite, SqliteStore, Synchronous};
use evento_runtime::{Expected, Running, async_trait};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use crate::scripted::{
    Closed, Journal, Made, MemoryStore, append, append_all, bundle, lanes, over, settled, stop, tasks,
};

/// Every call, and the attempt it was.
type Calls = Journal<(Vec<u64>, u32)>;

fn numbers_of(events: &[Made]) -> Vec<u64> {
    events.iter().map(|event| event.n).collect()
}

/// Refuses 13, and whatever is with it.
fn judge(calls: &Calls, events: &[Made], attempt: Attempt) -> Result<(), BoxError> {
    calls.push((numbers_of(events), attempt.0));
    if events.iter().any(|event| event.n == 13) { Err("unlucky".into()) } else { Ok(()) }
}

#[derive(Clone, Default)]
struct InOrder(Calls);

#[projector(version = 1)]
impl InOrder {
    #[event_handler(batch = 50, retry = 1, retry_delay = "1ms")]
    async fn made(&self, events: Vec<Made>, attempt: Attempt) -> Result<(), BoxError> {
        judge(&self.0, &events, attempt)
    }

    #[event_handler]
    async fn closed(&self, event: Closed) {
        self.0.push((vec![event.n], 0));
    }
}

#[derive(Clone, Default)]
struct OnLanes(Calls);

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "pool", batch = 50, retry = 1, retry_delay = "1ms")]
    fn made(&self, events: Vec<Made>, attempt: Attempt) -> Result<(), BoxError> {
        judge(&self.0, &events, attempt)
    }
}

async fn dead(running: &Running) -> Vec<(u64, u32)> {
    let letters = running.consumers()[0].dead_letters(LetterFilter::all(), None, 1_000).await.unwrap();
    letters.iter().map(|dead| (dead.letter.event.position.as_u64().unwrap(), dead.letter.attempts)).collect()
}

#[tokio::test]
async fn what_waits_is_handled_at_once_and_in_order() {
    let store = MemoryStore::new();
    append(&store, 100..220, 0).await;
    append_all(&store, [NewEvent::from(Closed { n: 500 })]).await;
    let last = append(&store, 300..310, 0).await;
    let component = InOrder::default();
    let running = bundle(&store).component(component.clone()).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let calls: Vec<Vec<u64>> = component.0.all().into_iter().map(|(numbers, _)| numbers).collect();
    // Its own handler stands between them.
    let expected: [Vec<u64>; 5] =
        [(100..150).collect(), (150..200).collect(), (200..220).collect(), vec![500], (300..310).collect()];
    assert_eq!(calls, expected);
    stop(running).await;
}

/// Halves are called until it is alone; then its attempts count. Without a transaction the others may be seen again.
#[tokio::test]
async fn one_event_that_fails_is_found_and_fails_alone() {
    let pool: [Option<Arc<dyn ConsumerExecutor>>; 3] = [None, Some(lanes(3)), Some(tasks(2))];
    for executor in pool {
        let store = MemoryStore::new();
        let last = append(&store, 0..60, 7).await;
        let calls = Calls::default();
        let what = format!("{:?}", executor.as_ref().map(|executor| executor.keeps_key_order()));
        let builder = match executor {
            Some(executor) => bundle(&store).component(OnLanes(calls.clone())).executor(executor),
            None => bundle(&store).component(InOrder(calls.clone())),
        };
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(dead(&running).await, [(14, 2)], "{what}");
        let calls = calls.all();
        let (failed, good): (Vec<_>, Vec<_>) = calls.iter().partition(|(numbers, _)| numbers.contains(&13));
        assert_eq!(failed.iter().filter(|(numbers, _)| numbers.len() == 1).count(), 2, "{what}: two attempts alone");
        assert!(failed.len() <= 9, "{what}: {} calls to find it", failed.len());
        assert!(failed.iter().all(|(numbers, attempt)| *attempt == 1 || numbers.len() == 1), "{what}");
        let mut seen: Vec<u64> = good.iter().flat_map(|(numbers, _)| numbers).copied().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..60).filter(|n| *n != 13).collect::<Vec<_>>(), "{what}: each succeeded in one call");
        assert_eq!(running.status()[0].counters.failed, 2, "{what}");
        stop(running).await;
    }
}

#[tokio::test]
async fn an_event_that_cannot_be_decoded_costs_the_others_no_second_call() {
    for executor in [None, Some(tasks(1))] {
        let store = MemoryStore::new();
        let events = (100..120).map(|n| {
            let event = NewEvent::from(Made { n });
            if n == 107 { NewEvent::raw("Made", "application/json", "{\"n\":\"seven\"}") } else { event }
        });
        let last = append_all(&store, events).await;
        let calls = Calls::default();
        let builder = match executor {
            Some(executor) => bundle(&store).component(OnLanes(calls.clone())).executor(executor),
            None => bundle(&store).component(InOrder(calls.clone())),
        };
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        assert_eq!(dead(&running).await, [(8, 1)]);
        let mut seen: Vec<u64> = calls.all().into_iter().flat_map(|(numbers, _)| numbers).collect();
        seen.sort_unstable();
        assert_eq!(seen, (100..120).filter(|n| *n != 107).collect::<Vec<_>>());
        assert_eq!(calls.len(), 2, "those before it, and those after it");
        stop(running).await;
    }
}

#[derive(Clone, Default)]
struct Patient(Calls);

#[projector(version = 1)]
impl Patient {
    #[event_handler(batch = 3, linger = "1h")]
    async fn made(&self, events: Vec<Made>) {
        self.0.push((numbers_of(&events), 1));
    }
}

/// Two handlers on one lane, of which the first waits.
#[derive(Clone, Default)]
struct PatientOnLanes(Calls);

#[projector(version = 1)]
impl PatientOnLanes {
    #[event_handler(executor = "pool", batch = 3, linger = "1h", retry = 0)]
    async fn made(&self, events: Vec<Made>) {
        self.0.push((numbers_of(&events), 1));
    }

    #[event_handler(executor = "pool", retry = 0)]
    async fn closed(&self, event: Closed) {
        self.0.push((vec![event.n], 0));
    }
}

#[derive(Clone, Default)]
struct Brief(Calls);

#[projector(version = 1)]
impl Brief {
    #[event_handler(batch = 1_000, linger = "5ms")]
    async fn made(&self, events: Vec<Made>) {
        self.0.push((numbers_of(&events), 1));
    }
}

#[tokio::test]
async fn a_batch_waits_for_more_no_longer_than_it_says_and_holds_up_nobody_else() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let running = bundle(&store).component(Patient(calls.clone())).build().unwrap().start().await.unwrap();
    let second = append(&store, 0..2, 0).await;
    evento_tests::eventually("both are read", || running.status()[0].read_to.as_ref() >= Some(&second)).await;
    assert_eq!(calls.len(), 0);
    let third = append(&store, 2..3, 0).await;
    settled(&running, &third).await;
    assert_eq!(calls.all(), [(vec![0, 1, 2], 1)]);
    // Those that are too few do not hold up a stop.
    append(&store, 3..4, 0).await;
    stop(running).await;

    let store = MemoryStore::new();
    let calls = Calls::default();
    let builder = bundle(&store).component(PatientOnLanes(calls.clone())).executor(lanes(1));
    let running = builder.build().unwrap().start().await.unwrap();
    append(&store, 0..2, 0).await;
    append_all(&store, [NewEvent::from(Closed { n: 500 })]).await;
    evento_tests::eventually("the other handler has run", || calls.len() == 1).await;
    assert_eq!(calls.all(), [(vec![500], 0)]);
    let last = append(&store, 2..3, 0).await;
    settled(&running, &last).await;
    assert_eq!(calls.all()[1..], [(vec![0, 1, 2], 1)]);
    stop(running).await;

    let store = MemoryStore::new();
    let calls = Calls::default();
    let running = bundle(&store).component(Brief(calls.clone())).build().unwrap().start().await.unwrap();
    let last = append(&store, 0..2, 0).await;
    settled(&running, &last).await;
    assert_eq!(calls.all(), [(vec![0, 1], 1)]);
    stop(running).await;
}

#[derive(Clone, Event, Serialize, Deserialize)]
struct Summed {
    sum: u64,
}

/// Writes and emits within the framework's transaction, whatever becomes of the attempt.
struct Exactly(&'static str);

async fn write(tx: &mut Tx<Sqlite>, who: &str, events: &[Made], outbox: &Outbox) -> Result<(), BoxError> {
    for event in events {
        let insert = sqlx::query("INSERT INTO entry (who, n) VALUES (?1, ?2)").bind(who);
        insert.bind(i64::try_from(event.n)?).execute(&mut **tx).await?;
    }
    outbox.emit(Summed { sum: events.iter().map(|event| event.n).sum() });
    if events.iter().any(|event| [0, 57, 58, 99].contains(&event.n)) { Err("refused".into()) } else { Ok(()) }
}

#[projector(version = 1)]
impl Exactly {
    #[event_handler(batch = 30, retry = 0)]
    async fn made(&self, events: Vec<Made>, tx: &mut Tx<Sqlite>, outbox: Outbox) -> Result<(), BoxError> {
        write(tx, self.0, &events, &outbox).await
    }
}

struct ExactlyOnLanes(&'static str);

#[projector(version = 1)]
impl ExactlyOnLanes {
    #[event_handler(executor = "pool", batch = 30, retry = 0)]
    async fn made(&self, events: Vec<Made>, tx: &mut Tx<Sqlite>, outbox: Outbox) -> Result<(), BoxError> {
        write(tx, self.0, &events, &outbox).await
    }
}

async fn sqlite(folder: &Path) -> SqliteStore {
    let store = Sqlite::file(folder.join("b.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    let mut db = store.writer().acquire().await.unwrap();
    sqlx::raw_sql("CREATE TABLE entry (who TEXT NOT NULL, n INTEGER NOT NULL)").execute(&mut *db).await.unwrap();
    drop(db);
    store
}

async fn asked(store: &SqliteStore, query: &'static str) -> Vec<i64> {
    let mut db = store.writer().acquire().await.unwrap();
    sqlx::query(query).fetch_all(&mut *db).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn within_a_transaction_every_effect_is_there_once_whatever_fails() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path()).await;
    let events = (0..100).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 7)));
    let last = store.append(None::<String>, Expected::Any, events).await.unwrap().last;
    let builder = over(store.clone()).component(Exactly("in-order")).component(ExactlyOnLanes("lanes"));
    let builder = builder.executor(ConsumerExecutors::partitioned("pool", 3)).window(64);
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let expected: Vec<i64> = (0..100).filter(|n| ![0, 57, 58, 99].contains(n)).collect();
    for query in
        ["SELECT n FROM entry WHERE who = 'in-order' ORDER BY n", "SELECT n FROM entry WHERE who = 'lanes' ORDER BY n"]
    {
        assert_eq!(asked(&store, query).await, expected, "{query}");
    }
    // What was emitted is of the calls that were committed.
    let sums = "SELECT SUM(json_extract(CAST(payload AS TEXT), '$.sum')) FROM evento_event WHERE name = 'Summed'";
    assert_eq!(asked(&store, sums).await, [2 * expected.iter().sum::<i64>()]);
    for consumer in running.consumers() {
        let dead = consumer.dead_letters(LetterFilter::all(), None, 100).await.unwrap();
        assert_eq!((dead.len(), dead.iter().all(|dead| dead.letter.attempts == 1)), (4, true));
    }
    stop(running).await;
    store.close().await;
}

/// Counts calls.
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl Interceptor for Counting {
    async fn before(&self, _: &Invocation) -> Result<(), BoxError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Everything(Journal<Vec<String>>);

#[projector(version = 1)]
impl Everything {
    #[event_handler(batch = 100)]
    async fn any(&self, events: Vec<RawEvent>) {
        self.0.push(events.iter().map(|event| event.name.to_string()).collect());
    }
}

#[tokio::test]
async fn an_interceptor_sees_one_call_and_a_catch_all_may_take_batches() {
    let store = MemoryStore::new();
    append(&store, 0..10, 0).await;
    let last = append_all(&store, [NewEvent::from(Closed { n: 1 })]).await;
    let (component, calls) = (Everything::default(), Arc::<AtomicUsize>::default());
    let builder = bundle(&store).component(component.clone()).interceptor(Counting(Arc::clone(&calls)));
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let names: Vec<String> = std::iter::repeat_n("Made", 10).chain(["Closed"]).map(str::to_owned).collect();
    assert_eq!(component.0.all(), [names]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    stop(running).await;
}

struct Waiting(Arc<tokio::sync::Semaphore>);

#[projector(version = 1)]
impl Waiting {
    #[event_handler(executor = "pool", batch = 50)]
    async fn made(&self, _events: Vec<Made>) {
        self.0.acquire().await.unwrap().forget();
    }
}

#[tokio::test]
async fn one_call_for_many_is_one_handler_in_flight() {
    let store = MemoryStore::new();
    let last = append(&store, 0..100, 0).await;
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let builder = bundle(&store).component(Waiting(Arc::clone(&gate))).executor(tasks(1));
    let running = builder.build().unwrap().start().await.unwrap();
    evento_tests::eventually("it is called", || running.status()[0].counters.started == 50).await;
    assert_eq!(running.status()[0].in_flight, 1);
    gate.add_permits(2);
    settled(&running, &last).await;
    evento_tests::eventually("nothing runs", || running.status()[0].in_flight == 0).await;
    stop(running).await;
}
