//! Appending in one statement. Streams are kept apart by a unique index; who loses a race decides anew.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;

use super::versions::{Bases, Versions};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::Position;
use crate::source::sql::known::recognise;
use crate::source::{Append, Appended, Expected, PreparedEvent};
use crate::store::sql::names::Names;
use crate::store::sql::postgres::{PostgresSession, failed, is_duplicate, now};
use crate::store::sql::session::{Session as _, Value, tell};
use crate::store::sql::statements::Statements;

/// How often a race for a stream is run again.
const ROUNDS: usize = 100;

/// The statements of appending.
pub(crate) struct AppendSql {
    insert: &'static str,
    insert_one: &'static str,
    joined: &'static str,
    version: &'static str,
    queue: &'static str,
}

/// The version of a stream before, of whatever row has its context and key.
macro_rules! version {
    ($row:literal) => {
        concat!(
            "coalesce((SELECT e.version FROM @event AS e WHERE e.context = ",
            $row,
            ".context AND e.key = ",
            $row,
            ".key ORDER BY e.version DESC LIMIT 1), 0)"
        )
    };
}

/// The transaction id before any position: what the judging of holes relies on. Then the events, and `r` in their order. The
/// version of a stream is asked of its index only where none is given.
macro_rules! insert {
    ($begun:literal, $new:literal, $rows:literal, $first:expr, $returning:literal) => {
        concat!(
            "WITH begun AS MATERIALIZED (SELECT pg_current_xact_id() AS id, ",
            now!(),
            " AS at",
            $begun,
            ")",
            $new,
            " INSERT INTO @event \
             (position, id, name, context, key, version, slice, recorded_at, content_type, metadata, payload) \
             SELECT nextval('@position'::regclass), r.id, r.name, r.context, r.key, r.nth + coalesce(r.base, ",
            version!("r"),
            "), r.slice, begun.at, r.content_type, r.metadata, r.payload FROM begun CROSS JOIN (",
            $rows,
            ") AS r CROSS JOIN (SELECT ?::bigint AS version) AS expected \
             WHERE expected.version IS NULL OR expected.version = ",
            $first,
            " RETURNING position, version",
            $returning
        )
    };
    ($begun:literal, $returning:literal) => {
        insert!(
            $begun,
            ", new AS MATERIALIZED (SELECT * FROM unnest(?::bytea[], ?::text[], ?::text[], ?::text[], ?::bigint[], \
             ?::bigint[], ?::bigint[], ?::text[], ?::bytea[], ?::bytea[]) WITH ORDINALITY \
             AS u (id, name, context, key, nth, base, slice, content_type, metadata, payload, n))",
            "SELECT * FROM new ORDER BY n",
            concat!("(SELECT ", version!("f"), " FROM new AS f WHERE f.n = 1)"),
            $returning
        )
    };
}

const INSERT: &str = insert!("", "");

/// The same for one event.
const INSERT_ONE: &str = insert!(
    "",
    "",
    "SELECT ?::bytea AS id, ?::text AS name, ?::text AS context, ?::text AS key, ?::bigint AS nth, ?::bigint AS base, \
     ?::bigint AS slice, ?::text AS content_type, ?::bytea AS metadata, ?::bytea AS payload",
    version!("r"),
    ""
);

/// The same for several batches: none of them is to wait long for what another one waits for.
const INSERT_JOINED: &str = insert!(", set_config('lock_timeout', '100ms', true)", ", id");

impl AppendSql {
    pub(crate) fn rendered(names: &Names) -> Self {
        Self {
            insert: names.render(INSERT),
            insert_one: names.render(INSERT_ONE),
            joined: names.render(INSERT_JOINED),
            version: names.render("SELECT coalesce(max(version), 0) FROM @event WHERE context = ? AND key = ?"),
            queue: names.render("SELECT pg_advisory_xact_lock(hashtextextended(? || ' ' || ? || '@', 0))"),
        }
    }
}

/// One try.
enum Tried {
    /// With the versions of its events, in their order.
    Stored(Appended, Vec<Option<i64>>),
    /// The expected version was not there, or somebody was faster; nothing is stored.
    Refused,
    /// An id is there already; nothing is stored, and the transaction has failed.
    KnownId,
    /// Somebody was faster; nothing is stored, and the transaction has failed.
    Overtaken,
}

/// What begins and ends a try within a transaction.
pub(crate) struct Savepoint {
    pub(crate) begin: &'static str,
    pub(crate) keep: &'static str,
    pub(crate) undo: &'static str,
}

/// Within the caller's transaction.
pub(crate) const INNER: Savepoint = Savepoint {
    begin: "SAVEPOINT evento_append",
    keep: "RELEASE SAVEPOINT evento_append",
    undo: "ROLLBACK TO SAVEPOINT evento_append; RELEASE SAVEPOINT evento_append",
};

/// Stores a batch, wholly or not at all. `savepoint`: how a try is undone; `None`: it undoes itself, as a single
/// statement outside of a transaction does.
pub(crate) async fn append_in(
    connection: &mut PgConnection,
    name: &Arc<str>,
    prepared: bool,
    sql: (&'static Statements, &AppendSql),
    batch: &Append,
    savepoint: Option<&Savepoint>,
    versions: &Versions,
) -> Result<Appended, AppendError> {
    let Some(first) = batch.events.first() else { return Err(AppendError::Empty) };
    for round in 0..ROUNDS {
        if let Some(savepoint) = savepoint {
            PostgresSession::new(connection, name, prepared).run(savepoint.begin).await?;
            // Who lost once queues up with the others of its stream.
            if round > 0
                && let Some(key) = &first.key
            {
                let values = [Value::Text(&first.context), Value::Text(key)];
                PostgresSession::new(connection, name, prepared).execute(sql.1.queue, &values).await?;
            }
        }
        // What is expected of a stream is compared with what it is, and what may be undone is not known for certain.
        let ask = round > 0 || batch.expected != Expected::Any || savepoint.is_some();
        let bases = versions.bases(&*batch.events, ask);
        let tried = try_once(connection, name, prepared, sql.1, batch, &bases).await;
        if let Some(savepoint) = savepoint {
            let end = if matches!(tried, Ok(Tried::Stored(..))) { savepoint.keep } else { savepoint.undo };
            let ended = PostgresSession::new(connection, name, prepared).run(end).await;
            if tried.is_ok() {
                ended?;
            }
        }
        let mut session = PostgresSession::new(connection, name, prepared);
        match tried? {
            Tried::Stored(appended, stored) => {
                if savepoint.is_none() {
                    versions.learn(bases, stored);
                }
                return Ok(appended);
            }
            Tried::KnownId => {
                if let Some(answer) = recognise(&mut session, sql.0, batch, i64::MAX).await? {
                    return answer;
                }
                // The one who had it rolled back.
            }
            Tried::Refused | Tried::Overtaken => {
                // A repeated append finds the version it made itself.
                if let Some(answer) = recognise(&mut session, sql.0, batch, i64::MAX).await? {
                    return answer;
                }
                let Some(key) = first.key.as_deref().filter(|_| batch.expected != Expected::Any) else { continue };
                let values = [Value::Text(&first.context), Value::Text(key)];
                let rows = session.fetch(sql.1.version, &values).await?;
                let actual = rows.first().map_or(Ok(0), |row| row.count(0))?;
                batch.expected.check(key, actual)?;
            }
        }
    }
    let busy = StoreError::new(StoreErrorKind::Busy, &**name);
    Err(busy.detail(format!("{ROUNDS} races for a stream were lost")).into())
}

async fn try_once(
    connection: &mut PgConnection,
    name: &Arc<str>,
    prepared: bool,
    sql: &AppendSql,
    batch: &Append,
    bases: &Bases,
) -> Result<Tried, StoreError> {
    let expected = match batch.expected {
        Expected::Any => None,
        Expected::New => Some(0),
        Expected::Version(version) => Some(i64::try_from(version).unwrap_or(i64::MAX)),
    };
    let query = match &*batch.events {
        [event] => {
            tell!(name, sql.insert_one);
            one(event, bases.of.first().copied().flatten(), sql.insert_one, expected)
        }
        events => {
            tell!(name, sql.insert);
            Columns::of(events, bases).query(sql.insert, expected)
        }
    };
    let rows = match query.persistent(prepared).fetch_all(&mut *connection).await {
        Ok(rows) => rows,
        Err(error) => {
            return match is_duplicate(&error).as_deref() {
                Some("evento_event_id") => Ok(Tried::KnownId),
                Some("evento_event_stream") => Ok(Tried::Overtaken),
                _ => Err(failed(name, error)),
            };
        }
    };
    let numbers: Result<Vec<_>, _> = rows.iter().map(numbers).collect();
    let mut numbers = numbers.map_err(|error| failed(name, error))?;
    numbers.sort_unstable();
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return Ok(Tried::Refused) };
    let position = |number: i64| Position::from_u64(number.unsigned_abs());
    let version = last.1.map(i64::unsigned_abs);
    let appended = Appended::new(position(first.0), position(last.0), version, false);
    Ok(Tried::Stored(appended, numbers.into_iter().map(|(_, version)| version).collect()))
}

/// Stores events that were appended each by itself, whatever the versions of their streams; answers in their order.
/// `None`: nothing is stored, and each has to be tried by itself. In a statement outside of a transaction.
pub(crate) async fn append_joined(
    connection: &mut PgConnection,
    name: &Arc<str>,
    sql: &AppendSql,
    events: &[&PreparedEvent],
    versions: &Versions,
) -> Result<Option<Vec<Appended>>, StoreError> {
    // In the order of their streams, so that nobody waits for each other in a circle.
    let mut ordered = events.to_vec();
    ordered.sort_by_key(|event| (&event.context, &event.key));
    tell!(name, sql.joined);
    let bases = versions.bases(ordered.iter().copied(), false);
    let query = Columns::of(ordered.iter().copied(), &bases).query(sql.joined, None);
    let rows = match query.fetch_all(&mut *connection).await {
        Ok(rows) => rows,
        Err(error) => {
            let error = failed(name, error);
            return if is_apart(error.kind()) { Ok(None) } else { Err(error) };
        }
    };
    let read = |row: &PgRow| Ok((row.try_get_unchecked::<&[u8], _>(2)?.to_vec(), numbers(row)?));
    let stored: Result<HashMap<Vec<u8>, _>, _> = rows.iter().map(read).collect();
    let stored = stored.map_err(|error| failed(name, error))?;
    let version =
        |event: &&PreparedEvent| stored.get(&event.id.as_uuid().as_bytes()[..]).and_then(|(_, version)| *version);
    versions.learn(bases, ordered.iter().map(version));
    let appended = events.iter().map(|event| {
        let (number, version) = stored.get(&event.id.as_uuid().as_bytes()[..])?;
        let position = Position::from_u64(number.unsigned_abs());
        Some(Appended::new(position.clone(), position, version.map(i64::unsigned_abs), false))
    });
    appended.collect::<Option<_>>().map(Some).ok_or_else(|| StoreError::new(StoreErrorKind::Other, &**name))
}

/// Whether a failure may be that of one among several, while the connection is as good as before.
const fn is_apart(kind: StoreErrorKind) -> bool {
    matches!(kind, StoreErrorKind::Busy | StoreErrorKind::Other)
}

/// Position and version of a row.
fn numbers(row: &PgRow) -> Result<(i64, Option<i64>), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// A single event.
fn one<'a>(
    event: &'a PreparedEvent,
    base: Option<i64>,
    sql: &'static str,
    expected: Option<i64>,
) -> Query<'a, sqlx::Postgres, PgArguments> {
    sqlx::query(sql)
        .bind(&event.id.as_uuid().as_bytes()[..])
        .bind(&event.name)
        .bind(&event.context)
        .bind(event.key.as_deref())
        .bind(event.key.as_deref().map(|_| 1_i64))
        .bind(base)
        .bind(i64::from(event.slice()))
        .bind(&event.content_type)
        .bind(metadata(event))
        .bind(&*event.payload)
        .bind(expected)
}

fn metadata(event: &PreparedEvent) -> Option<&[u8]> {
    Some(&*event.metadata).filter(|metadata| !metadata.is_empty())
}

/// A batch by columns.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<&'a [u8]>,
    names: Vec<&'a str>,
    contexts: Vec<&'a str>,
    keys: Vec<Option<&'a str>>,
    /// The number within its stream and batch, from 1.
    nths: Vec<Option<i64>>,
    bases: Vec<Option<i64>>,
    slices: Vec<i64>,
    content_types: Vec<&'a str>,
    metadata: Vec<Option<&'a [u8]>>,
    payloads: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(events: impl IntoIterator<Item = &'a PreparedEvent>, bases: &Bases) -> Self {
        let mut columns = Self { bases: bases.of.clone(), ..Self::default() };
        let mut counts: HashMap<(&str, &str), i64> = HashMap::new();
        for event in events {
            columns.ids.push(event.id.as_uuid().as_bytes());
            columns.names.push(&event.name);
            columns.contexts.push(&event.context);
            columns.keys.push(event.key.as_deref());
            columns.nths.push(event.key.as_deref().map(|key| {
                let count = counts.entry((&event.context, key)).or_default();
                *count += 1;
                *count
            }));
            columns.slices.push(event.slice().into());
            columns.content_types.push(&event.content_type);
            columns.metadata.push(metadata(event));
            columns.payloads.push(&event.payload);
        }
        columns
    }

    fn query(self, sql: &'static str, expected: Option<i64>) -> Query<'a, sqlx::Postgres, PgArguments> {
        sqlx::query(sql)
            .bind(self.ids)
            .bind(self.names)
            .bind(self.contexts)
            .bind(self.keys)
            .bind(self.nths)
            .bind(self.bases)
            .bind(self.slices)
            .bind(self.content_types)
            .bind(self.metadata)
            .bind(self.payloads)
            .bind(expected)
    }
}
