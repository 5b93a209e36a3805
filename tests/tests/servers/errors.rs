//! What bad input gets: typed, saying what to do, and never a secret.

use std::time::Duration;

use evento_runtime::outcome::ErrorClass;
use evento_runtime::store::{MySql, Pooler, Postgres, sql};
use evento_runtime::{Expected, StoreError, StoreErrorKind};
use sqlx::Connection as _;

use crate::helpers::event;
use crate::postgres::Corner;

const SECRET: &str = "hunter2-marker";

fn assert_quiet(error: &StoreError) {
    let mut texts = vec![format!("{error} {error:?}")];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        texts.push(format!("{error} {error:?}"));
        cause = error.source();
    }
    assert!(!texts.concat().contains(SECRET), "{texts:?}");
}

async fn refused(config: Postgres) -> StoreErrorKind {
    assert!(!format!("{config:?}").contains(SECRET));
    let error = config.open().await.unwrap_err();
    assert_quiet(&error);
    error.kind()
}

fn with(url: &str, user: &str, database: &str) -> String {
    let (_, address) = url.rsplit_once('@').unwrap();
    let (address, _) = address.split_once('/').unwrap();
    format!("postgres://{user}:{SECRET}@{address}/{database}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_refused_with_its_kind() {
    let Some(corner) = Corner::new() else { return };
    let url = &corner.url;
    let mut admin = corner.stranger().await;
    let user = evento_tests::servers::unique("u_");
    let make = format!("CREATE ROLE {user} LOGIN PASSWORD 'other'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(make)).execute(&mut admin).await.unwrap();

    let unreachable = format!("postgres://evento:{SECRET}@127.0.0.1:1/evento");
    assert_eq!(refused(Postgres::url(&unreachable)).await, StoreErrorKind::Unreachable);
    assert_eq!(refused(Postgres::url(&with(url, "evento", "no_such"))).await, StoreErrorKind::Missing);
    assert_eq!(refused(Postgres::url(&with(url, "no_such_role", "evento"))).await, StoreErrorKind::Credentials);
    // A user who may do nothing in that schema.
    corner.open().await.0.close().await;
    let poor = || Postgres::url(&with(url, &user, "evento")).schema(corner.schema.name());
    assert_eq!(refused(poor()).await, StoreErrorKind::Denied);
    let grant = format!("GRANT USAGE ON SCHEMA \"{}\" TO {user}", corner.schema.name());
    sqlx::raw_sql(sqlx::AssertSqlSafe(grant)).execute(&mut admin).await.unwrap();
    let grant = corner.sql(&format!("GRANT SELECT ON @meta, @event TO {user}"));
    sqlx::raw_sql(grant).execute(&mut admin).await.unwrap();
    let error = poor().open().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Denied);
    assert!(error.to_string().contains("evento_event: SELECT, INSERT"), "{error}");
    let drop = corner.sql(&format!("DROP OWNED BY {user}; DROP ROLE {user}"));
    sqlx::raw_sql(drop).execute(&mut admin).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_settings_are_refused_before_anything_is_connected() {
    let url = format!("postgres://u:{SECRET}@nowhere.invalid/d");
    for config in [
        Postgres::url(&format!("not a url {SECRET}")),
        Postgres::url(&format!("postgres://u:{SECRET}@h:notaport/d")),
        Postgres::url(&url).schema("x\"; drop table t; --"),
        Postgres::url(&url).schema(""),
        Postgres::url(&url).schema("s".repeat(33)),
        Postgres::url(&url).writers(0),
        Postgres::url(&url).readers(0),
        Postgres::url(&url).lease(Duration::ZERO),
        Postgres::url(&url).renew(Duration::from_secs(10)),
        Postgres::url(&url).pooler(Pooler::Transaction).listen_url(&format!("ftp//{SECRET}")),
    ] {
        assert_eq!(refused(config).await, StoreErrorKind::Config);
    }
    #[cfg(feature = "mysql")]
    for config in [
        MySql::url(&format!("not a url {SECRET}")),
        MySql::url(&format!("mysql://u:{SECRET}@h")),
        MySql::url(&format!("mysql://u:{SECRET}@h/d")).prefix("a-b"),
    ] {
        assert!(!format!("{config:?}").contains(SECRET));
        let error = config.open().await.unwrap_err();
        assert_quiet(&error);
        assert_eq!(error.kind(), StoreErrorKind::Config);
    }
}

/// In a schema that has other tables, five at once; a newer schema is refused and kept.
#[tokio::test(flavor = "multi_thread")]
async fn five_instances_make_the_schema_once() {
    let Some(corner) = Corner::new() else { return };
    let mut admin = corner.stranger().await;
    let name = corner.schema.name();
    let make = format!(
        "CREATE SCHEMA \"{name}\"; CREATE TABLE \"{name}\".event (x int); CREATE TABLE \"{name}\".orders (x int)"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(make)).execute(&mut admin).await.unwrap();
    let opened = (0..5).map(|_| {
        let config = corner.config();
        tokio::spawn(async move { config.open().await })
    });
    for store in opened.collect::<Vec<_>>() {
        store.await.unwrap().unwrap().close().await;
    }
    sqlx::raw_sql(corner.sql("UPDATE @meta SET value = '99'")).execute(&mut admin).await.unwrap();
    assert_eq!(corner.config().open().await.unwrap_err().kind(), StoreErrorKind::NewerSchema);
    let kept: String = sqlx::query_scalar(corner.sql("SELECT value FROM @meta")).fetch_one(&mut admin).await.unwrap();
    assert_eq!(kept, "99");
}

/// Every session ended by an administrator: errors are of the connection, and the next calls work again.
#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_are_replaced() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    for n in 0..8 {
        spis.append("k", Expected::Any, [event([n])]).await.unwrap();
    }
    let mut admin = corner.stranger().await;
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                WHERE application_name LIKE 'evento%' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()";
    sqlx::query(kill).bind(corner.schema.name()).execute(&mut admin).await.unwrap();
    let mut failures = 0;
    loop {
        match spis.append("k", Expected::Any, [event([9])]).await {
            Ok(_) => break,
            Err(evento_runtime::AppendError::Store(error)) => {
                assert!(error.kind().is_transient(), "{error:?}");
                failures += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
        assert!(failures < 5);
    }
    spis.events.head().await.ok();
    assert!(spis.events.head().await.unwrap().is_some());
    store.close().await;
}

/// By SQLSTATE.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_handlers_are_classified() {
    let Some(corner) = Corner::new() else { return };
    let mut one = corner.stranger().await;
    let mut two = corner.stranger().await;
    corner.open().await.0.close().await;
    sqlx::raw_sql(corner.sql("INSERT INTO @meta VALUES ('a', '1'), ('b', '1')")).execute(&mut one).await.unwrap();
    sqlx::raw_sql("BEGIN").execute(&mut one).await.unwrap();
    sqlx::raw_sql(corner.sql("UPDATE @meta SET value = '2' WHERE name = 'a'")).execute(&mut one).await.unwrap();
    sqlx::raw_sql("SET lock_timeout = 50").execute(&mut two).await.unwrap();
    let update = || corner.sql("UPDATE @meta SET value = '3' WHERE name = 'a'");
    let waited = sqlx::raw_sql(update()).execute(&mut two).await.unwrap_err();
    assert_eq!(sql::classify(&waited), Some(ErrorClass::Transient));
    sqlx::raw_sql("SET lock_timeout = 0; SET default_transaction_read_only = on").execute(&mut two).await.unwrap();
    let read_only = sqlx::raw_sql(update()).execute(&mut two).await.unwrap_err();
    assert_eq!(sql::classify(&read_only), Some(ErrorClass::Transient));
    let twice = sqlx::raw_sql(corner.sql("INSERT INTO @meta VALUES ('a', '1')")).execute(&mut one).await.unwrap_err();
    assert_eq!(sql::classify(&twice), None);
    let pid: i32 = {
        sqlx::raw_sql("ROLLBACK").execute(&mut one).await.unwrap();
        sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut one).await.unwrap()
    };
    let mut admin = corner.stranger().await;
    sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(&mut admin).await.unwrap();
    let ended = sqlx::query("SELECT 1").execute(&mut one).await.unwrap_err();
    assert_eq!(sql::classify(&ended), Some(ErrorClass::Transient), "{ended:?}");
    two.close().await.unwrap();
}
