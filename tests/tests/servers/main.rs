//! What only stores on servers have: holes, many processes, takeovers, errors of a network. Each test on the servers
//! that the environment names, skipped where there are none.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, their helpers included"
)]

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod blocked;
#[cfg(feature = "postgres")]
mod cancel;
#[cfg(feature = "postgres")]
mod errors;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod figures;
#[cfg(feature = "postgres")]
mod gaps;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod groups;
#[cfg(feature = "postgres")]
mod held;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod idle;
#[cfg(feature = "postgres")]
mod joined;
#[cfg(feature = "postgres")]
mod letters;
#[cfg(feature = "mysql")]
mod mariadb;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod nested;
#[cfg(feature = "postgres")]
mod processes;
#[cfg(feature = "postgres")]
mod read_only;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod room;
#[cfg(feature = "postgres")]
mod takeover;
#[cfg(feature = "postgres")]
mod versions;

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod helpers {
    use evento_runtime::NewEvent;
    use evento_runtime::identity::{ConsumerId, ContextPattern};

    pub(crate) fn event(payload: impl Into<Vec<u8>>) -> NewEvent {
        NewEvent::raw("E", "application/octet-stream", payload.into())
    }

    pub(crate) fn consumer(component: &str) -> ConsumerId {
        ConsumerId { bundle: "b".into(), component: component.into(), version: 1, context: ContextPattern::All }
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use evento_runtime::store::{Postgres, PostgresStore, Store, StoreConfig};
    use evento_tests::servers::{Schema, reach};

    /// A schema, how to open stores on it, and the URL.
    pub(crate) struct Corner {
        pub(crate) schema: Schema,
        pub(crate) url: String,
    }

    impl Corner {
        /// `None`, and said so, where there is no server.
        pub(crate) fn new() -> Option<Self> {
            match reach("EVENTO_TEST_POSTGRES_URL") {
                Ok(url) => Some(Self { schema: Schema::new(), url }),
                Err(reason) => {
                    evento_tests::skip(&reason);
                    None
                }
            }
        }

        pub(crate) fn config(&self) -> Postgres {
            Postgres::url(&self.url).schema(self.schema.name())
        }

        pub(crate) async fn open(&self) -> (PostgresStore, Store) {
            let store = self.config().open().await.unwrap();
            let spis = StoreConfig::open(Box::new(store.clone())).await.unwrap();
            (store, spis)
        }

        pub(crate) async fn stranger(&self) -> sqlx::PgConnection {
            use sqlx::Connection as _;
            sqlx::PgConnection::connect(&self.url).await.unwrap()
        }

        /// `@` stands for the schema.
        pub(crate) fn sql(&self, template: &str) -> sqlx::AssertSqlSafe<String> {
            sqlx::AssertSqlSafe(template.replace('@', &format!("\"{}\".evento_", self.schema.name())))
        }
    }
}
