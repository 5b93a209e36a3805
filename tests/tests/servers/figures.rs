//! What a server store costs, printed: `EVENTO_FIGURES=1 cargo test --release … figures -- --nocapture`.

use std::time::Instant;

use evento_runtime::identity::Epoch;
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::{Checkpoint, Settlement, Store, StoreConfig};
use evento_runtime::{Expected, Position};

use crate::helpers::{consumer, event};

fn wanted() -> bool {
    std::env::var_os("EVENTO_FIGURES").is_some()
}

fn rate(what: &str, n: u32, began: Instant) {
    println!("{what}: {:.0} a second", f64::from(n) / began.elapsed().as_secs_f64());
}

async fn measure(name: &str, store: &Store) {
    let began = Instant::now();
    for n in 0..1_000_u32 {
        store.append(format!("k{n}"), Expected::Any, [event([0; 200])]).await.unwrap();
    }
    rate(&format!("{name}: appends one after the other"), 1_000, began);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..16_u32 {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0..125_u32 {
                store.append(format!("t{task}-{n}"), Expected::Any, [event([0; 200])]).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    rate(&format!("{name}: appends by 16 at once"), 2_000, began);
    let began = Instant::now();
    for n in 0..200_u32 {
        let batch: Vec<_> = (0..100_u32).map(|i| event([0; 200]).key(format!("b{n}-{}", i % 10))).collect();
        store.append(None::<String>, Expected::Any, batch).await.unwrap();
    }
    rate(&format!("{name}: events in hundreds"), 20_000, began);
    for page in [500, 500] {
        let began = Instant::now();
        let (mut after, mut read): (Option<Position>, u32) = (None, 0);
        loop {
            let limits = FetchLimits { events: page, bytes: usize::MAX };
            let batch = store.events.fetch(after.as_ref(), limits, &EventFilter::all()).await.unwrap();
            read += u32::try_from(batch.events.len()).unwrap();
            after = batch.read_to;
            if !batch.more {
                break;
            }
        }
        rate(&format!("{name}: events read in pages of {page}"), read, began);
    }
    let lease = store.stores.lock.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
    let began = Instant::now();
    for n in 1..=1_000_u64 {
        let at = Some(Position::from_u64(n));
        let mut settlement = Settlement::default();
        settlement.checkpoint = Some(Checkpoint { watermark: at.clone(), reach: at, open: Vec::new() });
        store.stores.state.settle(&lease, settlement).await.unwrap();
    }
    rate(&format!("{name}: settles one after the other"), 1_000, began);
    let began = Instant::now();
    store.stores.lock.release(&lease).await.unwrap();
    store.stores.lock.acquire(&consumer("A"), Epoch(0)).await.unwrap().unwrap();
    println!("{name}: an ownership given back and taken: {:?}", began.elapsed());
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn of_postgres() {
    use sqlx::Row as _;
    if !wanted() {
        return;
    }
    let Some(corner) = crate::postgres::Corner::new() else { return };
    let (store, spis) = corner.open().await;
    measure("PostgreSQL", &spis).await;
    let mut plain = corner.stranger().await;
    let template = "SELECT position, id, name, context, key, version, recorded_at, content_type, metadata, payload \
                    FROM @event WHERE position > $1 ORDER BY position LIMIT 500";
    let began = Instant::now();
    let (mut after, mut read) = (0_i64, 0_u32);
    loop {
        let rows = sqlx::query(corner.sql(template)).bind(after).fetch_all(&mut plain).await.unwrap();
        let Some(last) = rows.last() else { break };
        after = last.get(0);
        for row in &rows {
            let payload: Vec<u8> = row.get(9);
            let name: String = row.get(2);
            read += u32::from(!payload.is_empty() && !name.is_empty());
        }
    }
    rate("PostgreSQL: rows read by plain sqlx in pages of 500", read, began);
    store.close().await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn of_mariadb() {
    use evento_tests::servers::{Prefix, reach};
    let Ok(url) = reach("EVENTO_TEST_MYSQL_URL") else { return };
    if !wanted() {
        return;
    }
    let prefix = Prefix::new();
    let store = evento_runtime::store::MySql::url(&url).prefix(prefix.name()).open().await.unwrap();
    measure("MariaDB", &StoreConfig::open(Box::new(store.clone())).await.unwrap()).await;
    store.close().await;
}
