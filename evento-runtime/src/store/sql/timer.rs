//! Events to be appended later.

use std::collections::HashSet;

use bytes::Bytes;

use super::consumer::Named;
use super::saga::id_value;
use super::session::{Row, Session, Value};
use super::statements::{Statements, chunks};
use crate::error::StoreError;
use crate::event::{EventId, Timestamp};
use crate::identity::ConsumerId;
use crate::source::PreparedEvent;
use crate::store::{SagaId, Timer};

/// Keeps an event for later, unless it is kept already or its instance does not live. Within a write transaction.
pub(super) async fn put(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    timer: &Timer,
) -> Result<(), StoreError> {
    let event = &timer.event;
    let values = [
        Value::Blob(event.id.as_uuid().as_bytes()),
        Value::Int(timer.due_at.as_micros()),
        Value::Text(&event.name),
        Value::Text(&event.context),
        event.key.as_deref().into(),
        Value::Text(&event.content_type),
        Some(&*event.metadata).filter(|metadata| !metadata.is_empty()).into(),
        Value::Blob(&event.payload),
        Value::Int(consumer),
        id_value(&timer.saga),
    ];
    session.execute(sql.timers.put, &values).await?;
    Ok(())
}

/// Removes timers; answers the events of those that were there. Within a write transaction.
pub(super) async fn fire<'a>(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    fired: &'a [PreparedEvent],
) -> Result<Vec<&'a PreparedEvent>, StoreError> {
    let mut known: HashSet<EventId> = HashSet::new();
    for (statement, events) in chunks(&sql.timers.known, fired) {
        for row in session.fetch(statement, &values(consumer, events)).await? {
            known.insert(EventId::from_uuid(row.uuid(0)?));
        }
    }
    let due: Vec<&PreparedEvent> = fired.iter().filter(|event| known.contains(&event.id)).collect();
    for (statement, events) in chunks(&sql.timers.remove, &due) {
        session.execute(statement, &values(consumer, events.iter().copied())).await?;
    }
    Ok(due)
}

fn values<'a>(consumer: i64, events: impl IntoIterator<Item = &'a PreparedEvent>) -> Vec<Value<'a>> {
    let mut values = vec![Value::Int(consumer)];
    values.extend(events.into_iter().map(|event| Value::Blob(event.id.as_uuid().as_bytes())));
    values
}

/// Those of a consumer, the earliest first.
pub(crate) async fn list(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    limit: usize,
) -> Result<Vec<Timer>, StoreError> {
    let named = Named::new(consumer);
    let [bundle, component, version, context] = named.values();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = session.fetch(sql.timers.list, &[bundle, component, version, context, Value::Int(limit)]).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Timer, StoreError> {
    let event = PreparedEvent {
        id: EventId::from_uuid(row.uuid(0)?),
        name: row.text(3)?.to_owned(),
        context: row.text(4)?.to_owned(),
        key: row.opt_text(5)?.map(str::to_owned),
        content_type: row.text(6)?.to_owned(),
        payload: Bytes::copy_from_slice(row.blob(8)?),
        metadata: row.opt_blob(7)?.map(Bytes::copy_from_slice).unwrap_or_default(),
    };
    Ok(Timer { event, saga: SagaId::from_uuid(row.uuid(1)?), due_at: Timestamp::from_micros(row.int(2)?) })
}
