//! Claims: which events an observer has begun to handle, and which it has handled.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::consumer::Named;
use super::session::{Session, Value};
use super::statements::{Chunked, Statements, chunks};
use crate::error::StoreError;
use crate::event::EventId;
use crate::identity::{ConsumerId, OwnerId};
use crate::store::{ClaimState, Claims, Lease};

/// Writes what an owner has begun and ended. Within a write transaction.
pub(super) async fn change(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    lease: &Lease,
    claims: &Claims,
) -> Result<(), StoreError> {
    let (consumer, owner) = (Value::Int(consumer), Value::Blob(lease.owner.as_uuid().as_bytes()));
    if claims.forget {
        session.execute(sql.claims.clear, &[consumer]).await?;
    }
    let expiry = micros(claims.expiry);
    let take = |event| vec![consumer, event, owner, expiry];
    each(session, &sql.claims.take, &[], &claims.taken, take).await?;
    each(session, &sql.claims.release, &[consumer, owner], &claims.released, |event| vec![event]).await?;
    each(session, &sql.claims.finish, &[], &claims.done, |event| vec![consumer, event, owner]).await
}

/// Runs a statement for events, `first` bound before the values of each. Once for each event: a row that comes twice
/// in one statement is refused by some. In the order of their bytes, so that nobody waits for each other in a circle.
async fn each<'a>(
    session: &mut dyn Session,
    statements: &'static Chunked,
    first: &[Value<'a>],
    events: &'a [EventId],
    values_of: impl Fn(Value<'a>) -> Vec<Value<'a>>,
) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let events: Vec<&EventId> = events.iter().collect::<BTreeSet<_>>().into_iter().collect();
    for (statement, events) in chunks(statements, &events) {
        let mut values = first.to_vec();
        values.extend(events.iter().flat_map(|event| values_of(Value::Blob(event.as_uuid().as_bytes()))));
        session.execute(statement, &values).await?;
    }
    Ok(())
}

/// What is known of events, in the order they were asked for.
pub(crate) async fn find(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: &ConsumerId,
    events: &[EventId],
) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
    let named = Named::new(consumer);
    let mut found: HashMap<EventId, ClaimState> = HashMap::new();
    for (statement, events) in chunks(&sql.claims.find, events) {
        let mut values = named.values().to_vec();
        values.extend(events.iter().map(|event| Value::Blob(event.as_uuid().as_bytes())));
        for row in session.fetch(statement, &values).await? {
            let state = if row.flag(2)? {
                ClaimState::Done
            } else {
                let remaining = Duration::from_micros(row.count(3)?);
                ClaimState::Held { owner: OwnerId::from_uuid(row.uuid(1)?), remaining }
            };
            found.insert(EventId::from_uuid(row.uuid(0)?), state);
        }
    }
    Ok(events.iter().filter_map(|event| Some((*event, found.remove(event)?))).collect())
}

/// How many rows a sweep deletes at once: one write of all that has come together would hold others up.
pub(crate) const SWEPT: u64 = 1_000;

/// Deletes at most [`SWEPT`] rows by a statement that takes an age and a bundle; answers how many.
pub(crate) async fn sweep(
    session: &mut dyn Session,
    statement: &'static str,
    bundle: &str,
    age: Duration,
) -> Result<u64, StoreError> {
    session.execute(statement, &[micros(age), Value::Text(bundle)]).await
}

/// A time that can be added to that of a database, or taken from it, without leaving what it can hold.
fn micros(duration: Duration) -> Value<'static> {
    const MOST: i64 = i64::MAX / 2;
    Value::Int(i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST)))
}
