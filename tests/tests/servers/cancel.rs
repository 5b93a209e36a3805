//! Every public async method, dropped after each number of polls, with pools of one connection: what had begun is
//! done, nothing stays open, and the next call works.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use evento_runtime::identity::Epoch;
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::{Checkpoint, LetterFilter, Settlement, StoreConfig};
use evento_runtime::{EventId, Expected, Position};

use crate::helpers::{consumer, event};
use crate::postgres::Corner;

/// Polls it `polls` times, a moment apart; whether it was done by then.
async fn poll_and_drop(polls: usize, future: impl Future<Output = ()>) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if futures_util::poll!(future.as_mut()).is_ready() {
            return true;
        }
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_cut_off_half_way() {
    let Some(corner) = Corner::new() else { return };
    let store = corner.config().writers(1).readers(1).open().await.unwrap();
    let spis = StoreConfig::open(Box::new(store.clone())).await.unwrap();
    let (events, stores) = (&spis.events, &spis.stores);
    let a = consumer("A");
    let held = stores.lock.acquire(&a, Epoch(0)).await.unwrap().unwrap();
    let mut ids = Vec::new();
    let mut settled = 0;
    let limits = FetchLimits { events: 10, bytes: usize::MAX };
    for polls in 1..=8 {
        for _ in 0..3 {
            let id = EventId::generate();
            ids.push(id);
            poll_and_drop(polls, async {
                spis.append("k", Expected::Any, [event([1]).id(id)]).await.unwrap();
            })
            .await;
            settled += 1;
            let at = Some(Position::from_u64(settled));
            let settlement = || {
                let mut settlement = Settlement::default();
                settlement.checkpoint = Some(Checkpoint { watermark: at.clone(), reach: at.clone(), open: Vec::new() });
                settlement
            };
            poll_and_drop(polls, async { stores.state.settle(&held, settlement()).await.unwrap() }).await;
            poll_and_drop(polls, async { drop(events.fetch(None, limits, &EventFilter::all()).await.unwrap()) }).await;
            poll_and_drop(polls, async { drop(events.head().await.unwrap()) }).await;
            poll_and_drop(polls, async { drop(events.read_exact(&[Position::from_u64(1)]).await.unwrap()) }).await;
            poll_and_drop(polls, async { drop(events.validate(&Position::from_u64(1)).await.unwrap()) }).await;
            poll_and_drop(polls, async { drop(stores.state.load(&a).await.unwrap()) }).await;
            poll_and_drop(polls, async { stores.state.set_enabled(&a, true).await.unwrap() }).await;
            poll_and_drop(polls, async { drop(stores.state.consumers("b").await.unwrap()) }).await;
            poll_and_drop(polls, async { assert_eq!(stores.state.forget("b", "Z", 1).await.unwrap(), 0) }).await;
            poll_and_drop(polls, async { drop(stores.lock.acquire(&a, Epoch(0)).await.unwrap()) }).await;
            poll_and_drop(polls, async { drop(stores.lock.renew(std::slice::from_ref(&held)).await.unwrap()) }).await;
            poll_and_drop(polls, async {
                drop(stores.dead_letters.list(&a, &LetterFilter::all(), None, 5).await.unwrap());
            })
            .await;
            poll_and_drop(polls, async { assert_eq!(stores.dead_letters.count(&a).await.unwrap(), 0) }).await;
            poll_and_drop(polls, async { drop(store.gap().await.unwrap()) }).await;
        }
    }
    // The same ids tell what became of each.
    for id in &ids {
        spis.append("k", Expected::Any, [event([1]).id(*id)]).await.unwrap();
    }
    let all = FetchLimits { events: 1_000, bytes: usize::MAX };
    assert_eq!(events.fetch(None, all, &EventFilter::all()).await.unwrap().events.len(), ids.len());
    assert_eq!(stores.lock.renew(std::slice::from_ref(&held)).await.unwrap(), [true], "the lease is still there");
    let mut admin = corner.stranger().await;
    let open: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE '%' || $1 || '%'",
    )
    .bind(corner.schema.name())
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(open, 0);
    poll_and_drop(1, store.close()).await;
    store.close().await;
}

/// A transaction that nobody ended, in the pool of a user.
#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_pool_hands_out_no_open_transaction() {
    let Some(corner) = Corner::new() else { return };
    corner.open().await.0.close().await;
    let options = sqlx::postgres::PgPoolOptions::new().max_connections(1);
    let pool = evento_runtime::store::sql::guarded_postgres(options).connect(&corner.url).await.unwrap();
    for spoil in ["BEGIN", "BEGIN; SELECT 1/0"] {
        let mut connection = pool.acquire().await.unwrap();
        sqlx::raw_sql(spoil).execute(&mut *connection).await.ok();
        drop(connection);
        let name = spoil.to_owned();
        sqlx::query(corner.sql("INSERT INTO @meta VALUES ($1, '1')")).bind(&name).execute(&pool).await.unwrap();
        let mut other = corner.stranger().await;
        let seen: i64 = sqlx::query_scalar(corner.sql("SELECT count(*) FROM @meta WHERE name = $1"))
            .bind(&name)
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert_eq!(seen, 1, "{spoil}");
    }
    pool.close().await;
}
