//! Saga instances, and the associations they are found by.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use bytes::Bytes;

use super::consumer::Named;
use super::session::{Row, Session, Value};
use super::statements::{Statements, chunks};
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::ConsumerId;
use crate::store::{Association, SagaChange, SagaFound, SagaId, SagaInstance};

/// What one event made of an instance. Within a write transaction.
pub(super) async fn change(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    change: &SagaChange,
) -> Result<(), StoreError> {
    let (consumer, id, applied) = (Value::Int(consumer), id_value(&change.id), Value::from(&change.applied));
    let Some(state) = &change.state else {
        session.execute(sql.sagas.end, &[consumer, id, applied]).await?;
        session.execute(sql.sagas.free_associations, &[consumer, id]).await?;
        session.execute(sql.timers.remove_all, &[consumer, id]).await?;
        return Ok(());
    };
    session.execute(sql.sagas.put, &[consumer, id, Value::Blob(state), applied]).await?;
    let rows = session.fetch(sql.sagas.associations, &[consumer, id]).await?;
    if rows.is_empty() {
        // It has ended, and stays so.
        return Ok(());
    }
    let mut found = BTreeSet::new();
    for row in &rows {
        found.extend(association(row, 0)?);
    }
    let wanted: BTreeSet<&Association> = change.associations.iter().collect();
    // In the order of their bytes, so that two instances that want the same wait for each other in one order.
    let gone: Vec<&Association> = found.iter().filter(|association| !wanted.contains(association)).collect();
    let new: Vec<&Association> = wanted.into_iter().filter(|association| !found.contains(*association)).collect();
    for (statement, gone) in chunks(&sql.sagas.drop_associations, &gone) {
        let mut values = vec![consumer, id];
        values.extend(gone.iter().flat_map(|gone| [Value::Text(gone.property()), Value::Text(gone.value())]));
        session.execute(statement, &values).await?;
    }
    let mut added = 0;
    for (statement, new) in chunks(&sql.sagas.add_associations, &new) {
        let rows = new.iter().map(|new| [consumer, Value::Text(new.property()), Value::Text(new.value()), id]);
        let values: Vec<Value<'_>> = rows.flatten().collect();
        added += session.execute(statement, &values).await?;
    }
    if added < u64::try_from(new.len()).unwrap_or(u64::MAX) {
        return Err(conflict(session, change.id, &new));
    }
    Ok(())
}

/// Without values: whose they are is nobody's business who reads a log.
fn conflict(session: &dyn Session, id: SagaId, new: &[&Association]) -> StoreError {
    let properties: BTreeSet<&str> = new.iter().map(|association| association.property()).collect();
    let properties = properties.into_iter().collect::<Vec<_>>().join("`, `");
    let detail = format!("another live instance is found by what saga {id} is to be found by: `{properties}`");
    session.error(StoreErrorKind::Conflict).detail(detail)
}

/// The live instance that is found by an association, or whether the one an event would begin has ended.
pub(crate) async fn find(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    association: &Association,
    begun: SagaId,
) -> Result<SagaFound, StoreError> {
    let named = Named::new(consumer);
    let [bundle, component, version, context] = named.values();
    let (property, value) = (Value::Text(association.property()), Value::Text(association.value()));
    let rows = session.fetch(sql.sagas.find, &[bundle, component, version, context, property, value]).await?;
    if let Some(instance) = instances(&rows)?.pop() {
        return Ok(SagaFound::Live(instance));
    }
    let values = [bundle, component, version, context, id_value(&begun)];
    let begun = !session.fetch(sql.sagas.begun, &values).await?.is_empty();
    Ok(if begun { SagaFound::Begun } else { SagaFound::Unknown })
}

/// Live instances, ascending.
pub(crate) async fn list(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
    after: Option<SagaId>,
    limit: usize,
) -> Result<Vec<SagaInstance>, StoreError> {
    let named = Named::new(consumer);
    let [bundle, component, version, context] = named.values();
    // Nothing stands before every id.
    let after = after.as_ref().map_or(Value::Blob(&[]), id_value);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [bundle, component, version, context, after, Value::Int(limit)];
    instances(&session.fetch(sql.sagas.live, &values).await?)
}

/// One of each id, ascending, of a row per association: one statement, so that state and associations fit together.
fn instances(rows: &[Row]) -> Result<Vec<SagaInstance>, StoreError> {
    let mut instances: BTreeMap<SagaId, SagaInstance> = BTreeMap::new();
    for row in rows {
        let id = SagaId::from_uuid(row.uuid(0)?);
        let instance = match instances.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let state = Bytes::copy_from_slice(row.blob(1)?);
                let applied = row.opt_position(2)?.ok_or_else(|| row.damaged(2))?;
                entry.insert(SagaInstance::new(id, state, Vec::new(), applied))
            }
        };
        instance.associations.extend(association(row, 3)?);
    }
    let mut instances: Vec<SagaInstance> = instances.into_values().collect();
    for instance in &mut instances {
        instance.associations.sort();
    }
    Ok(instances)
}

/// Property and value, from `column` on; `None` where there is none.
fn association(row: &Row, column: usize) -> Result<Option<Association>, StoreError> {
    let Some(property) = row.opt_text(column)? else { return Ok(None) };
    Ok(Some(Association::stored(property.to_owned(), row.text(column + 1)?.to_owned())))
}

pub(super) fn id_value(id: &SagaId) -> Value<'_> {
    Value::Blob(id.as_uuid().as_bytes())
}
