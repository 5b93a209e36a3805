//! How consumers and stores begin.

use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::store::{Sqlite, StoreConfig};

use super::parts::*;
use crate::scripted::{Journal, Plain, over, settled, stop, tasks};

#[tokio::test]
async fn f18_a_pause_before_the_first_run_replays_no_history() {
    for component in ["Told", "Rung", "Tally"] {
        for place in places().await {
            let old = (0..5).flat_map(|n| [counted("old", n), made([n]).remove(0)]);
            put(&place.store, old).await;
            place.store.stores.state.set_enabled(&id(component), false).await.unwrap();
            let journal = Journal::default();
            let builder = || {
                let builder = over(ConsumerEngineConfig::of(&place.store));
                match component {
                    "Told" => builder.component(Told(noting(&journal))),
                    "Rung" => builder.component(Rung(noting(&journal))).executor(tasks(1)),
                    _ => builder.component(Tally(noting(&journal))),
                }
            };
            // It stands by for a while, over a restart, and what comes then is for it.
            let running = begun(builder()).await;
            put(&place.store, [counted("a", 10), made([10]).remove(0)]).await;
            stop(running).await;
            let running = begun(builder()).await;
            let last = put(&place.store, [counted("a", 11), made([11]).remove(0)]).await;
            assert_eq!(journal.len(), 0);
            running.consumers().remove(0).resume().await.unwrap();
            settled(&running, &last).await;
            stop(running).await;
            assert_eq!(journal.all(), [10, 11], "{} {component}", place.name);
            place.close().await;
        }
    }
}

#[tokio::test]
async fn f34_a_database_with_tables_of_others_gets_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut stranger = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let tables =
        "CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE event (id INTEGER); INSERT INTO orders VALUES (7)";
    sqlx::raw_sql(tables).execute(&mut stranger).await.unwrap();
    works(Box::new(Sqlite::file(&path))).await;
    let kept: i64 = sqlx::query_scalar("SELECT id FROM orders").fetch_one(&mut stranger).await.unwrap();
    assert_eq!(kept, 7);
    #[cfg(feature = "postgres")]
    match evento_tests::servers::reach("EVENTO_TEST_POSTGRES_URL") {
        Ok(url) => {
            use sqlx::Connection as _;
            let schema = evento_tests::servers::Schema::new();
            let mut stranger = sqlx::PgConnection::connect(&url).await.unwrap();
            let name = schema.name();
            let tables = format!(
                "CREATE SCHEMA \"{name}\"; CREATE TABLE \"{name}\".orders (id bigint); \
                 CREATE TABLE \"{name}\".event (id bigint); INSERT INTO \"{name}\".orders VALUES (7)"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(tables)).execute(&mut stranger).await.unwrap();
            works(Box::new(evento_runtime::store::Postgres::url(&url).schema(name))).await;
            let kept = format!("SELECT id FROM \"{name}\".orders");
            let kept: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(kept)).fetch_one(&mut stranger).await.unwrap();
            assert_eq!(kept, 7);
        }
        Err(reason) => evento_tests::skip(&reason),
    }
}

/// Opened, used, closed and opened again.
async fn works(config: Box<dyn StoreConfig>) {
    let store = config.open().await.unwrap();
    let journal = Journal::default();
    let running = begun(over(ConsumerEngineConfig::of(&store)).component(Plain(noting(&journal)))).await;
    let last = put(&store, made(0..3)).await;
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(watermark(&store, "Plain").await, Some(last));
    close(store).await;
    assert_eq!(journal.all(), [0, 1, 2]);
}
