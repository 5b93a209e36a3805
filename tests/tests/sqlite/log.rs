//! The log as SQLite keeps it.

use evento_runtime::identity::ContextPattern;
use evento_runtime::source::{EventFilter, EventSource, FetchLimits};
use evento_runtime::{AppendError, Expected, Position};
use sqlx::Connection as _;

use super::{event, open};

const MANY: FetchLimits = FetchLimits { events: 1_000, bytes: usize::MAX };

/// Holes are never filled later: positions far apart are passed, and a deleted one is not given out again.
#[tokio::test(flavor = "multi_thread")]
async fn positions_may_be_sparse_and_are_never_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    store.append("k", Expected::New, [event([1])]).await.unwrap();
    let far = "INSERT INTO evento_event (position, id, name, context, slice, recorded_at, content_type, payload) \
               VALUES (?, randomblob(16), ?, 'default', 0, 0, 'x', x'')";
    let mut guard = store.writer().acquire().await.unwrap();
    for (position, name) in [(1_000_000_i64, "Foreign"), (9_000_000_000, "E"), (9_000_000_500, "Foreign")] {
        sqlx::query(far).bind(position).bind(name).execute(&mut *guard).await.unwrap();
    }
    drop(guard);
    let mine = EventFilter::new(Some(["E".to_owned()].into()), ContextPattern::All);
    let page = store.fetch(None, MANY, &mine).await.unwrap();
    let positions: Vec<_> = page.events.iter().map(|event| event.position.as_u64().unwrap()).collect();
    assert_eq!((positions, page.read_to), (vec![1, 9_000_000_000], Some(Position::from_u64(9_000_000_500))));
    let mut guard = store.writer().acquire().await.unwrap();
    sqlx::query("DELETE FROM evento_event WHERE position > 1").execute(&mut *guard).await.unwrap();
    drop(guard);
    let appended = store.append("k", Expected::Version(1), [event([2])]).await.unwrap();
    assert_eq!(appended.first, Position::from_u64(9_000_000_501));
    let (same, duplicate) = (appended.first.as_u64().unwrap(), 9_000_000_501_i64);
    let mut guard = store.writer().acquire().await.unwrap();
    let twice = sqlx::query(far).bind(duplicate).bind("E").execute(&mut *guard).await;
    assert!(twice.is_err(), "{same} twice");
    drop(guard);
    store.close().await;
}

/// Together with the caller's own rows, or not at all; readers see nothing before the commit.
#[tokio::test(flavor = "multi_thread")]
async fn appending_in_a_transaction_of_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    let mut guard = store.writer().acquire().await.unwrap();
    sqlx::raw_sql("CREATE TABLE mine (x)").execute(&mut *guard).await.unwrap();

    let mut tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
    sqlx::raw_sql("INSERT INTO mine VALUES (1)").execute(&mut *tx).await.unwrap();
    let batch = || (0..70).map(|_| event([1]));
    assert_eq!(store.append_in(&mut tx, "k", Expected::New, batch()).await.unwrap().version, Some(70));
    tx.rollback().await.unwrap();
    assert_eq!(store.head().await.unwrap(), None);

    let mut wake = EventSource::wake(&store);
    wake.borrow_and_update();
    let mut tx = guard.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let first = store.append_in(&mut tx, "k", Expected::New, batch()).await.unwrap();
    // A refused batch leaves the transaction as it was.
    let refused = store.append_in(&mut tx, "k", Expected::New, batch()).await;
    assert!(matches!(refused, Err(AppendError::Conflict { actual: 70, .. })), "{refused:?}");
    let known = event([7]).id(evento_runtime::EventId::foreign("a", "b"));
    store.append_in(&mut tx, "k", Expected::Version(70), [known]).await.unwrap();
    let known = event([7]).id(evento_runtime::EventId::foreign("a", "b"));
    let partly = store.append_in(&mut tx, "k", Expected::Any, [event([8]), known]).await;
    assert!(matches!(partly, Err(AppendError::PartlyKnown { known: 1, total: 2 })), "{partly:?}");
    sqlx::raw_sql("INSERT INTO mine VALUES (2)").execute(&mut *tx).await.unwrap();
    assert_eq!(store.head().await.unwrap(), None, "not committed yet");
    tx.commit().await.unwrap();
    drop(guard);
    store.wake();
    assert!(wake.has_changed().unwrap());
    let page = store.fetch(None, MANY, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), &page.events[0].position), (71, &first.first));
    store.close().await;
}

/// What the log says of an event, for tools that read the table.
#[tokio::test(flavor = "multi_thread")]
async fn slices_follow_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("o.db")).await;
    store.append("order-1", Expected::New, [event([1]), event([2])]).await.unwrap();
    store.append(None::<String>, Expected::Any, [event([3])]).await.unwrap();
    let mut guard = store.writer().acquire().await.unwrap();
    let slices: Vec<i64> =
        sqlx::query_scalar("SELECT slice FROM evento_event ORDER BY position").fetch_all(&mut *guard).await.unwrap();
    // crc32("order-1") % 1024, for ever.
    assert_eq!((slices[0], slices[1]), (i64::from(0xe0b3_7fef_u32 % 1_024), slices[0]));
    assert!((0..1_024).contains(&slices[2]));
    drop(guard);
    store.close().await;
}
