//! Positions whose events were handled in transactions, until a checkpoint covers them.

use std::collections::BTreeSet;

use super::consumer::Named;
use super::session::{Session, Value};
use super::statements::{Chunked, Statements, chunks};
use crate::error::StoreError;
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
    each(session, &sql.completions.put, &[], &settlement.completed, |position| vec![consumer, position]).await?;
    each(session, &sql.completions.remove, &[consumer], &settlement.covered, |position| vec![position]).await
}

/// Runs a statement for positions, `first` bound before the values of each. In their order, so that nobody waits for
/// each other in a circle.
async fn each<'a>(
    session: &mut dyn Session,
    statements: &'static Chunked,
    first: &[Value<'a>],
    positions: &'a [Position],
    values_of: impl Fn(Value<'a>) -> Vec<Value<'a>>,
) -> Result<(), StoreError> {
    if positions.is_empty() {
        return Ok(());
    }
    let positions: Vec<&Position> = positions.iter().collect::<BTreeSet<_>>().into_iter().collect();
    for (statement, positions) in chunks(statements, &positions) {
        let mut values = first.to_vec();
        values.extend(positions.iter().flat_map(|position| values_of(Value::from(*position))));
        session.execute(statement, &values).await?;
    }
    Ok(())
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
