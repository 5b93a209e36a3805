//! The stores, each with a log that both sides read.

use std::str::FromStr as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use evento_runtime::bundle::BundleBuilder;
use evento_runtime::component::Component;
use evento_runtime::prelude::*;
use evento_runtime::store::{Memory, MemoryStore, Sqlite, SqliteStore, Store, StoreConfig, Synchronous};
use evento_runtime::{Bundle, Expected, Running};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;

use crate::events::{BYTES, KEYS, drafted};

/// A store that is open, and a second way to it.
pub(crate) enum Place {
    Memory(MemoryStore),
    Sqlite(SqlitePlace),
    #[cfg(feature = "postgres")]
    Postgres(postgres::PostgresPlace),
}

/// A file.
pub(crate) struct SqlitePlace {
    pub(crate) store: SqliteStore,
    /// For connections by hand: as the store's own.
    pub(crate) options: SqliteConnectOptions,
    pub(crate) name: &'static str,
    _folder: TempDir,
}

impl SqlitePlace {
    pub(crate) async fn open(synchronous: Synchronous) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("limits.db");
        let store = Sqlite::file(&file).synchronous(synchronous).open().await.unwrap();
        let (by_hand, name) = match synchronous {
            Synchronous::Full => (SqliteSynchronous::Full, "sqlite-full"),
            _ => (SqliteSynchronous::Normal, "sqlite-normal"),
        };
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(by_hand)
            .busy_timeout(Duration::from_secs(5))
            // More than the default of 50: reading runs further ahead of decoding, which is faster.
            .row_buffer_size(256)
            .disable_statement_logging();
        Self { store, options, name, _folder: folder }
    }

    pub(crate) async fn connect(&self) -> SqliteConnection {
        self.options.connect().await.unwrap()
    }

    /// Adds events with the numbers from `from` on, without the framework.
    async fn fill(&self, from: u64, to: u64) {
        let sql = format!(
            "WITH RECURSIVE number (n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM number WHERE n < {to}), \
             made AS (SELECT n, printf('account-%04d', n * 7 % {KEYS}) AS key FROM number), \
             begun AS (SELECT n, key, '{{\"n\":' || n || ',\"account\":\"' || key || '\",\"amount\":' || (n % 997) \
             || ',\"note\":\"' AS head FROM made) \
             INSERT INTO evento_event (id, name, context, key, version, slice, recorded_at, content_type, payload) \
             SELECT unhex(printf('%032x', n)), 'Measured', 'default', key, (n + {KEYS} - 1) / {KEYS}, n % 1024, n, \
             'application/json', CAST(head || substr('{}', 1, {BYTES} - 2 - length(head)) || '\"}}' AS BLOB) FROM begun",
            "x".repeat(BYTES)
        );
        let mut connection = self.connect().await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

/// A store to be opened: one at a time, since those that are open are not idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    SqliteNormal,
    SqliteFull,
    Postgres,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Memory, Self::SqliteNormal, Self::SqliteFull, Self::Postgres];
    pub(crate) const DATABASES: [Self; 3] = [Self::SqliteNormal, Self::SqliteFull, Self::Postgres];
    /// Where how often the disk is waited for makes no difference.
    pub(crate) const READ: [Self; 2] = [Self::SqliteNormal, Self::Postgres];

    /// `None`: it is not there.
    pub(crate) async fn open(self) -> Option<Place> {
        match self {
            Self::Memory => Some(Place::memory()),
            Self::SqliteNormal => Some(Place::Sqlite(SqlitePlace::open(Synchronous::Normal).await)),
            Self::SqliteFull => Some(Place::Sqlite(SqlitePlace::open(Synchronous::Full).await)),
            Self::Postgres => Place::postgres().await,
        }
    }
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(Memory::new().open())
    }

    #[cfg(feature = "postgres")]
    pub(crate) async fn postgres() -> Option<Self> {
        let url = std::env::var("EVENTO_TEST_POSTGRES_URL").ok()?;
        Some(Self::Postgres(postgres::PostgresPlace::open(&url).await))
    }

    #[cfg(not(feature = "postgres"))]
    pub(crate) async fn postgres() -> Option<Self> {
        None
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Sqlite(place) => place.name,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "postgres",
        }
    }

    /// Its store for a bundle, which leaves it open.
    pub(crate) fn config(&self, builder: BundleBuilder) -> BundleBuilder {
        match self {
            Self::Memory(store) => builder.store(store.clone()),
            Self::Sqlite(place) => builder.store(place.store.clone()),
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => builder.store(place.store.clone()),
        }
    }

    pub(crate) async fn store(&self) -> Store {
        let config: Box<dyn StoreConfig> = match self {
            Self::Memory(store) => Box::new(store.clone()),
            Self::Sqlite(place) => Box::new(place.store.clone()),
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => Box::new(place.store.clone()),
        };
        config.open().await.unwrap()
    }

    /// Adds events with the numbers from `from` on.
    pub(crate) async fn fill(&self, from: u64, to: u64) {
        match self {
            Self::Memory(_) => {
                let store = self.store().await;
                for first in (from..=to).step_by(1_000) {
                    let events = (first..=to.min(first + 999)).map(drafted);
                    store.append(None::<String>, Expected::Any, events).await.unwrap();
                }
            }
            Self::Sqlite(place) => place.fill(from, to).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => place.fill(from, to).await,
        }
    }

    /// Runs a statement that is no query.
    pub(crate) async fn run(&self, sql: &'static str) {
        match self {
            Self::Memory(_) => {}
            Self::Sqlite(place) => {
                let mut connection = place.store.writer().acquire().await.unwrap();
                sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap();
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => {
                let mut connection = place.connect().await;
                sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Memory(_) => {}
            Self::Sqlite(place) => place.store.close().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(place) => place.close().await,
        }
    }
}

/// A name no bundle has had: its consumers begin at the beginning.
pub(crate) fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("limits-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How long a new consumer takes from the start of its bundle until it has settled everything up to `last`. The
/// component says by `handled` when to begin to look.
pub(crate) async fn consume<C: Component>(
    place: &Place,
    component: C,
    build: impl FnOnce(BundleBuilder) -> BundleBuilder,
    handled: impl Future<Output = ()>,
    last: &Position,
) -> Duration {
    let builder = place.config(Bundle::builder(new_name()).component(component));
    let bundle = build(builder).build().unwrap();
    let began = Instant::now();
    let running = bundle.start().await.unwrap();
    handled.await;
    settled(&running, last).await;
    let took = began.elapsed();
    running.stop(Duration::from_secs(30)).await.unwrap();
    took
}

/// Waits until all consumers have settled everything up to `last`.
pub(crate) async fn settled(running: &Running, last: &Position) {
    for cell in running.supervisor().status_cells() {
        let mut status = cell.subscribe();
        let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(last)).await.unwrap();
    }
}

#[cfg(feature = "postgres")]
pub(crate) mod postgres {
    use evento_runtime::store::{Postgres, PostgresStore};
    use sqlx::PgConnection;
    use sqlx::postgres::PgConnectOptions;

    use super::*;

    /// A schema of its own, dropped at the end.
    pub(crate) struct PostgresPlace {
        pub(crate) store: PostgresStore,
        pub(crate) options: PgConnectOptions,
        pub(crate) schema: String,
    }

    impl PostgresPlace {
        pub(crate) async fn open(url: &str) -> Self {
            let schema = format!("limits_{}", &EventId::generate().to_string().replace('-', "")[..20]);
            // Names without a schema are those of this one, for handlers as well.
            let options = PgConnectOptions::from_str(url).unwrap().options([("search_path", &schema)]);
            let options = options.disable_statement_logging();
            let store = Postgres::options(options.clone()).schema(&schema).open().await.unwrap();
            Self { store, options, schema }
        }

        pub(crate) async fn connect(&self) -> PgConnection {
            self.options.connect().await.unwrap()
        }

        /// A store of its own over the same schema.
        pub(crate) async fn beside(&self) -> PostgresStore {
            Postgres::options(self.options.clone()).schema(&self.schema).open().await.unwrap()
        }

        pub(super) async fn fill(&self, from: u64, to: u64) {
            let sql = format!(
                "INSERT INTO evento_event (position, id, name, context, key, version, slice, recorded_at, \
                 content_type, payload) SELECT nextval('evento_position'), decode(lpad(to_hex(n), 32, '0'), 'hex'), \
                 'Measured', 'default', key, (n + {KEYS} - 1) / {KEYS}, n % 1024, n, 'application/json', \
                 convert_to(rpad(head, {BYTES} - 2, 'x') || '\"}}', 'UTF8') FROM (SELECT n, key, '{{\"n\":' || n \
                 || ',\"account\":\"' || key || '\",\"amount\":' || (n % 997) || ',\"note\":\"' AS head FROM \
                 (SELECT n, 'account-' || lpad((n * 7 % {KEYS})::text, 4, '0') AS key \
                 FROM generate_series({from}::bigint, {to}::bigint) AS n) AS made) AS begun ORDER BY n"
            );
            let mut connection = self.connect().await;
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            sqlx::raw_sql("VACUUM ANALYZE evento_event").execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }

        pub(super) async fn close(self) {
            self.store.close().await;
            let mut connection = self.connect().await;
            let sql = format!("DROP SCHEMA \"{}\" CASCADE", self.schema);
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        }
    }
}
