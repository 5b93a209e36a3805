//! What handlers do: each writes a row for every event it has handled.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, Once};
use std::time::Duration;

use evento_runtime::prelude::*;
use sqlx::SqliteConnection;

use crate::settings::{Fail, Settings};

/// The database of the log, as handlers reach it.
pub(crate) enum Db {
    Sqlite(SqliteWriter),
    #[cfg(feature = "postgres")]
    Postgres {
        pool: sqlx::PgPool,
        schema: String,
    },
}

/// A connection to it.
pub(crate) enum Session<'a> {
    Sqlite(&'a mut SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(&'a mut sqlx::PgConnection),
}

/// How a handler behaves, and where it writes.
#[derive(Clone)]
pub(crate) struct Effects(Arc<Inner>);

struct Inner {
    db: Db,
    /// The statement that writes a row.
    insert: String,
    run: i64,
    journal: Option<File>,
    /// The parent is told of the first handler, of the first that has become able to do it, and of the first that fails.
    working: Once,
    healing: Once,
    failing: Once,
    slowest: u64,
    die: Option<(String, u64)>,
    fail: Fail,
}

impl Effects {
    /// With its table.
    pub(crate) async fn over(db: Db, settings: &Settings) -> Result<Self, BoxError> {
        let table = match &db {
            Db::Sqlite(_) => "effect".to_owned(),
            #[cfg(feature = "postgres")]
            Db::Postgres { schema, .. } => format!("\"{schema}\".effect"),
        };
        let columns = "who TEXT NOT NULL, position BIGINT NOT NULL, run BIGINT NOT NULL";
        match &db {
            Db::Sqlite(writer) => {
                let table = format!(
                    "CREATE TABLE IF NOT EXISTS effect
                        (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns}, payload BLOB NOT NULL);
                     CREATE INDEX IF NOT EXISTS effect_of ON effect (who, position)"
                );
                sqlx::raw_sql(sqlx::AssertSqlSafe(table)).execute(&mut *writer.acquire().await?).await?;
            }
            #[cfg(feature = "postgres")]
            Db::Postgres { pool, .. } => {
                let table = format!(
                    "CREATE TABLE IF NOT EXISTS {table} (id BIGSERIAL PRIMARY KEY, {columns}, payload BYTEA NOT NULL);
                     CREATE INDEX IF NOT EXISTS effect_of ON {table} (who, position)"
                );
                sqlx::raw_sql(sqlx::AssertSqlSafe(table)).execute(pool).await?;
            }
        }
        let journal = settings.journal.as_ref();
        let journal = journal.map(|path| File::options().append(true).create(true).open(path)).transpose()?;
        Ok(Self(Arc::new(Inner {
            db,
            insert: format!("INSERT INTO {table} (who, position, run, payload) VALUES ($1, $2, $3, $4)"),
            run: settings.run,
            journal,
            working: Once::new(),
            healing: Once::new(),
            failing: Once::new(),
            slowest: settings.slowest,
            die: settings.die.clone(),
            fail: settings.fail,
        })))
    }

    /// A handler outside of transactions.
    pub(crate) async fn handle(&self, who: &str, event: &RawEvent, attempt: Attempt) -> Result<(), BoxError> {
        let position = self.begin(who, event)?;
        self.may_fail(position, attempt)?;
        self.take_time(position).await;
        match &self.0.db {
            Db::Sqlite(writer) => self.write(Session::Sqlite(&mut *writer.acquire().await?), who, event).await,
            #[cfg(feature = "postgres")]
            Db::Postgres { pool, .. } => self.write(Session::Postgres(&mut *pool.acquire().await?), who, event).await,
        }
    }

    /// A handler in a transaction: one that fails has written before.
    pub(crate) async fn handle_in(
        &self,
        session: Session<'_>,
        who: &str,
        event: &RawEvent,
        attempt: Attempt,
    ) -> Result<(), BoxError> {
        let position = self.begin(who, event)?;
        self.write(session, who, event).await?;
        self.take_time(position).await;
        self.may_fail(position, attempt)
    }

    /// Notes it outside of every transaction, where a kill leaves it.
    fn begin(&self, who: &str, event: &RawEvent) -> Result<u64, BoxError> {
        let position = event.position.as_u64().ok_or("not a number")?;
        if let Some(mut journal) = self.0.journal.as_ref() {
            journal.write_all(format!("{} {who} {position}\n", self.0.run).as_bytes())?;
        }
        self.0.working.call_once(|| println!("working"));
        if self.0.die.as_ref().is_some_and(|(in_which, at)| in_which == who && *at == position) {
            std::process::abort();
        }
        Ok(position)
    }

    /// Long enough that something is under way at any moment.
    async fn take_time(&self, position: u64) {
        tokio::time::sleep(Duration::from_micros(position * 7_919 % self.0.slowest)).await;
    }

    fn may_fail(&self, position: u64, attempt: Attempt) -> Result<(), BoxError> {
        match self.0.fail {
            Fail::First if attempt.0 == 1 => Err("first attempts fail".into()),
            Fail::Some if attempt.0 == 1 && position.is_multiple_of(97) => Err("it fails at first".into()),
            Fail::Above(healed) if position.is_multiple_of(11) => {
                if position > healed {
                    self.0.failing.call_once(|| println!("failing"));
                    return Err(HandlerError::permanent("poison").into());
                }
                self.0.healing.call_once(|| println!("healing"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn write(&self, session: Session<'_>, who: &str, event: &RawEvent) -> Result<(), BoxError> {
        let position = i64::try_from(event.position.as_u64().ok_or("not a number")?)?;
        let insert = sqlx::AssertSqlSafe(self.0.insert.clone());
        match session {
            Session::Sqlite(db) => {
                let insert = sqlx::query(insert).bind(who).bind(position).bind(self.0.run).bind(&event.payload[..]);
                insert.execute(db).await?;
            }
            #[cfg(feature = "postgres")]
            Session::Postgres(db) => {
                let insert = sqlx::query(insert).bind(who).bind(position).bind(self.0.run).bind(&event.payload[..]);
                insert.execute(db).await?;
            }
        }
        Ok(())
    }
}
