//! The schema, and the rights on it.

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::server::PostgresServer;
use super::session::PostgresSession;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::schema;
use crate::store::sql::server::{Server as _, Settings};
use crate::store::sql::session::{Session as _, Value};

/// One file per step, applied in this order; never changed once released.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../../../migrations/postgres/0001_core.sql"),
    include_str!("../../../../migrations/postgres/0002_admin.sql"),
    include_str!("../../../../migrations/postgres/0003_parked.sql"),
    include_str!("../../../../migrations/postgres/0004_attempt.sql"),
    include_str!("../../../../migrations/postgres/0005_pruned.sql"),
];

/// The oldest server with everything that is used.
const OLDEST: u32 = 140_000;

/// Several instances may start at once: one of them makes the tables, the others wait here.
const QUEUE: &str = "SELECT pg_advisory_xact_lock(hashtextextended('evento migrations of ' || $1, 0))";

/// Table and right of each that is missing.
const MISSING: &str = "SELECT t.name || ': ' || t.rights FROM (VALUES ('@event', 'SELECT, INSERT'), \
     ('@meta', 'SELECT, INSERT, UPDATE'), ('@consumer', 'SELECT, INSERT'), \
     ('@lease', 'SELECT, INSERT, UPDATE'), ('@fence', 'SELECT, INSERT, UPDATE'), \
     ('@checkpoint', 'SELECT, INSERT, UPDATE, DELETE'), \
     ('@dead_letter', 'SELECT, INSERT, UPDATE, DELETE'), \
     ('@saga', 'SELECT, INSERT, UPDATE, DELETE'), ('@saga_association', 'SELECT, INSERT, DELETE'), \
     ('@saga_timer', 'SELECT, INSERT, UPDATE, DELETE'), ('@claim', 'SELECT, INSERT, UPDATE, DELETE'), \
     ('@completion', 'SELECT, INSERT, DELETE'), ('@command', 'SELECT, INSERT, UPDATE, DELETE'), \
     ('@audit', 'SELECT, INSERT, UPDATE, DELETE'), ('@instance', 'SELECT, INSERT, UPDATE, DELETE'), \
     ('@ownership', 'SELECT, INSERT, UPDATE, DELETE'), ('@attempt', 'SELECT, INSERT, UPDATE, DELETE')) AS t (name, rights) \
     WHERE NOT (SELECT bool_and(has_table_privilege(t.name, r)) FROM unnest(string_to_array(t.rights, ', ')) AS r) \
     UNION ALL SELECT 'sequence @position: USAGE' \
     WHERE NOT has_sequence_privilege('@position', 'USAGE')";

/// What bounds the connections of this user, and by how many; no row for what does not.
const ROOM: &str = "WITH u AS (SELECT rolname, rolsuper, rolconnlimit FROM pg_roles WHERE rolname = session_user) \
     SELECT 'max_connections of the server', current_setting('max_connections')::bigint - (CASE WHEN rolsuper THEN 0 \
     ELSE current_setting('superuser_reserved_connections')::bigint \
     + coalesce(current_setting('reserved_connections', true), '0')::bigint END) FROM u \
     UNION ALL SELECT 'the limit of the role `' || rolname || '`', rolconnlimit::bigint FROM u \
     WHERE rolconnlimit >= 0 AND NOT rolsuper \
     UNION ALL SELECT 'the limit of the database `' || datname || '`', datconnlimit::bigint FROM pg_database, u \
     WHERE datname = current_database() AND datconnlimit >= 0 AND NOT rolsuper";

/// Refuses to open where fewer connections are allowed than there will be. What a pooler allows is not known here.
pub(super) async fn check_room(server: &PostgresServer, settings: &Settings, listens: bool) -> Result<(), StoreError> {
    if !server.prepared() {
        return Ok(());
    }
    let mut connection = server.connect().await?;
    let rows = server.session(&mut connection).fetch(ROOM, &[]).await;
    connection.close().await.ok();
    let allowed = rows?.iter().map(|row| Ok((row.text(0)?.to_owned(), row.int(1)?))).collect::<Result<Vec<_>, _>>()?;
    settings.check_room(server.name(), listens.into(), allowed)
}

/// Makes what is missing, where that may be made, in one transaction, and makes sure that everything can be read and written.
pub(super) async fn prepare(server: &PostgresServer, schema: &str, create: bool) -> Result<(), StoreError> {
    let mut connection = server.connect().await?;
    check_version(server, &connection)?;
    server.begin(&mut connection).await?;
    let migrated = migrate(server, &mut connection, schema, create).await;
    if migrated.is_ok() {
        server.commit(&mut connection).await?;
    }
    // Closing it rolls back.
    connection.close().await.ok();
    migrated
}

fn check_version(server: &PostgresServer, connection: &PgConnection) -> Result<(), StoreError> {
    match connection.server_version_num() {
        Some(version) if version < OLDEST => {
            let detail = format!("PostgreSQL {}", version / 10_000);
            Err(StoreError::new(StoreErrorKind::TooOld, &**server.name()).detail(detail))
        }
        _ => Ok(()),
    }
}

async fn migrate(
    server: &PostgresServer,
    connection: &mut PgConnection,
    schema_name: &str,
    create: bool,
) -> Result<(), StoreError> {
    let mut session = PostgresSession::new(connection, server.name(), server.prepared());
    session.run("SET LOCAL lock_timeout = 60000").await?;
    let names = &server.names;
    session.execute(QUEUE, &[Value::Text(schema_name)]).await?;
    let there = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if create && session.fetch(there, &[Value::Text(schema_name)]).await?.is_empty() {
        session.run(names.schema_statement("CREATE SCHEMA ")).await?;
    }
    let current = MIGRATIONS.len();
    let found = version(&mut session, server).await?;
    schema::check(found, current, create).map_err(|(kind, detail)| session.error(kind).detail(detail))?;
    for migration in &MIGRATIONS[found..] {
        session.run(names.render(migration)).await?;
    }
    let missing = session.fetch(names.render(MISSING), &[]).await?;
    if !missing.is_empty() {
        let missing = missing.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>()?;
        let detail = format!("the user lacks rights: {}", missing.join("; "));
        return Err(session.error(StoreErrorKind::Denied).detail(detail));
    }
    // Written even if it is the same: a server that takes no writes is found out now, not at the first event.
    let text = current.to_string();
    let upsert = "INSERT INTO @meta (name, value) VALUES ('schema', ?) \
                  ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    session.execute(names.render(upsert), &[text.as_str().into()]).await?;
    Ok(())
}

/// How many migrations the schema has seen.
async fn version(session: &mut PostgresSession<'_>, server: &PostgresServer) -> Result<usize, StoreError> {
    let table = server.names.render("SELECT to_regclass('@meta') IS NOT NULL");
    if !session.fetch(table, &[]).await?.first().map_or(Ok(false), |row| row.flag(0))? {
        return Ok(0);
    }
    let rows = session.fetch(server.names.render("SELECT value FROM @meta WHERE name = 'schema'"), &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    row.text(0)?.parse().map_err(|_| row.damaged(0))
}
