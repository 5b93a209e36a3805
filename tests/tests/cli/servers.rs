//! The same on servers, where there are some.

use crate::operated::Healed;
use evento_runtime::store::StoreConfig;
use evento_tests::eventually;

use crate::shop::{Cli, append, placed, settled, started, stop};

/// `elsewhere`: the same server, where there are no tables.
async fn is_looked_at_and_steered(store: impl StoreConfig, cli: Cli, elsewhere: Cli) {
    let missing = elsewhere.call("status").await.ended(3);
    assert!(missing.err.contains("no tables of evento"), "{missing:?}");
    let running = started(store, &Healed::default()).await;
    let last = append(&running, vec![placed("o-1", true), placed("o-2", false)]).await;
    settled(&running, &last).await;
    let status = cli.call("status").await.ended(0).out;
    let line = status.lines().find(|line| line.starts_with("View/1")).unwrap();
    assert!(line.contains("shop-1") && status.starts_with("bundle orders, log up to 2\n"), "{status}");
    assert!(cli.call("dead list").await.ended(0).out.contains("cannot place o-1"));
    cli.call("dead redrive View --all").await.ended(1);
    cli.call("pause Count").await.ended(0);
    eventually("it stands", || {
        running.status().iter().any(|status| status.reason.as_ref().is_some_and(|reason| reason.name() == "paused"))
    })
    .await;
    cli.call("resume Count").await.ended(0);
    cli.call("seek Count after:1 --keep").await.ended(0);
    assert_eq!(cli.document("audit").await["audit"].as_array().unwrap().len(), 4);
    elsewhere.call("status").await.ended(3);
    stop(running).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn on_postgres() {
    use evento_tests::servers::{Schema, reach};
    let url = match reach("EVENTO_TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let (schema, other) = (Schema::new(), Schema::new());
    let store = evento_runtime::store::Postgres::url(&url).schema(schema.name());
    let at = |schema: &Schema| Cli::at(url.clone()).with("--schema").with(schema.name());
    is_looked_at_and_steered(store, at(&schema), at(&other)).await;
    let mut connection = <sqlx::PgConnection as sqlx::Connection>::connect(&url).await.unwrap();
    let made = sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = $1").bind(other.name().to_owned());
    assert!(made.fetch_optional(&mut connection).await.unwrap().is_none(), "a look has made a schema");
}

#[cfg(feature = "mysql")]
#[tokio::test]
async fn on_mysql() {
    use evento_tests::servers::{Prefix, reach};
    let url = match reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let (prefix, other) = (Prefix::new(), Prefix::new());
    let store = evento_runtime::store::MySql::url(&url).prefix(prefix.name());
    let at = |prefix: &Prefix| Cli::at(url.clone()).with("--prefix").with(prefix.name());
    is_looked_at_and_steered(store, at(&prefix), at(&other)).await;
}
