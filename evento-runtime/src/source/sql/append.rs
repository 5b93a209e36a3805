//! Appending: the same steps in every dialect, within a write transaction, one append after the other.

use std::collections::HashMap;

use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{Position, Timestamp};
use crate::source::sql::known::recognise;
use crate::source::{Append, Appended, Expected, PreparedEvent};
use crate::store::sql::session::{Row, Session, Value};
use crate::store::sql::statements::{Chunked, Statements, chunks};

/// Appending where one append follows the other.
pub(crate) struct Appending {
    /// → the last position given out. Appends wait here for each other, where the transaction does not see to that.
    pub(crate) last_position: &'static str,
    /// how many. Remembers positions as given out, where the table of events does not see to that.
    pub(crate) advance: Option<&'static str>,
    /// Per stream: context, key → context, key, its version (0: none).
    pub(crate) versions: Chunked,
    /// Per event: position, id, name, context, key, version, slice, recorded_at, content_type, metadata, payload.
    /// Ids that are there already are left alone and not counted.
    pub(crate) insert_events: Chunked,
    /// The statements that store so many events at once, whatever the versions of their streams or if the first one has
    /// the expected version, unless anything is wrong with any of them: expected version, recorded_at; per event: id,
    /// name, context, key, its number within stream and batch, slice, content_type, metadata, payload → position and
    /// version of the first and of the last one, ascending. `None`: so many are stored in steps.
    pub(crate) at_once: fn(usize) -> Option<&'static str>,
}

/// Context and key.
type Stream<'a> = (&'a str, &'a str);

/// Stores a batch. On an error some of it may have been written: the caller rolls back.
pub(crate) async fn append(
    session: &mut dyn Session,
    sql: &'static Statements,
    appending: &'static Appending,
    batch: &Append,
    now: Timestamp,
) -> Result<Appended, AppendError> {
    let Some(first) = batch.events.first() else { return Err(AppendError::Empty) };
    if let Some(appended) = append_at_once(session, appending, batch, now).await? {
        return Ok(appended);
    }
    // First of all: from here on nobody else appends.
    let last = last_position(session, appending).await?;
    let mut versions = versions(session, appending, &batch.events).await?;
    if let Some(stream) = stream(first) {
        let actual = versions.get(&stream).copied().unwrap_or(0);
        if let Err(conflict) = batch.expected.check(stream.1, actual) {
            // A repeated append finds the version it made itself.
            return recognise(session, sql, batch, i64::MAX).await?.unwrap_or(Err(conflict));
        }
    }
    let rows = rows(&batch.events, &mut versions, last);
    let mut stored = 0;
    for (sql, rows) in chunks(&appending.insert_events, &rows) {
        stored += session.execute(sql, &values(rows, now)).await?;
    }
    if stored < u64::try_from(rows.len()).unwrap_or(u64::MAX) {
        let answer = recognise(session, sql, batch, last).await?;
        return answer.unwrap_or_else(|| Err(session.error(StoreErrorKind::Other).into()));
    }
    if let Some(advance) = appending.advance {
        session.execute(advance, &[stored.into()]).await?;
    }
    let position = |row: Option<&NewRow<'_>>| Position::from_u64(row.map_or(0, |row| row.position.unsigned_abs()));
    let version = rows.last().and_then(|row| row.version);
    Ok(Appended::new(position(rows.first()), position(rows.last()), version, false))
}

/// Stores a batch that is as new as it looks, in statements that are atomic together. `None`: nothing was stored, and it
/// takes [`append`] to say why.
pub(crate) async fn append_at_once(
    session: &mut dyn Session,
    appending: &Appending,
    batch: &Append,
    now: Timestamp,
) -> Result<Option<Appended>, StoreError> {
    let Some(sql) = (appending.at_once)(batch.events.len()) else { return Ok(None) };
    let expected = match batch.expected {
        Expected::Any => None,
        Expected::New => Some(0),
        Expected::Version(version) => Some(version),
    };
    let Some(rows) = at_once(session, sql, expected, &batch.events, now).await? else { return Ok(None) };
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    let version = last.opt_int(1)?.map(i64::unsigned_abs);
    Ok(Some(Appended::new(Position::from_u64(first.count(0)?), Position::from_u64(last.count(0)?), version, false)))
}

/// Stores events that were appended each by itself, by a statement like those of [`append_at_once`] that answers a row for
/// each; answers in their order. `None`: nothing was stored, and each has to be tried by itself.
#[cfg(feature = "sqlite")]
pub(crate) async fn append_joined(
    session: &mut dyn Session,
    sql: &'static str,
    events: &[&PreparedEvent],
    now: Timestamp,
) -> Result<Option<Vec<Appended>>, StoreError> {
    let Some(rows) = at_once(session, sql, None, events.iter().copied(), now).await? else { return Ok(None) };
    let numbers = rows.iter().map(|row| Ok::<_, StoreError>((row.count(0)?, row.opt_int(1)?.map(i64::unsigned_abs))));
    let mut numbers = numbers.collect::<Result<Vec<_>, _>>()?;
    numbers.sort_unstable();
    let appended = numbers.into_iter().map(|(number, version)| {
        let position = Position::from_u64(number);
        Appended::new(position.clone(), position, version, false)
    });
    Ok(Some(appended.collect()).filter(|appended: &Vec<_>| appended.len() == events.len()))
}

/// `None`: a rule of the table, among others: an id or a version is there, or the expected version is not.
async fn at_once<'a>(
    session: &mut dyn Session,
    sql: &'static str,
    expected: Option<u64>,
    events: impl IntoIterator<Item = &'a PreparedEvent>,
    now: Timestamp,
) -> Result<Option<Vec<Row>>, StoreError> {
    let mut counts: HashMap<Stream<'_>, u64> = HashMap::new();
    let mut values = vec![expected.into(), Value::Int(now.as_micros())];
    for event in events {
        let nth = stream(event).map(|stream| {
            let count = counts.entry(stream).or_insert(0);
            *count += 1;
            *count
        });
        values.extend([
            Value::Blob(event.id.as_uuid().as_bytes()),
            Value::Text(&event.name),
            Value::Text(&event.context),
            event.key.as_deref().into(),
            nth.into(),
            Value::Int(event.slice().into()),
            Value::Text(&event.content_type),
            Some(&*event.metadata).filter(|metadata| !metadata.is_empty()).into(),
            Value::Blob(&event.payload),
        ]);
    }
    match session.fetch(sql, &values).await {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.kind() == StoreErrorKind::Other => Ok(None),
        Err(error) => Err(error),
    }
}

struct NewRow<'a> {
    position: i64,
    version: Option<u64>,
    event: &'a PreparedEvent,
}

/// Appends are serialised, so the next positions are known before the rows are written.
fn rows<'a>(events: &'a [PreparedEvent], versions: &mut HashMap<Stream<'a>, u64>, last: i64) -> Vec<NewRow<'a>> {
    let mut position = last;
    let row = |event: &'a PreparedEvent| {
        position += 1;
        let version = stream(event).map(|stream| {
            let version = versions.entry(stream).or_insert(0);
            *version += 1;
            *version
        });
        NewRow { position, version, event }
    };
    events.iter().map(row).collect()
}

fn values<'a>(rows: &[NewRow<'a>], now: Timestamp) -> Vec<Value<'a>> {
    let values = rows.iter().flat_map(|NewRow { position, version, event }| {
        [
            Value::Int(*position),
            Value::Blob(event.id.as_uuid().as_bytes()),
            Value::Text(&event.name),
            Value::Text(&event.context),
            event.key.as_deref().into(),
            (*version).into(),
            Value::Int(event.slice().into()),
            Value::Int(now.as_micros()),
            Value::Text(&event.content_type),
            Some(&*event.metadata).filter(|metadata| !metadata.is_empty()).into(),
            Value::Blob(&event.payload),
        ]
    });
    values.collect()
}

fn stream(event: &PreparedEvent) -> Option<Stream<'_>> {
    Some((event.context.as_str(), event.key.as_deref()?))
}

/// The version of every stream of the batch that has events.
async fn versions<'a>(
    session: &mut dyn Session,
    sql: &'static Appending,
    events: &'a [PreparedEvent],
) -> Result<HashMap<Stream<'a>, u64>, StoreError> {
    let mut versions: HashMap<Stream<'a>, u64> = events.iter().filter_map(stream).map(|stream| (stream, 0)).collect();
    let streams: Vec<Stream<'a>> = versions.keys().copied().collect();
    for (sql, streams) in chunks(&sql.versions, &streams) {
        let values: Vec<_> =
            streams.iter().flat_map(|(context, key)| [Value::Text(context), Value::Text(key)]).collect();
        for row in session.fetch(sql, &values).await? {
            let (context, key, version) = (row.text(0)?, row.text(1)?, row.count(2)?);
            if let Some(stream) = streams.iter().find(|stream| **stream == (context, key)) {
                versions.insert(*stream, version);
            }
        }
    }
    Ok(versions)
}

async fn last_position(session: &mut dyn Session, sql: &Appending) -> Result<i64, StoreError> {
    session.fetch(sql.last_position, &[]).await?.first().map_or(Ok(0), |row| row.int(0))
}
