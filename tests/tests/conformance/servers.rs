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
    Backend { name, open: Err("built without its feature".to_owned()) }
}

#[cfg(feature = "postgres")]
mod postgres {
    use evento_runtime::conformance::Fixture;
    use evento_runtime::store::{Pooler, Postgres, Store, StoreConfig};
    use evento_tests::servers::{Schema, reach};
    use futures_util::future::BoxFuture;

    use crate::Backend;

    pub(super) fn backend(name: &'static str, variable: &str, open: fn() -> BoxFuture<'static, Fixture>) -> Backend {
        Backend { name, open: reach(variable).map(|_| open) }
    }

    pub(super) async fn direct() -> Fixture {
        let schema = Schema::new();
        let config = Postgres::url(&reach("EVENTO_TEST_POSTGRES_URL").unwrap()).schema(schema.name());
        Fixture::new(opened(config.clone()).await, opened(config).await, schema)
    }

    pub(super) async fn pooled() -> Fixture {
        let schema = Schema::new();
        let config = Postgres::url(&reach("EVENTO_TEST_PGBOUNCER_URL").unwrap()).schema(schema.name());
        let config = config.pooler(Pooler::Transaction);
        Fixture::new(opened(config.clone()).await, opened(config).await, schema)
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

    use crate::Backend;

    const URL: &str = "EVENTO_TEST_MYSQL_URL";

    pub(super) fn backend() -> Backend {
        let open: fn() -> BoxFuture<'static, Fixture> = || Box::pin(fixture());
        Backend { name: "mariadb", open: reach(URL).map(|_| open) }
    }

    async fn fixture() -> Fixture {
        let prefix = Prefix::new();
        let config = MySql::url(&reach(URL).unwrap()).prefix(prefix.name());
        Fixture::new(opened(config.clone()).await, opened(config).await, prefix)
    }

    async fn opened(config: MySql) -> Store {
        StoreConfig::open(Box::new(config)).await.unwrap()
    }
}
