//! Versions that a process remembers, so that it need not ask PostgreSQL for them.

use evento_runtime::Expected;
use evento_runtime::error::AppendError;
use evento_runtime::store::{Postgres, Store, StoreConfig};
use sqlx::Connection as _;

use crate::helpers::event;
use crate::postgres::Corner;

/// The next version of the stream, by one append.
async fn next(store: &Store) -> u64 {
    store.append("stream", Expected::Any, [event([1])]).await.unwrap().version.unwrap()
}

/// So often that what is remembered is relied on. Answers the version.
async fn trusting(store: &Store) -> u64 {
    let mut version = 0;
    for _ in 0..12 {
        let events = (0..100).map(|_| event([0]));
        version = store.append("stream", Expected::Any, events).await.unwrap().version.unwrap();
    }
    version
}

/// The last event is gone, as with a server that takes over without having it.
async fn lose_the_last(corner: &Corner) {
    let mut stranger = corner.stranger().await;
    let sql = corner.sql("DELETE FROM @event WHERE position = (SELECT max(position) FROM @event)");
    assert_eq!(sqlx::query(sql).execute(&mut stranger).await.unwrap().rows_affected(), 1);
    stranger.close().await.unwrap();
}

#[tokio::test]
async fn another_process_in_the_stream_is_noticed_and_no_version_is_left_out() {
    let Some(corner) = Corner::new() else { return };
    let ((store, here), (other, elsewhere)) = (corner.open().await, corner.open().await);
    let mut version = trusting(&here).await;
    for _ in 0..3 {
        for store in [&elsewhere, &here, &here, &elsewhere] {
            version += 1;
            assert_eq!(next(store).await, version);
        }
    }
    // Appends that are under way at the same time, some of them in one statement.
    let at_once = (0..40).map(|n| {
        let store = if n % 2 == 0 { here.clone() } else { elsewhere.clone() };
        tokio::spawn(async move { next(&store).await })
    });
    let mut versions = Vec::new();
    for append in at_once.collect::<Vec<_>>() {
        versions.push(append.await.unwrap());
    }
    versions.sort_unstable();
    assert_eq!(versions, (version + 1..=version + 40).collect::<Vec<_>>());
    store.close().await;
    other.close().await;
}

#[tokio::test]
async fn what_is_expected_of_a_stream_is_compared_with_what_it_is() {
    let Some(corner) = Corner::new() else { return };
    let ((store, here), (other, elsewhere)) = (corner.open().await, corner.open().await);
    let version = trusting(&here).await;
    assert_eq!(next(&elsewhere).await, version + 1);
    for expected in [version, version + 2] {
        let refused = here.append("stream", Expected::Version(expected), [event([1])]).await.unwrap_err();
        assert!(matches!(&refused, AppendError::Conflict { actual, .. } if *actual == version + 1), "{refused:?}");
    }
    let stored = here.append("stream", Expected::Version(version + 1), [event([1])]).await.unwrap();
    assert_eq!(stored.version, Some(version + 2));
    store.close().await;
    other.close().await;
}

#[tokio::test]
async fn nothing_is_remembered_behind_a_connection_that_was_lost() {
    let Some(corner) = Corner::new() else { return };
    let named = format!("{}?application_name={}", corner.url, corner.schema.name());
    let store = Postgres::url(&named).schema(corner.schema.name()).open().await.unwrap();
    let here = StoreConfig::open(Box::new(store.clone())).await.unwrap();
    // Twice: every connection is there by then.
    trusting(&here).await;
    let version = trusting(&here).await;
    // It is relied on: somebody who takes events out behind its back leaves a gap.
    lose_the_last(&corner).await;
    assert_eq!(next(&here).await, version + 1);

    lose_the_last(&corner).await;
    let mut stranger = corner.stranger().await;
    let kill = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = $1";
    let killed: i64 = sqlx::query_scalar(kill).bind(corner.schema.name()).fetch_one(&mut stranger).await.unwrap();
    assert!(killed > 0);
    let found = loop {
        // The first to notice gets the error.
        if let Ok(stored) = here.append("stream", Expected::Any, [event([1])]).await {
            break stored.version;
        }
    };
    assert_eq!(found, Some(version));
    stranger.close().await.unwrap();
    store.close().await;
}
