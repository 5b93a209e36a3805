//! The schema, and the rights on it.

use sqlx::mysql::MySqlConnection;

use super::server::MySqlServer;
use super::session::MySqlSession;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::schema;
use crate::store::sql::server::{Server, Settings};
use crate::store::sql::session::{Session as _, Value};

/// One file per step, applied in this order; never changed once released.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../../../migrations/mysql/0001_core.sql"),
    include_str!("../../../../migrations/mysql/0002_admin.sql"),
    include_str!("../../../../migrations/mysql/0003_parked.sql"),
    include_str!("../../../../migrations/mysql/0004_attempt.sql"),
    include_str!("../../../../migrations/mysql/0005_pruned.sql"),
];

/// Several instances may start at once: one of them makes the tables, the others wait here.
const QUEUE: &str = "SELECT GET_LOCK(CONCAT('evento:', LEFT(SHA1(CONCAT(DATABASE(), '/', ?)), 40)), 60)";
const LEAVE: &str = "SELECT RELEASE_LOCK(CONCAT('evento:', LEFT(SHA1(CONCAT(DATABASE(), '/', ?)), 40)))";

/// What the server, and what this user is allowed; 0 for no bound.
const ROOM: &str = "SELECT CAST(@@global.max_connections AS SIGNED), CAST(@@session.max_user_connections AS SIGNED)";

/// Refuses to open where fewer connections are allowed than there will be.
async fn check_room(session: &mut MySqlSession<'_>, settings: &Settings) -> Result<(), StoreError> {
    let rows = session.fetch(ROOM, &[]).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let mut allowed = vec![("max_connections of the server".to_owned(), row.int(0)?)];
    let of_user = row.int(1)?;
    if of_user != 0 {
        allowed.push(("max_user_connections of the user".to_owned(), of_user));
    }
    let name = session.error(StoreErrorKind::Config).store().to_owned();
    settings.check_room(&name, 0, allowed)
}

/// Makes what is missing, where that may be made, step by step: definitions commit by themselves here, so that each can be run again.
pub(super) async fn prepare(server: &MySqlServer, prefix: &str, settings: &Settings) -> Result<(), StoreError> {
    let mut connection = server.connect().await?;
    let mut session = MySqlSession::new(&mut connection, server.name());
    let rows = session.fetch("SELECT VERSION()", &[]).await?;
    if let Some(row) = rows.first() {
        check_version(server, row.text(0)?)?;
    }
    check_room(&mut session, settings).await?;
    let queued = session.fetch(QUEUE, &[Value::Text(prefix)]).await?;
    if queued.first().and_then(|row| row.opt_int(0).ok().flatten()) != Some(1) {
        let detail = "another instance changes the tables since a minute";
        return Err(session.error(StoreErrorKind::Busy).detail(detail));
    }
    let migrated = migrate(server, &mut connection, settings.create).await;
    // Closing the connection gives the lock back as well.
    MySqlSession::new(&mut connection, server.name()).fetch(LEAVE, &[Value::Text(prefix)]).await.ok();
    MySqlServer::close(connection).await;
    migrated
}

fn check_version(server: &MySqlServer, version: &str) -> Result<(), StoreError> {
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let oldest = if version.contains("MariaDB") { (10, 6) } else { (8, 0) };
    if found < oldest {
        let error = StoreError::new(StoreErrorKind::TooOld, &**server.name());
        return Err(error.detail(version.chars().take(80).collect::<String>()));
    }
    Ok(())
}

async fn migrate(server: &MySqlServer, connection: &mut MySqlConnection, create: bool) -> Result<(), StoreError> {
    let mut session = MySqlSession::new(connection, server.name());
    let names = &server.names;
    let current = MIGRATIONS.len();
    let found = version(&mut session, server).await?;
    schema::check(found, current, create).map_err(|(kind, detail)| session.error(kind).detail(detail))?;
    for migration in &MIGRATIONS[found..] {
        session.run(names.render(migration)).await?;
    }
    // Written even if it is the same: a server that takes no writes is found out now, not at the first event.
    let text = current.to_string();
    let upsert = "INSERT INTO @meta (name, value) VALUES ('schema', ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
    session.execute(names.render(upsert), &[text.as_str().into()]).await?;
    // So is a user who may not append.
    session.fetch(names.render("SELECT position FROM @counter WHERE id = 1 FOR UPDATE"), &[]).await?;
    session.execute(names.render("INSERT IGNORE INTO @event SELECT * FROM @event WHERE position < 0"), &[]).await?;
    Ok(())
}

/// How many migrations the database has seen.
async fn version(session: &mut MySqlSession<'_>, server: &MySqlServer) -> Result<usize, StoreError> {
    let table =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '@meta'";
    let table = server.names.render(table);
    if !session.fetch(table, &[]).await?.first().map_or(Ok(false), |row| row.flag(0))? {
        return Ok(0);
    }
    let rows = session.fetch(server.names.render("SELECT value FROM @meta WHERE name = 'schema'"), &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    row.text(0)?.parse().map_err(|_| row.damaged(0))
}
