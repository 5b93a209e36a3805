//! Stores on servers: each case in a schema of its own, or with a prefix of its own, on the server that the environment
//! names. `tests/services` starts some.

use super::Backend;

pub(crate) fn backends() -> [Backend; 2] {
    [
        #[cfg(feature = "postgres")]
        postgres::backend("postgres", "EVENTO_TEST_POSTGRES_URL", || Box::pin(postgres::direct())),
        #[cfg(not(feature = "postgres"))]
        without("postgres"),
        #[cfg(feature = "postgres")]
        postgres::backend("pgbouncer", "EVENTO_TEST_PGBOUNCER_URL", || Box::pin(postgres::pooled())),
        #[cfg(not(feature = "postgres"))]
        without("pgbouncer"),
    ]
}

#[cfg(not(feature = "postgres"))]
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
