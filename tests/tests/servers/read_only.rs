//! A server that takes no writes for a while, as after a failover to a replica.

use std::time::Duration;

use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::store::Postgres;
use evento_runtime::{Bundle, Expected};
use evento_tests::servers::unique;
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;

use crate::postgres::Corner;
use crate::room::as_user;

#[derive(Event, Serialize, Deserialize)]
struct Noted {
    n: u64,
}

struct Notes;

#[projector(version = 1)]
impl Notes {
    #[event_handler]
    async fn noted(&self, _event: Noted) {}
}

/// Its sessions would refuse writes for as long as they live: they are replaced, and the consumer goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn b56_a_server_that_was_read_only_for_a_while_is_written_to_again() {
    let Some(corner) = Corner::new() else { return };
    let mut admin = corner.stranger().await;
    let role = unique("u_");
    let database: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&mut admin).await.unwrap();
    let make = format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'; GRANT CREATE ON DATABASE \"{database}\" TO {role}");
    sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut admin).await.unwrap();
    let config = Postgres::url(&as_user(&corner.url, &role)).schema(corner.schema.name());
    let store = config.lease(Duration::from_secs(60)).open().await.unwrap();
    let bundle = Bundle::builder("b").store(store.clone()).component(Notes).build().unwrap();
    let running = bundle.start().await.unwrap();
    let (writer, spis) = corner.open().await;
    let put = async |n| spis.append("k", Expected::Any, [Noted { n }]).await.unwrap().last;
    let settled = async |last: &Position| {
        evento_tests::eventually("it is settled", || running.status()[0].watermark.as_ref() >= Some(last)).await;
    };
    settled(&put(1).await).await;

    let read_only = format!(
        "ALTER ROLE {role} SET default_transaction_read_only = on; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'"
    );
    sqlx::raw_sql(AssertSqlSafe(read_only)).execute(&mut admin).await.unwrap();
    let last = put(2).await;
    evento_tests::eventually("it says why it stands", || {
        let reason = running.status()[0].reason.clone();
        matches!(reason, Some(StallReason::Store { error }) if error.contains("only"))
    })
    .await;
    let writable = format!("ALTER ROLE {role} RESET default_transaction_read_only");
    sqlx::raw_sql(AssertSqlSafe(writable)).execute(&mut admin).await.unwrap();
    settled(&last).await;
    let stored = "SELECT count(*) FROM @checkpoint";
    let checkpoints: i64 = sqlx::query_scalar(corner.sql(stored)).fetch_one(&mut admin).await.unwrap();
    assert_eq!(checkpoints, 1);
    running.stop(Duration::from_secs(10)).await.unwrap();
    store.close().await;
    writer.close().await;
    let drop = format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut admin).await.unwrap();
}
