//! A handler that begins a transaction of its own within the framework's, by the means of sqlx: a savepoint.

#![allow(clippy::mem_forget, reason = "what a handler may do")]

use evento_runtime::StoreErrorKind;
use evento_runtime::event::Position;
use evento_runtime::identity::{Epoch, OwnerId};
use evento_runtime::store::{Database, Lease, OpenTransaction, Settlement, Store};
use sqlx::{AssertSqlSafe, Connection as _};

use crate::helpers::consumer;

fn lease() -> Lease {
    Lease { consumer: consumer("A"), owner: OwnerId::generate(), epoch: Epoch(1) }
}

fn handled(n: u64) -> Settlement {
    let mut settlement = Settlement::default();
    settlement.completed.push(Position::from_u64(n));
    settlement
}

async fn completed(store: &Store) -> Vec<Position> {
    store.stores.transactions.as_ref().unwrap().completed(&consumer("A")).await.unwrap()
}

/// With a table `n` of one number in the database.
macro_rules! nested {
    ($database:ty, $store:expr, $table:expr) => {
        let (store, table): (&Store, String) = ($store, $table);
        let transactions = store.stores.transactions.as_ref().unwrap();
        let open = async || {
            let open = transactions.begin().await.unwrap();
            *open.into_any().downcast::<<$database as Database>::Transaction>().unwrap()
        };
        let insert = |n: u64| AssertSqlSafe(format!("INSERT INTO {table} VALUES ({n})"));
        // One given up, one committed, one dropped.
        let mut first = open().await;
        let connection = <$database>::connection_mut(&mut first);
        let mut inner = connection.begin().await.unwrap();
        sqlx::raw_sql(insert(1)).execute(&mut *inner).await.unwrap();
        inner.rollback().await.unwrap();
        let mut inner = connection.begin().await.unwrap();
        sqlx::raw_sql(insert(2)).execute(&mut *inner).await.unwrap();
        inner.commit().await.unwrap();
        let mut inner = connection.begin().await.unwrap();
        sqlx::raw_sql(insert(3)).execute(&mut *inner).await.unwrap();
        drop(inner);
        first.settle(&lease(), handled(1)).await.unwrap();
        Box::new(first).commit().await.unwrap();
        assert_eq!(completed(store).await, [Position::from_u64(1)]);
        // One that nobody ends takes everything along, and it is said.
        let mut second = open().await;
        let mut inner = <$database>::connection_mut(&mut second).begin().await.unwrap();
        sqlx::raw_sql(insert(4)).execute(&mut *inner).await.unwrap();
        std::mem::forget(inner);
        let refused = second.settle(&lease(), handled(2)).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Aborted);
        Box::new(second).roll_back().await;
        assert_eq!(completed(store).await, [Position::from_u64(1)]);
        let mut last = open().await;
        let all = AssertSqlSafe(format!("SELECT n FROM {table}"));
        let all: Vec<i64> = sqlx::query_scalar(all).fetch_all(<$database>::connection_mut(&mut last)).await.unwrap();
        assert_eq!(all, [2]);
        Box::new(last).roll_back().await;
    };
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn a_begin_within_is_a_savepoint_on_postgres() {
    use evento_runtime::store::Postgres;
    let Some(corner) = crate::postgres::Corner::new() else { return };
    let (opened, store) = corner.open().await;
    let table = format!("\"{}\".n", corner.schema.name());
    let create = AssertSqlSafe(format!("CREATE TABLE {table} (n BIGINT)"));
    sqlx::raw_sql(create).execute(&mut corner.stranger().await).await.unwrap();
    nested!(Postgres, &store, table);
    opened.close().await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn a_begin_within_is_a_savepoint_on_mariadb() {
    use evento_runtime::store::{MySql, StoreConfig};
    use evento_tests::servers::{Prefix, reach};
    let url = match reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let prefix = Prefix::new();
    let opened = MySql::url(&url).prefix(prefix.name()).open().await.unwrap();
    let store = StoreConfig::open(Box::new(opened.clone())).await.unwrap();
    let table = format!("{}evento_effects", prefix.name());
    let create = AssertSqlSafe(format!("CREATE TABLE {table} (n BIGINT)"));
    let mut admin = sqlx::MySqlConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(create).execute(&mut admin).await.unwrap();
    nested!(MySql, &store, table);
    opened.close().await;
}
