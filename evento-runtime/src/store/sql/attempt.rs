//! Ownerships that began and did not end, and the recorded attempts of the events that may be why.

use std::collections::BTreeMap;

use super::consumer::Named;
use super::session::{Session, Value};
use super::statements::{Statements, chunks};
use crate::error::StoreError;
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::store::{OwnershipMark, RecordedAttempt, Settlement};

/// Writes what a settlement says of its ownership and of attempts. Within a write transaction.
pub(super) async fn change(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    settlement: &Settlement,
) -> Result<(), StoreError> {
    let (consumer, sql) = (Value::Int(consumer), &sql.attempts);
    match settlement.ownership {
        Some(OwnershipMark::Begins) => {
            session.execute(sql.begin, &[consumer]).await?;
        }
        Some(OwnershipMark::Ends) => {
            session.execute(sql.end, &[consumer]).await?;
        }
        None => {}
    }
    if settlement.forget_attempts || settlement.ownership == Some(OwnershipMark::Ends) {
        session.execute(sql.clear, &[consumer]).await?;
    }
    // Each once, the last one counts; in their order, so that nobody waits for each other in a circle.
    let each: BTreeMap<&Position, u32> = settlement.attempts.iter().map(|it| (&it.position, it.attempts)).collect();
    let (kept, over): (Vec<_>, Vec<_>) = each.into_iter().partition(|(_, attempts)| *attempts > 0);
    for (statement, kept) in chunks(&sql.put, &kept) {
        let values = kept
            .iter()
            .flat_map(|(position, attempts)| [consumer, Value::from(*position), Value::Int(i64::from(*attempts))]);
        session.execute(statement, &values.collect::<Vec<_>>()).await?;
    }
    for (statement, over) in chunks(&sql.remove, &over) {
        let positions = over.iter().map(|(position, _)| Value::from(*position));
        session.execute(statement, &std::iter::once(consumer).chain(positions).collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// All of a consumer, ascending.
pub(crate) async fn list(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<Vec<RecordedAttempt>, StoreError> {
    let rows = session.fetch(sql.attempts.list, &Named::new(consumer).values()).await?;
    let read = rows.iter().map(|row| {
        let position = row.opt_position(0)?.ok_or_else(|| row.damaged(0))?;
        let attempts = u32::try_from(row.int(1)?).map_err(|_| row.damaged(1))?;
        Ok(RecordedAttempt { position, attempts })
    });
    read.collect()
}
