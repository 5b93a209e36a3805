//! Taking events out of the log: a piece in a transaction, which nobody overtakes.
//!
//! What is gone, and how far consumers have come, are judged in one transaction that holds the mark. Whoever is about to
//! read from below it, a new consumer or one that is moved back, stores that first or in the same transaction, then
//! looks at the mark: it sees what is gone, or is seen.

use super::session::{Row, Session, Value};
use super::statements::Statements;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::{ConsumerId, ContextPattern};
use crate::source::sql::{number_of, position_of};
use crate::source::{Prune, Pruned};
use crate::store::Checkpoint;

/// The statements of taking events out.
pub(crate) struct PruneStatements {
    /// → the position up to which events may be gone, as a text.
    pub(crate) mark: &'static str,
    /// The same; nobody else moves it, or looks at it by `share`, until the end of the transaction.
    pub(crate) hold: &'static str,
    /// The same; nobody moves it until the end of the transaction.
    pub(crate) share: &'static str,
    /// text.
    pub(crate) put_mark: &'static str,
    /// → bundle, component, version, context, watermark of every consumer that is stored.
    pub(crate) watermarks: &'static str,
    /// position, position, limit → position, recorded_at of the events between them that are not the last of the log.
    pub(crate) page: &'static str,
    /// Twice position, position → how many go with the events between them: those without a key, and of the others
    /// the one before.
    pub(crate) count: &'static str,
    /// The same values. Deletes them.
    pub(crate) delete: &'static str,
}

/// Within a write transaction; a dry one within any.
pub(crate) async fn prune(session: &mut dyn Session, sql: &Statements, piece: &Prune) -> Result<Pruned, StoreError> {
    let sql = &sql.prune;
    let mark = mark(session, if piece.dry { sql.mark } else { sql.hold }).await?;
    let from = piece.after.as_ref().and_then(number_of).unwrap_or(0).max(mark);
    let slowest = slowest(session, sql).await?;
    let mut pruned = Pruned { to: position_of(from), ..Pruned::default() };
    let Some((consumer, bound)) = slowest else { return Ok(pruned) };
    pruned.slowest = Some((consumer, position_of(bound)));
    let limit = i64::try_from(piece.events).unwrap_or(i64::MAX).max(1);
    let rows = session.fetch(sql.page, &[Value::Int(from), Value::Int(bound), Value::Int(limit)]).await?;
    let mut to = from;
    pruned.more = i64::try_from(rows.len()).is_ok_and(|rows| rows >= limit);
    for row in &rows {
        if row.int(1)? >= piece.before.as_micros() {
            pruned.more = false;
            break;
        }
        to = row.int(0)?;
    }
    if to == from {
        return Ok(pruned);
    }
    let between = [Value::Int(from), Value::Int(to), Value::Int(from), Value::Int(to)];
    pruned.to = position_of(to);
    if piece.dry {
        let rows = session.fetch(sql.count, &between).await?;
        pruned.events = rows.first().map_or(Ok(0), |row| row.count(0))?;
        return Ok(pruned);
    }
    session.execute(sql.put_mark, &[Value::Text(&to.to_string())]).await?;
    pruned.events = session.execute(sql.delete, &between).await?;
    Ok(pruned)
}

/// Refuses a checkpoint that moves back to where events are gone. Within the transaction that stores it.
pub(crate) async fn check_rereads(
    session: &mut dyn Session,
    sql: &Statements,
    checkpoint: &Checkpoint,
) -> Result<(), StoreError> {
    let mark = mark(session, sql.prune.share).await?;
    match checkpoint.watermark.as_ref().map_or(Some(0), number_of) {
        Some(number) if number < mark => {
            Err(session.error(StoreErrorKind::Pruned).detail(format!("everything up to position {mark}")))
        }
        _ => Ok(()),
    }
}

/// 0: everything is there.
pub(crate) async fn mark(session: &mut dyn Session, statement: &'static str) -> Result<i64, StoreError> {
    let rows = session.fetch(statement, &[]).await?;
    let Some(row) = rows.first() else { return Ok(0) };
    row.text(0)?.parse().map_err(|_| row.damaged(0))
}

/// The consumer that has come least far. One whose positions are not numbers reads another log.
async fn slowest(session: &mut dyn Session, sql: &PruneStatements) -> Result<Option<(ConsumerId, i64)>, StoreError> {
    let mut slowest: Option<(ConsumerId, i64)> = None;
    for row in session.fetch(sql.watermarks, &[]).await? {
        let watermark = row.opt_position(4)?;
        let Some(number) = watermark.as_ref().map_or(Some(0), number_of) else { continue };
        if slowest.as_ref().is_none_or(|(_, least)| number < *least) {
            slowest = Some((consumer_of(&row)?, number));
        }
    }
    Ok(slowest)
}

fn consumer_of(row: &Row) -> Result<ConsumerId, StoreError> {
    Ok(ConsumerId {
        bundle: row.text(0)?.into(),
        component: row.text(1)?.into(),
        version: u32::try_from(row.int(2)?).map_err(|_| row.damaged(2))?,
        context: ContextPattern::parse(row.text(3)?).map_err(|reason| row.damaged(3).caused_by(reason))?,
    })
}

/// What goes with the events between two positions. Versions of a key have no holes: the event before the one that
/// stays has the version before.
macro_rules! gone {
    ($event:literal, $key:literal) => {
        concat!(
            "SELECT o.position FROM ",
            $event,
            " AS n JOIN ",
            $event,
            " AS o ON o.context = n.context AND o.",
            $key,
            " = n.",
            $key,
            " AND o.version = n.version - 1 WHERE n.position > ? AND n.position <= ? AND n.",
            $key,
            " IS NOT NULL AND o.",
            $key,
            " IS NOT NULL UNION ALL SELECT position FROM ",
            $event,
            " WHERE position > ? AND position <= ? AND ",
            $key,
            " IS NULL"
        )
    };
}
pub(crate) use gone;
