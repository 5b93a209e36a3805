//! Making connections, the write-ahead log, and the schema.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};

use super::config::{Sqlite, Synchronous};
use super::errors::failed;
use super::session::SqliteSession;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::schema;
use crate::store::sql::session::Session as _;

/// One file per step, applied in this order; never changed once released.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../../../migrations/sqlite/0001_core.sql"),
    include_str!("../../../../migrations/sqlite/0002_admin.sql"),
    include_str!("../../../../migrations/sqlite/0003_parked.sql"),
    include_str!("../../../../migrations/sqlite/0004_attempt.sql"),
    include_str!("../../../../migrations/sqlite/0005_pruned.sql"),
];

/// The WAL switch is waited for at least so long: many processes may open a new file at once.
const SWITCHING: Duration = Duration::from_secs(5);

pub(super) fn options(config: &Sqlite, path: &Path, create: bool) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(create)
        .busy_timeout(config.busy_timeout)
        .synchronous(match config.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
            Synchronous::Off => SqliteSynchronous::Off,
        })
        .disable_statement_logging()
}

/// A connection to a file that is there.
pub(super) async fn connect(options: &SqliteConnectOptions, name: &Arc<str>) -> Result<SqliteConnection, StoreError> {
    open(options, name, false).await
}

/// The first connection, which may make the file.
pub(super) async fn create(options: &SqliteConnectOptions, name: &Arc<str>) -> Result<SqliteConnection, StoreError> {
    open(options, name, true).await
}

async fn open(
    options: &SqliteConnectOptions,
    name: &Arc<str>,
    may_create: bool,
) -> Result<SqliteConnection, StoreError> {
    options.connect().await.map_err(|error| {
        let error = failed(name, error);
        let path = options.get_filename();
        let instead = |kind| StoreError::new(kind, &**name);
        // SQLite says "cannot open" for all of these.
        match error.kind() {
            StoreErrorKind::Denied if path.is_dir() => {
                instead(StoreErrorKind::NotADatabase).detail("it is a folder").caused_by(error)
            }
            StoreErrorKind::Denied if is_missing(path, may_create) => instead(StoreErrorKind::Missing).caused_by(error),
            _ => error,
        }
    })
}

fn is_missing(path: &Path, may_create: bool) -> bool {
    let may_be_made = may_create && path.parent().is_some_and(Path::is_dir);
    !path.exists() && !may_be_made
}

/// Brings the file to write-ahead logging and, where it may be made, the current schema, and makes sure that it can be written.
pub(super) async fn prepare(
    connection: &mut SqliteConnection,
    name: &Arc<str>,
    config: &Sqlite,
) -> Result<(), StoreError> {
    let mut session = SqliteSession::new(connection, name);
    if !config.create {
        // A file of somebody else is left as it is.
        judge(&mut session, false).await?;
    }
    let until = SystemClock.instant() + config.busy_timeout.max(SWITCHING);
    // The switch fails at once while another process looks at the file: the busy time-out does not apply to it.
    while let Err(error) = session.run("PRAGMA journal_mode = WAL").await {
        if error.kind() != StoreErrorKind::Busy || SystemClock.instant() >= until {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(5..50))).await;
    }
    session.run("BEGIN IMMEDIATE").await?;
    let migrated = migrate(&mut session, config.create).await;
    match migrated {
        Ok(()) => session.run("COMMIT").await,
        Err(error) => {
            // The connection is closed by the caller, which rolls back as well.
            session.run("ROLLBACK").await.ok();
            Err(error)
        }
    }
}

async fn migrate(session: &mut SqliteSession<'_>, create: bool) -> Result<(), StoreError> {
    let found = judge(session, create).await?;
    for migration in &MIGRATIONS[found..] {
        session.run(migration).await?;
    }
    // Written even if it is the same: a file that can only be read is found out now, not at the first event.
    let text = MIGRATIONS.len().to_string();
    let upsert = "INSERT INTO evento_meta (name, value) VALUES ('schema', ?) \
                  ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    session.execute(upsert, &[text.as_str().into()]).await?;
    Ok(())
}

/// How many migrations the file has seen, if it may be used.
async fn judge(session: &mut SqliteSession<'_>, create: bool) -> Result<usize, StoreError> {
    let found = version(session).await?;
    schema::check(found, MIGRATIONS.len(), create).map_err(|(kind, detail)| session.error(kind).detail(detail))?;
    Ok(found)
}

/// How many migrations the file has seen.
async fn version(session: &mut SqliteSession<'_>) -> Result<usize, StoreError> {
    let table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'evento_meta'";
    if session.fetch(table, &[]).await?.is_empty() {
        return Ok(0);
    }
    let rows = session.fetch("SELECT value FROM evento_meta WHERE name = 'schema'", &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    row.text(0)?.parse().map_err(|_| row.damaged(0))
}
