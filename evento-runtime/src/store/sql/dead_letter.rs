//! Dead letters: one row per (consumer, event).

use std::sync::Arc;

use bytes::Bytes;

use super::consumer::Named;
use super::history::{class_name, class_of};
use super::session::{Row, Session, Value};
use super::statements::Statements;
use crate::error::StoreError;
use crate::event::{EventId, Position, StoredEvent, Timestamp};
use crate::identity::ConsumerId;
use crate::store::{DeadLetter, LetterFilter, MAX_ERROR_TEXT, StoredDeadLetter, fit_text};

/// Adds a dead letter, or its attempts to the one that is there.
pub(super) async fn put(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    letter: &DeadLetter,
) -> Result<(), StoreError> {
    let event = &*letter.event;
    let error = fit_text(letter.error.clone(), MAX_ERROR_TEXT);
    let handler = fit_text(letter.handler.clone(), MAX_ERROR_TEXT);
    let values = [
        Value::Int(consumer),
        Value::from(&event.position),
        Value::Blob(event.id.as_uuid().as_bytes()),
        Value::Text(&event.name),
        Value::Text(&event.context),
        event.key.as_deref().into(),
        event.version.into(),
        Value::Int(event.recorded_at.as_micros()),
        Value::Text(&event.content_type),
        Some(&*event.metadata).filter(|metadata| !metadata.is_empty()).into(),
        Value::Blob(&event.payload),
        Value::Text(&handler),
        Value::Text(class_name(letter.class)),
        Value::Text(&error),
        Value::Int(letter.attempts.into()),
        Value::Int(letter.first_failed_at.as_micros()),
        Value::Int(letter.last_failed_at.as_micros()),
    ];
    session.execute(sql.put_letter, &values).await?;
    Ok(())
}

/// It was handled after all.
pub(super) async fn resolve(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    event: &EventId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let values = [Value::Int(now.as_micros()), Value::Int(consumer), Value::Blob(event.as_uuid().as_bytes())];
    session.execute(sql.resolve_letter, &values).await?;
    Ok(())
}

/// Marks dead letters to be tried again. Within a write transaction.
pub(crate) async fn request(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    which: &LetterFilter,
) -> Result<u64, StoreError> {
    if fits_nothing(which) {
        return Ok(0);
    }
    let named = Named::new(consumer);
    let mut values = named.values().to_vec();
    values.extend(meant(which));
    session.execute(sql.request_letters, &values).await
}

/// Resolves dead letters without handling them. Within a write transaction.
pub(crate) async fn discard(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    which: &LetterFilter,
    now: Timestamp,
) -> Result<u64, StoreError> {
    if fits_nothing(which) {
        return Ok(0);
    }
    let named = Named::new(consumer);
    let mut values = vec![Value::Int(now.as_micros())];
    values.extend(named.values());
    values.extend(meant(which));
    session.execute(sql.discard_letters, &values).await
}

/// Deletes what was resolved before.
pub(crate) async fn purge(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let named = Named::new(consumer);
    let mut values = named.values().to_vec();
    values.push(Value::Int(before.as_micros()));
    session.execute(sql.purge_letters, &values).await
}

/// Whether a filter asks for a text that no store can hold: what has a NUL was made to fit, or refused, and some
/// databases take no such text as a value either.
fn fits_nothing(which: &LetterFilter) -> bool {
    let texts = [&which.name, &which.key, &which.handler, &which.error];
    texts.into_iter().flatten().any(|text| text.contains('\0'))
}

/// A filter, as the statements want it.
fn meant(which: &LetterFilter) -> [Value<'_>; 11] {
    let key = which.key.as_deref().into();
    // Every text holds the empty one.
    let error = which.error.as_deref().filter(|part| !part.is_empty()).into();
    let before = which.before.map(Timestamp::as_micros).into();
    [
        which.position.as_ref().into(),
        which.name.as_deref().into(),
        key,
        key,
        which.handler.as_deref().into(),
        which.class.map(class_name).into(),
        error,
        error,
        which.since.map(Timestamp::as_micros).into(),
        before,
        before,
    ]
}

/// Unresolved dead letters that are meant, oldest first; `requested`: only those that are marked.
pub(crate) async fn list(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    which: &LetterFilter,
    after: Option<&Position>,
    requested: bool,
    limit: usize,
) -> Result<Vec<StoredDeadLetter>, StoreError> {
    if fits_nothing(which) {
        return Ok(Vec::new());
    }
    let named = Named::new(consumer);
    let after = after.map_or(&[][..], Position::as_bytes);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut values = named.values().to_vec();
    values.extend(meant(which));
    values.extend([Value::Blob(after), Value::Int(requested.into()), Value::Int(limit)]);
    let rows = session.fetch(sql.letters, &values).await?;
    let stored =
        |row: &Row| Ok(StoredDeadLetter { consumer: consumer.clone(), letter: read(row)?, requested: row.flag(16)? });
    rows.iter().map(stored).collect()
}

/// How many there are.
pub(crate) async fn count(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<u64, StoreError> {
    let rows = session.fetch(sql.count_letters, &Named::new(consumer).values()).await?;
    rows.first().map_or(Ok(0), |row| row.count(0))
}

fn read(row: &Row) -> Result<DeadLetter, StoreError> {
    let event = StoredEvent {
        position: row.opt_position(0)?.ok_or_else(|| row.damaged(0))?,
        id: EventId::from_uuid(row.uuid(1)?),
        name: row.text(2)?.into(),
        context: row.text(3)?.into(),
        key: row.opt_text(4)?.map(Into::into),
        version: row.opt_int(5)?.map(u64::try_from).transpose().map_err(|_| row.damaged(5))?,
        recorded_at: Timestamp::from_micros(row.int(6)?),
        content_type: row.text(7)?.into(),
        metadata: row.opt_blob(8)?.map(Bytes::copy_from_slice).unwrap_or_default(),
        payload: Bytes::copy_from_slice(row.blob(9)?),
    };
    Ok(DeadLetter {
        event: Arc::new(event),
        handler: row.text(10)?.to_owned(),
        class: class_of(row.text(11)?),
        error: row.text(12)?.to_owned(),
        attempts: u32::try_from(row.int(13)?).map_err(|_| row.damaged(13))?,
        first_failed_at: Timestamp::from_micros(row.int(14)?),
        last_failed_at: Timestamp::from_micros(row.int(15)?),
    })
}
