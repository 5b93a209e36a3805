//! What only MySQL and MariaDB have: the counter row.

use evento_runtime::store::{MySql, MySqlStore, StoreConfig};
use evento_runtime::{AppendError, Expected};
use evento_tests::servers::{Prefix, reach};
use sqlx::Connection as _;

use crate::helpers::event;

async fn corner() -> Option<(Prefix, String, MySqlStore)> {
    match reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => {
            let prefix = Prefix::new();
            let store = MySql::url(&url).prefix(prefix.name()).open().await.unwrap();
            Some((prefix, url, store))
        }
        Err(reason) => {
            evento_tests::skip(&reason);
            None
        }
    }
}

/// Who appends and does not end keeps the others waiting; they are told whose it may be, and go on afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_counter_is_told_of() {
    let Some((_prefix, url, store)) = corner().await else { return };
    let spis = StoreConfig::open(Box::new(store.clone())).await.unwrap();
    let mut mine = sqlx::MySqlConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("START TRANSACTION").execute(&mut mine).await.unwrap();
    store.append_in(&mut mine, "k", Expected::New, [event([1])]).await.unwrap();
    match spis.append("other", Expected::Any, [event([2])]).await {
        Err(AppendError::Blocked { by, .. }) => assert!(by.contains("connection"), "{by}"),
        appended => panic!("{appended:?}"),
    }
    assert!(spis.events.head().await.unwrap().is_none());
    sqlx::raw_sql("COMMIT").execute(&mut mine).await.unwrap();
    let appended = spis.append("other", Expected::Any, [event([2])]).await.unwrap();
    assert_eq!(appended.first.as_u64(), Some(2));
    store.close().await;
}

/// Refused within the caller's transaction, which goes on; refused without one.
#[tokio::test(flavor = "multi_thread")]
async fn the_callers_transaction_survives_a_conflict() {
    let Some((_prefix, url, store)) = corner().await else { return };
    let mut mine = sqlx::MySqlConnection::connect(&url).await.unwrap();
    assert!(store.append_in(&mut mine, "k", Expected::New, [event([0])]).await.is_err(), "no transaction");
    store.append("k", Expected::New, [event([1])]).await.unwrap();
    // With a snapshot from before somebody else's append.
    sqlx::raw_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT").execute(&mut mine).await.unwrap();
    store.append("k", Expected::Version(1), [event([2])]).await.unwrap();
    store.append_in(&mut mine, "k", Expected::Version(1), [event([3])]).await.unwrap_err();
    let appended = store.append_in(&mut mine, "k", Expected::Version(2), [event([3])]).await.unwrap();
    sqlx::raw_sql("COMMIT").execute(&mut mine).await.unwrap();
    assert_eq!((appended.version, appended.first.as_u64()), (Some(3), Some(3)));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_instances_make_the_tables_once() {
    let Ok(url) = reach("EVENTO_TEST_MYSQL_URL") else { return };
    let prefix = Prefix::new();
    let opened = (0..5).map(|_| tokio::spawn(MySql::url(&url).prefix(prefix.name()).open()));
    for store in opened.collect::<Vec<_>>() {
        store.await.unwrap().unwrap().close().await;
    }
}
