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
use crate::outcome::ErrorClass;
use crate::store::{
    DeadLetter, LetterFilter, LetterKind, MAX_ERROR_TEXT, ParkedKey, ParkedRow, ParkedWish, StoredDeadLetter, fit_text,
};

/// In the place of a class: it was not tried.
const PARKED: &str = "parked";

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
        Value::Text(match letter.kind {
            LetterKind::Dead => class_name(letter.class),
            LetterKind::Parked => PARKED,
        }),
        Value::Text(&error),
        Value::Int(letter.attempts.into()),
        Value::Int(letter.first_failed_at.as_micros()),
        Value::Int(letter.last_failed_at.as_micros()),
    ];
    session.execute(sql.put_letter, &values).await?;
    if let Some(parks) = &letter.parks {
        let values = [
            Value::Int(consumer),
            Value::Blob(event.id.as_uuid().as_bytes()),
            Value::Text(&parks.context),
            Value::Text(&parks.key),
            Value::from(&event.position),
        ];
        session.execute(sql.parked.put, &values).await?;
    }
    Ok(())
}

/// Has everything unresolved of a parked key tried again, or not.
pub(super) async fn wish(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    wish: &ParkedWish,
) -> Result<(), StoreError> {
    let consumer = Value::Int(consumer);
    let values = [
        Value::Int(wish.redrive.into()),
        consumer,
        consumer,
        Value::Text(&wish.key.context),
        Value::Text(&wish.key.key),
    ];
    session.execute(sql.parked.wish, &values).await?;
    Ok(())
}

/// The unresolved ones that later events queue behind, ascending.
pub(crate) async fn parked(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<Vec<ParkedRow>, StoreError> {
    let rows = session.fetch(sql.parked.list, &Named::new(consumer).values()).await?;
    let parked = |row: &Row| {
        let key = ParkedKey { context: row.text(0)?.into(), key: row.text(1)?.into() };
        let position = row.opt_position(2)?.ok_or_else(|| row.damaged(2))?;
        let kind = if row.text(3)? == PARKED { LetterKind::Parked } else { LetterKind::Dead };
        Ok(ParkedRow { key, position, kind, requested: row.flag(4)? })
    };
    rows.iter().map(parked).collect()
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
    session.execute(sql.parked.remove, &values[1..]).await?;
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
    let discarded = session.execute(sql.discard_letters, &values).await?;
    if discarded > 0 {
        let values = [named.values(), named.values()].concat();
        session.execute(sql.parked.clear, &values).await?;
    }
    Ok(discarded)
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

/// Whether a filter asks for what no letter can be, or for a text that no store can hold: what has a NUL was made to fit, or refused, and some
/// databases take no such text as a value either.
fn fits_nothing(which: &LetterFilter) -> bool {
    let texts = [&which.name, &which.key, &which.handler, &which.error];
    let failed_and_not_tried = which.kind == Some(LetterKind::Parked) && which.class.is_some();
    failed_and_not_tried || texts.into_iter().flatten().any(|text| text.contains('\0'))
}

/// A filter, as the statements want it.
fn meant(which: &LetterFilter) -> [Value<'_>; 12] {
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
        which.class.map(class_name).or_else(|| (which.kind == Some(LetterKind::Parked)).then_some(PARKED)).into(),
        Value::Text(if which.kind == Some(LetterKind::Dead) { PARKED } else { "" }),
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
    let parks = match row.opt_text(17)? {
        Some(context) => Some(ParkedKey { context: context.into(), key: row.text(18)?.into() }),
        None => None,
    };
    let (kind, class) = match row.text(11)? {
        PARKED => (LetterKind::Parked, ErrorClass::Ordinary),
        class => (LetterKind::Dead, class_of(class)),
    };
    Ok(DeadLetter {
        event: Arc::new(event),
        kind,
        parks,
        handler: row.text(10)?.to_owned(),
        class,
        error: row.text(12)?.to_owned(),
        attempts: u32::try_from(row.int(13)?).map_err(|_| row.damaged(13))?,
        first_failed_at: Timestamp::from_micros(row.int(14)?),
        last_failed_at: Timestamp::from_micros(row.int(15)?),
    })
}
