//! Stores on servers: each case in a schema of its own, or with a prefix of its own, on the server that the environment
//! names. `tests/services` starts some.

use super::Backend;

pub(crate) fn backends() -> [Backend; 3] {
    [
        #[cfg(feature = "postgres")]
        postgres::backend("postgres", "EVENTO_TEST_POSTGRES_URL", || Box::pin(postgres::direct())),
        #[cfg(not(feature = "postgres"))]
        without("postgres"),
        #[cfg(feature = "postgres")]
        postgres::backend("pgbouncer", "EVENTO_TEST_PGBOUNCER_URL", || Box::pin(postgres::pooled())),
        #[cfg(not(feature = "postgres"))]
        without("pgbouncer"),
        #[cfg(feature = "mysql")]
        mysql::backend(),
        #[cfg(not(feature = "mysql"))]
        without("mariadb"),
    ]
}

#[cfg(not(all(feature = "postgres", feature = "mysql")))]
fn without(name: &'static str) -> Backend {
    Backend { name, transactions: true, open: Err("built without its feature".to_owned()) }
}

#[cfg(feature = "postgres")]
mod postgres {
    use evento_runtime::conformance::Fixture;
    use evento_runtime::store::{Pooler, Postgres, Store, StoreConfig};
    use evento_tests::servers::{Schema, reach};
    use futures_util::future::BoxFuture;
    use sqlx::{Connection as _, PgConnection};

    use crate::Backend;

    pub(super) fn backend(name: &'static str, variable: &str, open: fn() -> BoxFuture<'static, Fixture>) -> Backend {
        Backend { name, transactions: true, open: reach(variable).map(|_| open) }
    }

    pub(super) async fn direct() -> Fixture {
        let schema = Schema::new();
        let config = Postgres::url(&reach("EVENTO_TEST_POSTGRES_URL").unwrap()).schema(schema.name());
        let stores = (opened(config.clone()).await, opened(config).await);
        let table = effects(&schema).await;
        Fixture::new(stores.0, stores.1, schema).with_effects(table, statement!(Postgres))
    }

    pub(super) async fn pooled() -> Fixture {
        let schema = Schema::new();
        let config = Postgres::url(&reach("EVENTO_TEST_PGBOUNCER_URL").unwrap()).schema(schema.name());
        let config = config.pooler(Pooler::Transaction);
        let stores = (opened(config.clone()).await, opened(config).await);
        let table = effects(&schema).await;
        Fixture::new(stores.0, stores.1, schema).with_effects(table, statement!(Postgres))
    }

    async fn effects(schema: &Schema) -> String {
        let mut connection = PgConnection::connect(&reach("EVENTO_TEST_POSTGRES_URL").unwrap()).await.unwrap();
        let table = format!("\"{}\".effects", schema.name());
        let create = sqlx::AssertSqlSafe(format!("CREATE TABLE {table} (n BIGINT PRIMARY KEY)"));
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        table
    }

    async fn opened(config: Postgres) -> Store {
        StoreConfig::open(Box::new(config)).await.unwrap()
    }
}

#[cfg(feature = "mysql")]
mod mysql {
    use evento_runtime::conformance::Fixture;
    use evento_runtime::store::{MySql, Store, StoreConfig};
    use evento_tests::servers::{Prefix, reach};
    use futures_util::future::BoxFuture;
    use sqlx::{Connection as _, MySqlConnection};

    use crate::Backend;

    const URL: &str = "EVENTO_TEST_MYSQL_URL";

    pub(super) fn backend() -> Backend {
        let open: fn() -> BoxFuture<'static, Fixture> = || Box::pin(fixture());
        Backend { name: "mariadb", transactions: true, open: reach(URL).map(|_| open) }
    }

    async fn fixture() -> Fixture {
        let prefix = Prefix::new();
        let config = MySql::url(&reach(URL).unwrap()).prefix(prefix.name());
        let stores = (opened(config.clone()).await, opened(config).await);
        let table = format!("{}evento_effects", prefix.name());
        let mut connection = MySqlConnection::connect(&reach(URL).unwrap()).await.unwrap();
        let create = sqlx::AssertSqlSafe(format!("CREATE TABLE {table} (n BIGINT PRIMARY KEY)"));
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        Fixture::new(stores.0, stores.1, prefix).with_effects(table, statement!(MySql))
    }

    async fn opened(config: MySql) -> Store {
        StoreConfig::open(Box::new(config)).await.unwrap()
    }
}
