//! Positions whose events were handled in transactions, until a checkpoint covers them.

use std::collections::BTreeSet;

use super::consumer::Named;
use super::session::{Session, Value};
use super::statements::{Chunked, Several, Statements, chunks};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::store::{Lease, Settlement};

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
    let put = match &sql.completions.put {
        Several::Chunked(put) => each(session, put, &[], &completed, |position| vec![consumer, position]).await?,
        Several::Listed(put) => all(session, put, &[consumer], &completed).await?,
    };
    all_put(session, put, completed.len())?;
    match &sql.completions.remove {
        Several::Chunked(remove) => each(session, remove, &[consumer], &covered, |position| vec![position]).await?,
        Several::Listed(remove) => match (covered.first(), covered.last()) {
            (Some(lowest), Some(highest)) => {
                all(session, remove, &[consumer, Value::from(*lowest), Value::from(*highest)], &covered).await?
            }
            _ => 0,
        },
    };
    Ok(())
}

fn all_put(session: &dyn Session, put: u64, completed: usize) -> Result<(), StoreError> {
    if put < u64::try_from(completed).unwrap_or(u64::MAX) {
        // A commit whose outcome was unknown was one after all: this transaction must not be a second one.
        return Err(session.error(StoreErrorKind::Conflict).detail("an event was completed before"));
    }
    Ok(())
}

/// What stands before a settlement that one statement stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is stored.
    Stored,
    /// The epoch is not known to hold: nothing is stored, and it takes several statements to say why.
    NotHeld,
    /// The transaction is not the one that was begun: nothing is stored.
    NotMarked,
}

/// Stores a settlement of nothing but completed positions, in one statement. Within the transaction of a handler.
pub(super) async fn settle(
    session: &mut dyn Session,
    statement: &'static str,
    consumer: i64,
    lease: &Lease,
    completed: &[Position],
) -> Result<Standing, StoreError> {
    let completed = distinct(completed);
    let list = listed(&completed);
    let rows = session.fetch(statement, &[Value::Int(consumer), lease.epoch.0.into(), Value::Text(&list)]).await?;
    let Some(row) = rows.first() else { return Ok(Standing::NotMarked) };
    match (row.flag(0)?, row.int(1)?) {
        (false, _) => Ok(Standing::NotMarked),
        (true, 0) => Ok(Standing::NotHeld),
        (true, _) => all_put(session, row.count(2)?, completed.len()).map(|()| Standing::Stored),
    }
}

/// Runs a statement for positions as one value, if there are any, `first` bound before it. Answers how many rows it changed.
async fn all(
    session: &mut dyn Session,
    statement: &'static str,
    first: &[Value<'_>],
    positions: &[&Position],
) -> Result<u64, StoreError> {
    if positions.is_empty() {
        return Ok(0);
    }
    let list = listed(positions);
    session.execute(statement, &[first, &[Value::Text(&list)]].concat()).await
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

/// Positions as one value: hexadecimal, with commas between them.
fn listed(positions: &[&Position]) -> String {
    let mut list = String::new();
    for position in positions {
        if !list.is_empty() {
            list.push(',');
        }
        for byte in position.as_bytes() {
            list.extend([byte >> 4, byte & 15].map(|nibble| char::from(b"0123456789abcdef"[usize::from(nibble)])));
        }
    }
    list
}
