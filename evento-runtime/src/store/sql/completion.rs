//! Positions whose events were handled in transactions, until a checkpoint covers them.

use std::collections::BTreeSet;

use super::consumer::Named;
use super::session::{Session, Value};
use super::statements::{Chunked, Statements, chunks};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::store::Settlement;

/// Writes what a settlement says of completed positions. Within a write transaction.
pub(super) async fn change(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    settlement: &Settlement,
) -> Result<(), StoreError> {
    let consumer = Value::Int(consumer);
    if settlement.forget_completed {
        session.execute(sql.completions.clear, &[consumer]).await?;
    }
    let (completed, covered) = (distinct(&settlement.completed), distinct(&settlement.covered));
    let put = each(session, &sql.completions.put, &[], &completed, |position| vec![consumer, position]).await?;
    if put < u64::try_from(completed.len()).unwrap_or(u64::MAX) {
        // A commit whose outcome was unknown was one after all: this transaction must not be a second one.
        return Err(session.error(StoreErrorKind::Conflict).detail("an event was completed before"));
    }
    each(session, &sql.completions.remove, &[consumer], &covered, |position| vec![position]).await?;
    Ok(())
}

/// In their order, so that nobody waits for each other in a circle.
fn distinct(positions: &[Position]) -> Vec<&Position> {
    positions.iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Runs a statement for positions, `first` bound before the values of each. Answers how many rows it changed.
async fn each<'a>(
    session: &mut dyn Session,
    statements: &'static Chunked,
    first: &[Value<'a>],
    positions: &[&'a Position],
    values_of: impl Fn(Value<'a>) -> Vec<Value<'a>>,
) -> Result<u64, StoreError> {
    let mut changed = 0;
    for (statement, positions) in chunks(statements, positions) {
        let mut values = first.to_vec();
        values.extend(positions.iter().flat_map(|position| values_of(Value::from(*position))));
        changed += session.execute(statement, &values).await?;
    }
    Ok(changed)
}

/// All of a consumer, ascending.
pub(crate) async fn list(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<Vec<Position>, StoreError> {
    let rows = session.fetch(sql.completions.list, &Named::new(consumer).values()).await?;
    rows.iter().map(|row| row.opt_position(0)?.ok_or_else(|| row.damaged(0))).collect()
}
