//! The database of one test, asked with plain SQL that is the same on every store.

use std::path::PathBuf;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Row as _};
use tempfile::TempDir;

use crate::child::Run;

/// A store of its own, and the journal beside it.
pub(crate) struct Judge {
    folder: TempDir,
    place: Place,
}

enum Place {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres {
        url: String,
        schema: evento_tests::servers::Schema,
    },
}

/// Short, so that rounds are: the next process waits until it is over.
#[cfg(feature = "postgres")]
const LEASE: u64 = 600;

pub(crate) const EVENTS: &str = "SELECT COUNT(*) FROM evento_event";
pub(crate) const DEAD: &str = "SELECT COUNT(*) FROM evento_dead_letter";

/// Effects with another payload than their event's.
pub(crate) const DIFFERENT: &str = "SELECT COUNT(*) FROM effect JOIN evento_event AS event
    ON event.position = effect.position WHERE event.payload IS DISTINCT FROM effect.payload";

impl Judge {
    pub(crate) fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), place: Place::Sqlite }
    }

    /// `None`, and said so, where there is no server.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres() -> Option<Self> {
        match evento_tests::servers::reach("EVENTO_TEST_POSTGRES_URL") {
            Ok(url) => {
                let place = Place::Postgres { url, schema: evento_tests::servers::Schema::new() };
                Some(Self { folder: tempfile::tempdir().unwrap(), place })
            }
            Err(reason) => {
                evento_tests::skip(&reason);
                None
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("crash.db")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("begun")
    }

    /// Tells a process where to work.
    pub(crate) fn place(&self, run: Run) -> Run {
        match &self.place {
            Place::Sqlite => run.set("DB", self.file().display()),
            #[cfg(feature = "postgres")]
            Place::Postgres { url, schema } => run.set("DB", url).set("SCHEMA", schema.name()).set("LEASE", LEASE),
        }
    }

    /// Until nobody owns anything: the ownership of a killed process runs out. SQLite knows that it is dead.
    #[cfg_attr(not(feature = "postgres"), allow(clippy::unused_async, reason = "it waits for a server"))]
    pub(crate) async fn forgotten(&self) {
        #[cfg(feature = "postgres")]
        if let Place::Postgres { .. } = &self.place {
            let owned = "SELECT COUNT(*) FROM evento_lease
                WHERE owner IS NOT NULL AND expires_at > EXTRACT(EPOCH FROM clock_timestamp()) * 1000000";
            while self.ask(owned).await > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        }
    }

    pub(crate) async fn ask(&self, query: &str) -> i64 {
        self.list(query).await[0]
    }

    pub(crate) async fn list(&self, query: &str) -> Vec<i64> {
        let query = sqlx::AssertSqlSafe(query.to_owned());
        match &self.place {
            Place::Sqlite => {
                let options = SqliteConnectOptions::new().filename(self.file()).read_only(true);
                let mut db: SqliteConnection = options.connect().await.unwrap();
                let rows = sqlx::query(query).fetch_all(&mut db).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
            #[cfg(feature = "postgres")]
            Place::Postgres { url, schema } => {
                let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
                let mut db = options.options([("search_path", schema.name())]).connect().await.unwrap();
                let rows = sqlx::query(query).fetch_all(&mut db).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Positions of events without an effect of `who`.
    pub(crate) async fn lost(&self, who: &str) -> Vec<i64> {
        let lost = format!(
            "SELECT position FROM evento_event AS event WHERE NOT EXISTS
                (SELECT 1 FROM effect WHERE who = '{who}' AND effect.position = event.position)"
        );
        self.list(&lost).await
    }

    /// Effects of `who` beyond the first of an event.
    pub(crate) async fn twice(&self, who: &str) -> i64 {
        self.ask(&format!("SELECT COUNT(*) - COUNT(DISTINCT position) FROM effect WHERE who = '{who}'")).await
    }
}
