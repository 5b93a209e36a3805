//! Looking at the log as people do: how much is left, what came last, what belongs to one key.

use super::session::{Session, Value};
use super::statements::Statements;
use crate::error::StoreError;
use crate::event::Position;
use crate::source::Browse;
use crate::source::sql::{number_of, position_of};

/// How many events follow a position, at most so many.
pub(crate) async fn count_after(
    session: &mut dyn Session,
    sql: &Statements,
    after: i64,
    at_most: u64,
) -> Result<u64, StoreError> {
    session
        .fetch(sql.count_after, &[Value::Int(after), at_most.into()])
        .await?
        .first()
        .map_or(Ok(0), |row| row.count(0))
}

/// The positions that are meant.
pub(crate) async fn positions(
    session: &mut dyn Session,
    sql: &Statements,
    which: &Browse,
    limit: usize,
) -> Result<Vec<Position>, StoreError> {
    let limit = Value::Int(i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = match which {
        Browse::Latest { before } => {
            let before = before.as_ref().map_or(Some(i64::MAX), number_of);
            let Some(before) = before else { return Ok(Vec::new()) };
            session.fetch(sql.latest, &[Value::Int(before), limit]).await?
        }
        // No key or context has a NUL, and some databases take none as a value.
        Browse::Key { context, key, .. } if context.contains('\0') || key.contains('\0') => return Ok(Vec::new()),
        Browse::Key { context, key, after } => {
            let Some(after) = after.as_ref().map_or(Some(0), number_of) else { return Ok(Vec::new()) };
            let values = [Value::Text(context), Value::Text(key), Value::Int(after), limit];
            session.fetch(sql.of_key, &values).await?
        }
    };
    let mut positions = Vec::with_capacity(rows.len());
    for row in &rows {
        positions.extend(position_of(row.int(0)?));
    }
    Ok(positions)
}
