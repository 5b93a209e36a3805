//! Events that share a transaction of a server: few transactions, and neither a failure nor a deadlock costs or repeats
//! an effect of another event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, Store, StoreConfig};
use evento_runtime::{Bundle, BundleBuilder, Expected, Running};
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;

#[derive(Event, Serialize, Deserialize)]
struct Made {
    n: i64,
}

/// Refused by their handlers: the first, some next to each other, the last.
const POISON: [i64; 6] = [0, 50, 51, 57, 58, 999];

/// The table of effects, and how often a handler was called.
#[derive(Clone)]
struct Effects {
    table: String,
    calls: Arc<AtomicU64>,
}

impl Effects {
    fn of(table: &str) -> Self {
        Self { table: table.to_owned(), calls: Arc::default() }
    }

    fn sql(&self, template: &str) -> AssertSqlSafe<String> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        AssertSqlSafe(template.replace('@', &self.table))
    }
}

async fn append(store: &Store, numbers: std::ops::Range<i64>, keys: i64) -> Position {
    let event = |n| {
        let event = NewEvent::from(Made { n });
        if keys == 0 { event } else { event.key(format!("k{}", n % keys)) }
    };
    store.append(None::<String>, Expected::Any, numbers.map(event)).await.unwrap().last
}

async fn begun(builder: BundleBuilder, executor: Option<Arc<dyn ConsumerExecutor>>) -> Running {
    let builder = match executor {
        Some(executor) => builder.executor(executor),
        None => builder,
    };
    builder.build().unwrap().start().await.unwrap()
}

async fn settled(running: &Running, last: &Position) {
    evento_tests::eventually("everything is settled", || {
        running.status().iter().all(|consumer| consumer.watermark.as_ref() >= Some(last))
    })
    .await;
}

/// `$insert` stores `n` and the transaction it is in, `$hit` touches a row; both of the table `@`.
macro_rules! groups {
    ($database:ident, $insert:literal, $hit:expr) => {
        use super::*;
        use evento_runtime::store::$database;

        struct InOrder(Effects);

        #[projector(version = 1)]
        impl InOrder {
            #[event_handler(retry = 0)]
            async fn made(&self, event: Made, tx: &mut Tx<$database>) -> Result<(), BoxError> {
                sqlx::query(self.0.sql($insert)).bind(event.n).execute(&mut **tx).await?;
                if POISON.contains(&event.n) { Err("refused".into()) } else { Ok(()) }
            }
        }

        struct OnLanes(Effects);

        #[projector(version = 1)]
        impl OnLanes {
            #[event_handler(executor = "pool", retry = 0)]
            async fn made(&self, event: Made, tx: &mut Tx<$database>) -> Result<(), BoxError> {
                sqlx::query(self.0.sql($insert)).bind(event.n).execute(&mut **tx).await?;
                if POISON.contains(&event.n) { Err("refused".into()) } else { Ok(()) }
            }
        }

        struct Batched(Effects);

        #[projector(version = 1)]
        impl Batched {
            #[event_handler(executor = "pool", batch = 100, retry = 0)]
            async fn made(&self, events: Vec<Made>, tx: &mut Tx<$database>) -> Result<(), BoxError> {
                for event in &events {
                    sqlx::query(self.0.sql($insert)).bind(event.n).execute(&mut **tx).await?;
                }
                if events.iter().any(|event| POISON.contains(&event.n)) { Err("refused".into()) } else { Ok(()) }
            }
        }

        /// Eight events go up a row of rows, the next eight down.
        struct Crossing(Effects);

        #[projector(version = 1, start = "head")]
        impl Crossing {
            #[event_handler(executor = "pool", retry = 0)]
            async fn made(&self, event: Made, tx: &mut Tx<$database>) -> Result<(), BoxError> {
                let row = if event.n % 16 < 8 { event.n % 8 } else { 7 - event.n % 8 };
                sqlx::raw_sql(self.0.sql(&$hit.replace("ROW", &row.to_string()))).execute(&mut **tx).await?;
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(())
            }
        }

        pub(super) async fn few_transactions(store: Store, config: impl StoreConfig + Clone, table: &str) {
            let last = append(&store, 0..1_000, 7).await;
            for lanes in ["none", "groups", "batches"] {
                let effects = Effects::of(table);
                let builder = Bundle::builder(lanes).store(config.clone());
                let executor = ConsumerExecutors::partitioned("pool", 3);
                let (builder, executor) = match lanes {
                    "none" => (builder.component(InOrder(effects)), None),
                    "groups" => (builder.component(OnLanes(effects)), Some(executor)),
                    _ => (builder.component(Batched(effects)), Some(executor)),
                };
                let began = Instant::now();
                let running = begun(builder, executor).await;
                settled(&running, &last).await;
                // What is over its time ends a group as well.
                let slow = began.elapsed().as_millis() / if lanes == "none" { 50 } else { 20 / 3 };
                let mut open = store
                    .stores
                    .transactions
                    .as_ref()
                    .unwrap()
                    .begin()
                    .await
                    .unwrap()
                    .into_any()
                    .downcast::<<$database as evento_runtime::store::Database>::Transaction>()
                    .unwrap();
                let connection = <$database as evento_runtime::store::Database>::connection_mut(&mut open);
                let query = |text: &str| AssertSqlSafe(text.replace('@', table));
                let in_order = query("SELECT n FROM @ ORDER BY id");
                let entries: Vec<i64> = sqlx::query_scalar(in_order).fetch_all(&mut *connection).await.unwrap();
                // A lane's commits may be seen in any order, but within a key.
                for key in 0..7 {
                    assert!(entries.iter().filter(|n| **n % 7 == key).is_sorted(), "lanes: {lanes}");
                }
                let mut sorted = entries.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..1_000).filter(|n| !POISON.contains(n)).collect::<Vec<_>>(), "lanes: {lanes}");
                let distinct = query("SELECT count(DISTINCT tx) FROM @");
                let transactions: i64 = sqlx::query_scalar(distinct).fetch_one(&mut *connection).await.unwrap();
                let most = 80 + i64::try_from(slow).unwrap();
                assert!(transactions <= most, "{transactions} transactions instead of {most}, lanes: {lanes}");
                sqlx::query(query("DELETE FROM @")).execute(&mut *connection).await.unwrap();
                let open: Box<dyn evento_runtime::store::OpenTransaction> = open;
                open.commit().await.unwrap();
                let dead = running.consumers()[0].dead_letters(LetterFilter::all(), None, 100).await.unwrap();
                assert!(dead.iter().all(|dead| dead.letter.attempts == 1));
                assert_eq!(dead.len(), POISON.len(), "lanes: {lanes}");
                let consumer = running.status()[0].consumer.clone();
                running.stop(Duration::from_secs(10)).await.unwrap();
                let completed = store.stores.transactions.as_ref().unwrap().completed(&consumer).await.unwrap();
                assert!(completed.is_empty(), "a checkpoint covers them");
            }
        }

        pub(super) async fn deadlocks(store: Store, config: impl StoreConfig + Clone, table: &str) {
            const EVENTS: i64 = 160;
            let query = |text: &str| AssertSqlSafe(text.replace('@', table));
            let mut open = store
                .stores
                .transactions
                .as_ref()
                .unwrap()
                .begin()
                .await
                .unwrap()
                .into_any()
                .downcast::<<$database as evento_runtime::store::Database>::Transaction>()
                .unwrap();
            let connection = <$database as evento_runtime::store::Database>::connection_mut(&mut open);
            for row in 0..8_i64 {
                sqlx::query(query(&format!("INSERT INTO @ (n, tx) VALUES ({row}, 0)")))
                    .execute(&mut *connection)
                    .await
                    .unwrap();
            }
            let open: Box<dyn evento_runtime::store::OpenTransaction> = open;
            open.commit().await.unwrap();
            let effects = Effects::of(table);
            let builder = Bundle::builder("crossing").store(config).component(Crossing(effects.clone()));
            let running = begun(builder, Some(ConsumerExecutors::tasks("pool", 2))).await;
            // Both lanes have to be in the middle at the same moment, which a busy machine may miss.
            let mut rounds = 0;
            while effects.calls.load(Ordering::SeqCst) <= (rounds * EVENTS).unsigned_abs() {
                assert!(rounds < 50, "nothing got in the way of anything");
                let last = append(&store, 0..EVENTS, 0).await;
                settled(&running, &last).await;
                rounds += 1;
            }
            let mut open = store
                .stores
                .transactions
                .as_ref()
                .unwrap()
                .begin()
                .await
                .unwrap()
                .into_any()
                .downcast::<<$database as evento_runtime::store::Database>::Transaction>()
                .unwrap();
            let connection = <$database as evento_runtime::store::Database>::connection_mut(&mut open);
            let hits: Vec<i64> =
                sqlx::query_scalar(query("SELECT tx FROM @")).fetch_all(&mut *connection).await.unwrap();
            assert_eq!(hits, [rounds * EVENTS / 8; 8]);
            drop(open);
            assert_eq!(running.status()[0].counters.failed, 0, "a deadlock is nobody's failure");
            running.stop(Duration::from_secs(10)).await.unwrap();
        }
    };
}

#[cfg(feature = "postgres")]
mod postgres {
    groups!(
        Postgres,
        "INSERT INTO @ (n, tx) VALUES ($1, txid_current())",
        "SET LOCAL deadlock_timeout = '20ms'; UPDATE @ SET tx = tx + 1 WHERE n = ROW"
    );

    #[tokio::test(flavor = "multi_thread")]
    async fn on_postgres_events_share_transactions_and_a_deadlock_is_nobodys_failure() {
        let Some(corner) = crate::postgres::Corner::new() else { return };
        let (opened, store) = corner.open().await;
        let mut admin = corner.stranger().await;
        for table in ["effects", "rows"] {
            let table = format!("\"{}\".{table}", corner.schema.name());
            let create =
                format!("CREATE TABLE {table} (id BIGSERIAL PRIMARY KEY, n BIGINT NOT NULL, tx BIGINT NOT NULL)");
            sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut admin).await.unwrap();
        }
        few_transactions(store.clone(), opened.clone(), &format!("\"{}\".effects", corner.schema.name())).await;
        deadlocks(store, opened.clone(), &format!("\"{}\".rows", corner.schema.name())).await;
        opened.close().await;
    }
}

#[cfg(feature = "mysql")]
mod mariadb {
    groups!(
        MySql,
        "INSERT INTO @ (n, tx) SELECT ?, connection_id() * 1000000 + variable_value \
         FROM information_schema.session_status WHERE variable_name = 'COM_COMMIT'",
        "UPDATE @ SET tx = tx + 1 WHERE n = ROW"
    );

    #[tokio::test(flavor = "multi_thread")]
    async fn on_mariadb_events_share_transactions_and_a_deadlock_is_nobodys_failure() {
        use evento_tests::servers::{Prefix, reach};
        use sqlx::Connection as _;
        let url = match reach("EVENTO_TEST_MYSQL_URL") {
            Ok(url) => url,
            Err(reason) => return evento_tests::skip(&reason),
        };
        let prefix = Prefix::new();
        let opened = MySql::url(&url).prefix(prefix.name()).open().await.unwrap();
        let store = StoreConfig::open(Box::new(opened.clone())).await.unwrap();
        let table = format!("{}evento_effects", prefix.name());
        let create = format!(
            "CREATE TABLE {table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, n BIGINT NOT NULL, tx BIGINT NOT NULL, KEY (n))"
        );
        let mut admin = sqlx::MySqlConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut admin).await.unwrap();
        few_transactions(store.clone(), opened.clone(), &table).await;
        deadlocks(store, opened.clone(), &table).await;
        opened.close().await;
    }
}
