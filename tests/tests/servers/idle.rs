//! A handler that lets its transaction idle for longer than the server stands: its own failure, not the store's.

use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, StoreConfig};
use evento_runtime::{Bundle, BundleBuilder, Expected};

/// More than the servers allow.
const IDLE: Duration = Duration::from_millis(11_500);

macro_rules! sleeper {
    ($name:ident, $database:ty) => {
        #[derive(Default)]
        struct $name;

        #[projector(version = 1)]
        impl $name {
            #[event_handler(retry = 0)]
            async fn any(&self, _event: RawEvent, tx: &mut Tx<$database>) -> Result<(), BoxError> {
                sqlx::query("SELECT 1").execute(&mut **tx).await?;
                tokio::time::sleep(IDLE).await;
                Ok(())
            }
        }
    };
}
#[cfg(feature = "postgres")]
sleeper!(OnPostgres, evento_runtime::store::Postgres);
#[cfg(feature = "mysql")]
sleeper!(OnMariaDb, evento_runtime::store::MySql);

async fn is_given_up(config: impl StoreConfig, with: impl FnOnce(BundleBuilder) -> BundleBuilder) {
    let running = with(Bundle::builder("b")).store(config).build().unwrap().start().await.unwrap();
    let last = running.store().append(None::<String>, Expected::Any, [NewEvent::raw("E", "text/plain", "x")]).await;
    let consumer = running.consumers().remove(0);
    consumer.wait_for(&last.unwrap().last, Duration::from_secs(60)).await.unwrap();
    let dead = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    assert!(dead.len() == 1 && dead[0].letter.error.contains("10 s without a statement"), "{dead:?}");
    running.stop(Duration::from_secs(10)).await.unwrap();
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_is_the_handlers_failure_on_postgres() {
    let Some(corner) = crate::postgres::Corner::new() else { return };
    is_given_up(corner.config(), |builder| builder.register::<OnPostgres>()).await;
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_is_the_handlers_failure_on_mariadb() {
    match evento_tests::servers::reach("EVENTO_TEST_MYSQL_URL") {
        Ok(url) => {
            let prefix = evento_tests::servers::Prefix::new();
            let config = evento_runtime::store::MySql::url(&url).prefix(prefix.name());
            is_given_up(config, |builder| builder.register::<OnMariaDb>()).await;
        }
        Err(reason) => evento_tests::skip(&reason),
    }
}
