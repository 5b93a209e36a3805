//! Holes in the log of PostgreSQL: what is committed is delivered, whatever commits before it, and nothing is passed
//! that may still come.

use std::collections::BTreeSet;
use std::time::Duration;

use evento_runtime::identity::ContextPattern;
use evento_runtime::prelude::*;
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::Store;
use evento_runtime::{Bundle, Expected, NewEvent, Position, Timestamp};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::helpers::event;
use crate::postgres::Corner;

const MANY: FetchLimits = FetchLimits { events: 1_000, bytes: usize::MAX };

async fn payloads(store: &Store) -> Vec<u8> {
    let page = store.events.fetch(None, MANY, &EventFilter::all()).await.unwrap();
    page.events.iter().map(|event| event.payload[0]).collect()
}

async fn begin(connection: &mut PgConnection) {
    sqlx::raw_sql("BEGIN").execute(connection).await.unwrap();
}

async fn commit(connection: &mut PgConnection) {
    sqlx::raw_sql("COMMIT").execute(connection).await.unwrap();
}

async fn put(store: &Store, payload: u8) {
    store.append(None::<String>, Expected::Any, [event([payload])]).await.unwrap();
}

/// The lower number commits later. It is shown who holds it, and it is read when it comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_lower_commit_is_waited_for() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    put(&spis, 1).await;
    let mut slow = corner.stranger().await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut slow).await.unwrap();
    begin(&mut slow).await;
    store.append_in(&mut slow, "k", Expected::New, [event([2])]).await.unwrap();
    put(&spis, 3).await;
    for _ in 0..20 {
        assert_eq!(payloads(&spis).await, [1]);
    }
    assert_eq!(spis.events.head().await.unwrap(), Some(Position::from_u64(1)));
    let gap = store.gap().await.unwrap().unwrap();
    assert_eq!(gap.from, 2);
    assert!(gap.to_string().contains(&pid.to_string()), "{gap}");
    commit(&mut slow).await;
    assert_eq!(payloads(&spis).await, [1, 2, 3]);
    assert!(store.gap().await.unwrap().is_none());
    store.close().await;
}

/// The event behind the hole looks as old or as new as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn b04_times_of_producers_decide_about_no_hole() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    put(&spis, 1).await;
    let (mut slow, mut other) = (corner.stranger().await, corner.stranger().await);
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [event([2])]).await.unwrap();
    put(&spis, 3).await;
    for micros in [0, i64::MAX / 2] {
        let sql = corner.sql("UPDATE @event SET recorded_at = $1 WHERE position = 3");
        let dated = sqlx::query(sql).bind(micros).execute(&mut other).await.unwrap();
        assert_eq!(dated.rows_affected(), 1);
        put(&spis, 4).await;
        assert_eq!(payloads(&spis).await, [1], "recorded at {micros}");
    }
    commit(&mut slow).await;
    assert_eq!(payloads(&spis).await, [1, 2, 3, 4, 4]);
    store.close().await;
}

/// Nothing happens for longer than anybody would wait; the first append after that is a slow one.
#[tokio::test(flavor = "multi_thread")]
async fn b05_a_long_silence_uses_up_no_patience() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    put(&spis, 1).await;
    let seconds = async |seconds: u64| {
        for _ in 0..seconds * 10 {
            assert_eq!(payloads(&spis).await, [1]);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    seconds(11).await;
    let mut slow = corner.stranger().await;
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [event([2])]).await.unwrap();
    put(&spis, 3).await;
    seconds(1).await;
    commit(&mut slow).await;
    assert_eq!(payloads(&spis).await, [1, 2, 3]);
    store.close().await;
}

/// What lies before a point in time is never above what can be read by now.
#[tokio::test(flavor = "multi_thread")]
async fn no_point_in_time_lies_above_a_hole() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let before = async |micros| spis.events.before(Timestamp::from_micros(micros)).await.unwrap();
    let mut slow = corner.stranger().await;
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [event([1])]).await.unwrap();
    put(&spis, 2).await;
    assert_eq!((before(0).await, before(i64::MAX).await), (None, None));
    let sql = corner.sql("SELECT recorded_at FROM @event WHERE position = 2");
    let second: i64 = sqlx::query_scalar(sql).fetch_one(&mut corner.stranger().await).await.unwrap();
    assert_eq!(before(second).await, None, "it is not there for readers");
    commit(&mut slow).await;
    assert_eq!(before(second).await, Some(Position::from_u64(1)));
    assert_eq!((before(0).await, before(i64::MAX).await), (None, Some(Position::from_u64(2))));
    store.close().await;
}

/// In the middle of a page, with events of others around it; filtered readers stop at it as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_hole_in_the_middle_of_a_page_stops_filtered_readers_too() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let mine = || NewEvent::raw("Mine", "text/plain", "x");
    for _ in 0..5 {
        spis.append(None::<String>, Expected::Any, [event([0]), mine()]).await.unwrap();
    }
    let mut slow = corner.stranger().await;
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [mine()]).await.unwrap();
    for _ in 0..5 {
        spis.append(None::<String>, Expected::Any, [event([0]), mine()]).await.unwrap();
    }
    let filter = EventFilter::new(Some(BTreeSet::from(["Mine".to_owned()])), ContextPattern::All);
    let page = spis.events.fetch(None, MANY, &filter).await.unwrap();
    assert_eq!((page.events.len(), page.read_to), (5, Some(Position::from_u64(10))));
    // Foreign to everybody: the read position stops there all the same.
    let nobody = EventFilter::new(Some(BTreeSet::from(["Nobody".to_owned()])), ContextPattern::All);
    let page = spis.events.fetch(None, MANY, &nobody).await.unwrap();
    assert_eq!((page.events.len(), page.read_to), (0, Some(Position::from_u64(10))));
    commit(&mut slow).await;
    let page = spis.events.fetch(Some(&Position::from_u64(10)), MANY, &filter).await.unwrap();
    assert_eq!(page.events.len(), 6);
    store.close().await;
}

/// A transaction that took its id long ago, and appends late.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_taken_early_does_not_hide_a_hole() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let mut early = corner.stranger().await;
    begin(&mut early).await;
    sqlx::query("SELECT pg_current_xact_id()").execute(&mut early).await.unwrap();
    put(&spis, 1).await;
    put(&spis, 2).await;
    assert_eq!(payloads(&spis).await, [1, 2], "it holds nothing yet");
    store.append_in(&mut early, None::<String>, Expected::Any, [event([3])]).await.unwrap();
    put(&spis, 4).await;
    assert_eq!(payloads(&spis).await, [1, 2]);
    commit(&mut early).await;
    assert_eq!(payloads(&spis).await, [1, 2, 3, 4]);
    store.close().await;
}

/// Rolled back, lost in a race, never inserted: passed at once. An older transaction with other business is no reason
/// to wait.
#[tokio::test(flavor = "multi_thread")]
async fn burned_numbers_are_passed_whoever_else_runs() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let mut busy = corner.stranger().await;
    begin(&mut busy).await;
    sqlx::query("SELECT pg_current_xact_id()").execute(&mut busy).await.unwrap();
    put(&spis, 1).await;
    let mut undone = corner.stranger().await;
    begin(&mut undone).await;
    for _ in 0..3 {
        store.append_in(&mut undone, None::<String>, Expected::Any, [event([9])]).await.unwrap();
    }
    put(&spis, 2).await;
    assert_eq!(payloads(&spis).await, [1]);
    sqlx::raw_sql("ROLLBACK").execute(&mut undone).await.unwrap();
    assert_eq!(payloads(&spis).await, [1, 2]);
    let number: i64 =
        sqlx::query_scalar(corner.sql("SELECT nextval('@position')")).fetch_one(&mut undone).await.unwrap();
    assert_eq!(number, 6);
    put(&spis, 3).await;
    assert_eq!(payloads(&spis).await, [1, 2, 3]);
    commit(&mut busy).await;
    store.close().await;
}

/// The append takes its transaction id before its number: held between the two, it has an id and no number.
#[tokio::test(flavor = "multi_thread")]
async fn the_id_is_taken_before_the_number() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let mut blocker = corner.stranger().await;
    // Whoever holds the sequence's lock keeps `nextval` waiting.
    begin(&mut blocker).await;
    let lock = corner.sql("ALTER SEQUENCE @position CACHE 1");
    sqlx::raw_sql(lock).execute(&mut blocker).await.unwrap();
    let other = spis.clone();
    let append = tokio::spawn(async move { put(&other, 1).await });
    let waiting = || {
        corner.sql(
            "SELECT count(*) FROM pg_locks AS w JOIN pg_locks AS x ON x.pid = w.pid AND x.locktype = 'transactionid' \
         AND x.mode = 'ExclusiveLock' WHERE NOT w.granted AND w.relation = '@position'::regclass",
        )
    };
    let mut found = 0_i64;
    let mut other = corner.stranger().await;
    for _ in 0..200 {
        found = sqlx::query_scalar(waiting()).fetch_one(&mut other).await.unwrap();
        if found == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(found, 1, "waits for the sequence and has an id");
    commit(&mut blocker).await;
    append.await.unwrap();
    store.close().await;
}

/// Opened while somebody holds a hole: nothing above it is read before it is decided.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_opened_beside_a_hole_waits_too() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    put(&spis, 1).await;
    let mut slow = corner.stranger().await;
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [event([2])]).await.unwrap();
    put(&spis, 3).await;
    let (second, second_spis) = corner.open().await;
    assert_eq!(payloads(&second_spis).await, [1]);
    let mut wake = second_spis.events.wake();
    wake.borrow_and_update();
    tokio::time::sleep(Duration::from_millis(150)).await;
    wake.borrow_and_update();
    commit(&mut slow).await;
    // Nobody tells; the store looks by itself while it waits.
    tokio::time::timeout(Duration::from_secs(5), wake.changed()).await.unwrap().unwrap();
    assert_eq!(payloads(&second_spis).await, [1, 2, 3]);
    slow.close().await.unwrap();
    store.close().await;
    second.close().await;
}

/// Tells which payloads it was given.
struct FromHead(UnboundedSender<u8>);

#[projector(version = 1, start = "head")]
impl FromHead {
    #[event_handler]
    async fn any(&self, event: RawEvent) {
        self.0.send(event.payload[0]).unwrap();
    }
}

/// What is there when a consumer begins at the head is not handled, also where a lower position is still open: it
/// begins once that is decided, and with what comes from then on.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_begins_at_no_head_below_an_open_append() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let mut slow = corner.stranger().await;
    begin(&mut slow).await;
    store.append_in(&mut slow, None::<String>, Expected::Any, [event([1])]).await.unwrap();
    put(&spis, 2).await;
    let (given, mut received) = unbounded_channel();
    let bundle = Bundle::builder("b").store(store.clone()).component(FromHead(given)).build().unwrap();
    let starting = tokio::spawn(bundle.start());
    let mut other = corner.stranger().await;
    while sqlx::query_scalar::<_, i64>(corner.sql("SELECT count(*) FROM @lease")).fetch_one(&mut other).await.unwrap()
        == 0
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!starting.is_finished(), "it has begun below an append that is open");
    commit(&mut slow).await;
    let running = starting.await.unwrap().unwrap();
    put(&spis, 3).await;
    assert_eq!(received.recv().await, Some(3));
    running.stop(Duration::from_secs(10)).await.unwrap();
    store.close().await;
}

/// Refused within the caller's transaction, which goes on.
#[tokio::test(flavor = "multi_thread")]
async fn the_callers_transaction_survives_a_conflict() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    spis.append("k", Expected::New, [event([1])]).await.unwrap();
    let mut mine = corner.stranger().await;
    begin(&mut mine).await;
    store.append_in(&mut mine, "k", Expected::New, [event([2])]).await.unwrap_err();
    store.append_in(&mut mine, "k", Expected::Version(1), [event([3])]).await.unwrap();
    commit(&mut mine).await;
    assert_eq!(payloads(&spis).await, [1, 3]);
    assert!(store.append_in(&mut mine, "k", Expected::Any, [event([4])]).await.is_err(), "no transaction");
    assert_eq!(payloads(&spis).await, [1, 3]);
    store.close().await;
}
