//! Events whose ids came again.

use std::collections::{HashMap, HashSet};

use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{EventId, Position};
use crate::source::{Append, Appended, KnownEvent, PreparedEvent};
use crate::store::sql::session::{Row, Session, Value};
use crate::store::sql::statements::{Statements, chunks};

/// The answer to ids that were stored at or below `last` already; `None` if none was.
pub(crate) async fn recognise(
    session: &mut dyn Session,
    sql: &'static Statements,
    batch: &Append,
    last: i64,
) -> Result<Option<Result<Appended, AppendError>>, StoreError> {
    let mut found: HashMap<EventId, Row> = HashMap::new();
    for (sql, events) in chunks(&sql.events_by_id, &batch.events) {
        let ids: Vec<_> = events.iter().map(|event| Value::Blob(event.id.as_uuid().as_bytes())).collect();
        for row in session.fetch(sql, &ids).await? {
            if row.int(1)? <= last {
                found.insert(EventId::from_uuid(row.uuid(0)?), row);
            }
        }
    }
    let mut stored = Vec::with_capacity(batch.events.len());
    for event in &batch.events {
        stored.push(found.get(&event.id).map(known).transpose()?);
    }
    Ok(batch.recognise(&stored))
}

/// The events whose ids are not stored yet, each once.
pub(crate) async fn fresh(
    session: &mut dyn Session,
    sql: &'static Statements,
    events: &[&PreparedEvent],
) -> Result<Vec<PreparedEvent>, StoreError> {
    let mut known: HashSet<EventId> = HashSet::new();
    for (sql, events) in chunks(&sql.events_by_id, events) {
        let ids: Vec<_> = events.iter().map(|event| Value::Blob(event.id.as_uuid().as_bytes())).collect();
        for row in session.fetch(sql, &ids).await? {
            known.insert(EventId::from_uuid(row.uuid(0)?));
        }
    }
    // An id that a handler chose twice is known the second time.
    Ok(events.iter().filter(|event| known.insert(event.id)).map(|event| (*event).clone()).collect())
}

/// What an append that asks for nothing can fail of.
pub(crate) fn emitting(error: AppendError, store: &str) -> StoreError {
    match error {
        AppendError::Store(error) => error,
        error => StoreError::new(StoreErrorKind::Other, store).caused_by(error),
    }
}

fn known(row: &Row) -> Result<KnownEvent<'_>, StoreError> {
    Ok(KnownEvent {
        position: Position::from_u64(row.count(1)?),
        version: row.opt_int(2)?.map(u64::try_from).transpose().map_err(|_| row.damaged(2))?,
        name: row.text(3)?,
        context: row.text(4)?,
        key: row.opt_text(5)?,
        content_type: row.text(6)?,
        metadata: row.opt_blob(7)?.unwrap_or_default(),
        payload: row.blob(8)?,
    })
}
