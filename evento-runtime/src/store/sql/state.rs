//! Checkpoints, flags, error history: reading them, and the engines' one write path.

use super::consumer::{Named, version_values};
use super::session::{Row, Session, Value};
use super::statements::Statements;
use super::{attempt, claim, completion, dead_letter, history, prune, saga, timer};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::{Position, Timestamp};
use crate::identity::{ConsumerId, Epoch};
use crate::source::PreparedEvent;
use crate::source::sql::known::fresh;
use crate::store::{Checkpoint, ConsumerState, Lease, Settlement};

/// What is stored for a consumer.
pub(crate) async fn load(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<ConsumerState, StoreError> {
    let of_version = version_values(&consumer.bundle, &consumer.component, consumer.version);
    let started = match session.fetch(sql.started, &of_version).await?.first() {
        Some(row) => row.flag(0)?,
        None => false,
    };
    let mut state = ConsumerState { started, ..ConsumerState::default() };
    let rows = session.fetch(sql.state, &Named::new(consumer).values()).await?;
    let Some(row) = rows.first() else { return Ok(state) };
    if let Some(epoch) = row.opt_int(0)? {
        state.epoch = Epoch(u64::try_from(epoch).map_err(|_| row.damaged(0))?);
    }
    if let Some(enabled) = row.opt_int(1)? {
        state.enabled = enabled != 0;
    }
    if let Some(errors) = row.opt_text(2)? {
        state.errors = history::decode(errors).map_err(|error| row.damaged(2).caused_by(error))?;
    }
    state.checkpoint = checkpoint(row)?;
    if let Some(resetting) = row.opt_int(6)? {
        state.resetting = resetting != 0;
    }
    state.replay_to = row.opt_position(7)?;
    state.begun = row.opt_int(8)?.map_or(Ok(0), |begun| u64::try_from(begun).map_err(|_| row.damaged(8)))?;
    Ok(state)
}

fn checkpoint(row: &Row) -> Result<Option<Checkpoint>, StoreError> {
    let Some(open) = row.opt_blob(5)? else { return Ok(None) };
    Ok(Some(Checkpoint {
        watermark: row.opt_position(3)?,
        reach: row.opt_position(4)?,
        open: Checkpoint::decode_open(open).map_err(|error| row.damaged(5).caused_by(error))?,
    }))
}

/// What a settlement holds if it is only one thing, as most do: then it takes one statement.
pub(crate) enum Alone<'s> {
    Checkpoint(&'s Checkpoint),
    Completed(&'s [Position]),
}

/// The one thing that a settlement holds.
pub(crate) fn alone(settlement: &Settlement) -> Option<Alone<'_>> {
    // Each field by its name: a new one has to say what it means here.
    let Settlement {
        dead_letters,
        emitted,
        resolved,
        parked,
        sagas,
        scheduled,
        fired,
        claims,
        forget_completed,
        completed,
        covered,
        ownership,
        attempts,
        forget_attempts,
        errors,
        started,
        resetting,
        replay_to,
        rereads,
        checkpoint,
    } = settlement;
    let is_alone = dead_letters.is_empty()
        && emitted.is_empty()
        && resolved.is_empty()
        && parked.is_empty()
        && sagas.is_empty()
        && scheduled.is_empty()
        && fired.is_empty()
        && claims.is_empty()
        && !forget_completed
        && covered.is_empty()
        && ownership.is_none()
        && attempts.is_empty()
        && !forget_attempts
        && errors.is_none()
        && !started
        && resetting.is_none()
        && replay_to.is_none()
        && !rereads;
    match checkpoint {
        _ if !is_alone => None,
        Some(checkpoint) if completed.is_empty() => Some(Alone::Checkpoint(checkpoint)),
        None if !completed.is_empty() => Some(Alone::Completed(completed)),
        _ => None,
    }
}

/// Stores such a checkpoint under the epoch of its lease, in one statement that needs no transaction. `false`: nothing
/// was stored, and it takes [`settle`] to say why.
pub(crate) async fn put_checkpoint_alone(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    lease: &Lease,
    checkpoint: &Checkpoint,
) -> Result<bool, StoreError> {
    let open = checkpoint.encode_open();
    let values = [
        checkpoint.watermark.as_ref().into(),
        checkpoint.reach.as_ref().into(),
        Value::Blob(&open),
        Value::Int(consumer),
        lease.epoch.0.into(),
    ];
    Ok(session.execute(sql.put_checkpoint_alone, &values).await? > 0)
}

/// Stores a settlement under the epoch of its lease. Within a write transaction, which the caller rolls back on any
/// error. The order is that of the fields: no checkpoint before the rows it relies on. Answers the events that are to be
/// appended by the caller, in the same transaction: each log has its own way.
pub(crate) async fn settle(
    session: &mut dyn Session,
    sql: &'static Statements,
    consumer: i64,
    lease: &Lease,
    settlement: &Settlement,
    now: Timestamp,
) -> Result<Vec<PreparedEvent>, StoreError> {
    let id = Value::Int(consumer);
    fence(session, sql, consumer, lease).await?;
    if let Some(checkpoint) = settlement.checkpoint.as_ref().filter(|_| settlement.rereads) {
        prune::check_rereads(session, sql, checkpoint).await?;
    }
    for letter in &settlement.dead_letters {
        dead_letter::put(session, sql, consumer, letter).await?;
    }
    for event in &settlement.resolved {
        dead_letter::resolve(session, sql, consumer, event, now).await?;
    }
    for wish in &settlement.parked {
        dead_letter::wish(session, sql, consumer, wish).await?;
    }
    for change in &settlement.sagas {
        saga::change(session, sql, consumer, change).await?;
    }
    for timer in &settlement.scheduled {
        timer::put(session, sql, consumer, timer).await?;
    }
    let fired = timer::fire(session, sql, consumer, &settlement.fired).await?;
    if !settlement.claims.is_empty() {
        claim::change(session, sql, consumer, lease, &settlement.claims).await?;
    }
    completion::change(session, sql, consumer, settlement).await?;
    attempt::change(session, sql, consumer, settlement).await?;
    if let Some(errors) = &settlement.errors {
        session.execute(sql.put_errors, &[id, Value::Text(&history::encode(errors))]).await?;
    }
    if settlement.started {
        session.execute(sql.put_started, &[id]).await?;
    }
    if let Some(resetting) = settlement.resetting {
        session.execute(sql.put_resetting, &[id, Value::Int(resetting.into())]).await?;
    }
    if let Some(replay_to) = &settlement.replay_to {
        session.execute(sql.put_replay, &[id, replay_to.into()]).await?;
    }
    match &settlement.checkpoint {
        Some(checkpoint) => {
            let open = checkpoint.encode_open();
            let values = [
                id,
                lease.epoch.0.into(),
                checkpoint.watermark.as_ref().into(),
                checkpoint.reach.as_ref().into(),
                Value::Blob(&open),
            ];
            session.execute(sql.put_checkpoint, &values).await?;
        }
        None => {
            session.execute(sql.touch_checkpoint, &[id]).await?;
        }
    }
    let events: Vec<&PreparedEvent> = settlement.emitted.iter().chain(fired).collect();
    fresh(session, sql, &events).await
}

/// Remembers the epoch; refused below the highest that was seen. Where a takeover must wait for this transaction, it
/// does from here on; where this is the takeover, it waits here.
pub(crate) async fn fence(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    lease: &Lease,
) -> Result<(), StoreError> {
    let values = [Value::Int(consumer), lease.epoch.0.into()];
    let stale = match sql.share_fence {
        None => session.execute(sql.fence, &values).await? == 0,
        Some(share) => {
            if !session.fetch(share, &values).await?.is_empty() {
                return Ok(());
            }
            // Unknown here so far, or stale.
            session.execute(sql.fence, &values).await?;
            session.fetch(share, &values).await?.is_empty()
        }
    };
    if stale {
        let detail = format!("`{}`, epoch {}", lease.consumer, lease.epoch);
        return Err(session.error(StoreErrorKind::Fenced).detail(detail));
    }
    Ok(())
}

/// Pause or resume. Within a write transaction.
pub(crate) async fn set_enabled(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    enabled: bool,
) -> Result<(), StoreError> {
    session.execute(sql.put_enabled, &[Value::Int(consumer), Value::Int(enabled.into())]).await?;
    Ok(())
}

/// Drops what is stored for a component version; epochs stay. Within a write transaction.
pub(crate) async fn forget(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    component: &str,
    version: u32,
) -> Result<usize, StoreError> {
    let values = version_values(bundle, component, version);
    if let Some(row) = session.fetch(sql.owned, &values).await?.first() {
        let detail = format!("`{bundle}/{component} v{version}` [{}] is owned right now", row.text(0)?);
        return Err(session.error(StoreErrorKind::Busy).detail(detail));
    }
    for statement in [
        sql.forget_letters,
        sql.parked.forget,
        sql.sagas.forget,
        sql.sagas.forget_associations,
        sql.timers.forget,
        sql.claims.forget,
        sql.completions.forget,
        sql.attempts.forget,
        sql.attempts.forget_begun,
    ] {
        session.execute(statement, &values).await?;
    }
    let forgotten = session.execute(sql.forget_checkpoints, &values).await?;
    Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
}

/// The last position before the first event, of those up to `upto`, that was recorded at `time` or later; 0 for none.
pub(crate) async fn before(
    session: &mut dyn Session,
    sql: &Statements,
    upto: i64,
    time: Timestamp,
) -> Result<i64, StoreError> {
    let values = [Value::Int(upto), Value::Int(time.as_micros()), Value::Int(upto)];
    session.fetch(sql.before, &values).await?.first().map_or(Ok(0), |row| row.int(0))
}
