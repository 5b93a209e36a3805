//! Appends that share a statement on PostgreSQL, because they waited for a connection at the same time.

use std::time::Duration;

use evento_runtime::error::AppendError;
use evento_runtime::prelude::*;
use evento_runtime::store::Store;
use evento_runtime::{Appended, EventId, Expected, NewEvent};
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinHandle;

use crate::helpers::event;
use crate::postgres::Corner;

/// Connections that append.
const WRITERS: usize = 4;

type Appending = JoinHandle<Result<Appended, AppendError>>;

/// Has been asked for when this returns; the tests run on one thread.
async fn ask(store: &Store, key: &str, event: NewEvent) -> Appending {
    let (store, key) = (store.clone(), key.to_owned());
    let asked = tokio::spawn(async move { store.append(key, Expected::Any, [event]).await });
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    asked
}

/// A transaction that has appended to a stream, and keeps others from it until it ends.
async fn holding(corner: &Corner, store: &evento_runtime::store::PostgresStore, key: &str) -> PgConnection {
    let mut connection = corner.stranger().await;
    sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
    store.append_in(&mut connection, key, Expected::Any, [event([0])]).await.unwrap();
    connection
}

/// Until so many sessions wait for somebody's transaction.
async fn waiting(corner: &Corner, connection: &mut PgConnection, sessions: i64) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}%'",
        corner.schema.name()
    );
    for _ in 0..1_000 {
        let sql = sqlx::AssertSqlSafe(sql.clone());
        if sqlx::query_scalar::<_, i64>(sql).fetch_one(&mut *connection).await.unwrap() == sessions {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{sessions} sessions should wait");
}

/// Every connection waits for the stream `all`, until the answer is committed.
async fn all_busy(
    corner: &Corner,
    store: &evento_runtime::store::PostgresStore,
    spis: &Store,
) -> (PgConnection, Vec<Appending>) {
    let holder = holding(corner, store, "all").await;
    let mut blocked = Vec::new();
    for n in 0..WRITERS {
        blocked.push(ask(spis, "all", event([u8::try_from(n).unwrap()])).await);
    }
    waiting(corner, &mut corner.stranger().await, i64::try_from(WRITERS).unwrap()).await;
    (holder, blocked)
}

async fn end(mut holder: PgConnection) {
    sqlx::raw_sql("COMMIT").execute(&mut holder).await.unwrap();
    holder.close().await.unwrap();
}

#[tokio::test]
async fn those_that_wait_share_a_statement_and_have_a_version_each() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let (holder, blocked) = all_busy(&corner, &store, &spis).await;
    let mut asked = Vec::new();
    for n in 0..20_u8 {
        asked.push(ask(&spis, &format!("k{}", n % 5), event([n])).await);
    }
    end(holder).await;
    let mut versions = Vec::new();
    for append in asked {
        let appended = append.await.unwrap().unwrap();
        assert_eq!(appended.first, appended.last);
        versions.push(appended.version.unwrap());
    }
    // In the order they were asked for, within their stream.
    assert_eq!(versions, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4]);
    for append in blocked {
        append.await.unwrap().unwrap();
    }
    let sql = corner.sql("SELECT count(*), count(DISTINCT xmin::text) FROM @event WHERE key LIKE 'k%'");
    let counts: (i64, i64) = sqlx::query_as(sql).fetch_one(&mut corner.stranger().await).await.unwrap();
    assert_eq!(counts, (20, 1), "rows and transactions");
    store.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_one_is_nothing_to_the_others() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let (used, known) = (EventId::generate(), EventId::generate());
    for id in [used, known] {
        spis.append("before", Expected::Any, [event([1]).id(id)]).await.unwrap();
    }
    let (holder, blocked) = all_busy(&corner, &store, &spis).await;
    let mut good = Vec::new();
    for n in 0..5_u8 {
        good.push(ask(&spis, &format!("a{n}"), event([n])).await);
    }
    let bad = ask(&spis, "a", event([2]).id(used)).await;
    let again = ask(&spis, "before", event([1]).id(known)).await;
    for n in 5..10_u8 {
        good.push(ask(&spis, &format!("z{n}"), event([n])).await);
    }
    end(holder).await;
    for append in good.into_iter().chain(blocked) {
        assert!(!append.await.unwrap().unwrap().known);
    }
    assert!(matches!(bad.await.unwrap(), Err(AppendError::IdReused { .. })));
    let again = again.await.unwrap().unwrap();
    assert!(again.known);
    assert_eq!(again.first, Position::from_u64(2));
    store.close().await;
}

#[tokio::test]
async fn who_waits_for_a_stream_holds_nobody_up_for_long() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let (holder, blocked) = all_busy(&corner, &store, &spis).await;
    let slow = holding(&corner, &store, "k5").await;
    let mut asked = Vec::new();
    for n in 0..10_u8 {
        asked.push(ask(&spis, &format!("k{n}"), event([n])).await);
    }
    end(holder).await;
    let held = asked.remove(5);
    let others = async {
        for append in asked.into_iter().chain(blocked) {
            append.await.unwrap().unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), others).await.expect("the others wait for `k5` as well");
    assert!(!held.is_finished());
    end(slow).await;
    assert_eq!(held.await.unwrap().unwrap().version, Some(2));
    store.close().await;
}
