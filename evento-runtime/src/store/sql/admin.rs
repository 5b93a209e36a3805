//! Commands, audit, instances, and who owns what.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::claim::sweep;
use super::consumer::ensure_id;
use super::session::{Row, Session, Value};
use super::statements::Statements;
use crate::error::StoreError;
use crate::event::Timestamp;
use crate::identity::{ConsumerId, ContextPattern, Epoch, OwnerId};
use crate::store::{AuditRow, CommandAnswer, CommandRow, InstanceRow, Lease, MAX_ERROR_TEXT, fit_text};

/// Within a write transaction.
pub(crate) async fn ask(session: &mut dyn Session, sql: &Statements, command: &CommandRow) -> Result<(), StoreError> {
    let consumer = ensure_id(session, sql, &command.consumer).await?;
    let (id, asked_at) = (Value::Blob(command.id.as_bytes()), Value::Int(command.asked_at.as_micros()));
    let values = [id, Value::Int(consumer), Value::Text(&command.body), asked_at];
    session.execute(sql.admin.put_command, &values).await?;
    Ok(())
}

pub(crate) async fn asked(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    limit: usize,
) -> Result<Vec<CommandRow>, StoreError> {
    let values = [Value::Text(bundle), limit_of(limit)];
    let bundle: Arc<str> = bundle.into();
    session.fetch(sql.admin.asked, &values).await?.iter().map(|row| command_of(row, &bundle)).collect()
}

pub(crate) async fn command(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    id: Uuid,
) -> Result<Option<CommandRow>, StoreError> {
    let rows = session.fetch(sql.admin.command, &[Value::Text(bundle), Value::Blob(id.as_bytes())]).await?;
    rows.first().map(|row| command_of(row, &bundle.into())).transpose()
}

fn command_of(row: &Row, bundle: &Arc<str>) -> Result<CommandRow, StoreError> {
    let answer = match row.opt_int(6)? {
        None => None,
        Some(done) => Some(CommandAnswer {
            done: done != 0,
            text: row.opt_text(7)?.unwrap_or_default().to_owned(),
            at: Timestamp::from_micros(row.int(8)?),
        }),
    };
    Ok(CommandRow {
        id: row.uuid(0)?,
        consumer: consumer_of(row, 1, bundle)?,
        body: row.text(4)?.to_owned(),
        asked_at: Timestamp::from_micros(row.int(5)?),
        answer,
    })
}

/// Component, version and context in three columns.
fn consumer_of(row: &Row, first: usize, bundle: &Arc<str>) -> Result<ConsumerId, StoreError> {
    let context = ContextPattern::parse(row.text(first + 2)?);
    Ok(ConsumerId {
        bundle: Arc::clone(bundle),
        component: row.text(first)?.into(),
        version: u32::try_from(row.int(first + 1)?).map_err(|_| row.damaged(first + 1))?,
        context: context.map_err(|reason| row.damaged(first + 2).caused_by(reason))?,
    })
}

pub(crate) async fn answer(
    session: &mut dyn Session,
    sql: &Statements,
    id: Uuid,
    answer: &CommandAnswer,
) -> Result<(), StoreError> {
    let text = answer.clone().fit().text;
    let (done, at) = (Value::Int(answer.done.into()), Value::Int(answer.at.as_micros()));
    session.execute(sql.admin.answer, &[done, Value::Text(&text), at, Value::Blob(id.as_bytes())]).await?;
    Ok(())
}

pub(crate) async fn note(session: &mut dyn Session, sql: &Statements, row: &AuditRow) -> Result<(), StoreError> {
    let row = row.clone().fit();
    let values = [
        Value::Blob(row.id.as_bytes()),
        Value::Text(&row.bundle),
        Value::Int(row.at.as_micros()),
        Value::Text(&row.who),
        Value::Text(&row.origin),
        Value::Text(&row.action),
        Value::Text(&row.target),
        Value::Text(&row.detail),
        Value::Text(&row.result),
    ];
    session.execute(sql.admin.put_audit, &values).await?;
    Ok(())
}

pub(crate) async fn audit(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    before: Option<Uuid>,
    limit: usize,
) -> Result<Vec<AuditRow>, StoreError> {
    // No id that is made of the time is as high.
    let before = before.unwrap_or(Uuid::max());
    let values = [Value::Text(bundle), Value::Blob(before.as_bytes()), limit_of(limit)];
    let row = |row: &Row| {
        let text = |column| Ok::<_, StoreError>(row.text(column)?.to_owned());
        Ok(AuditRow {
            id: row.uuid(0)?,
            bundle: text(1)?,
            at: Timestamp::from_micros(row.int(2)?),
            who: text(3)?,
            origin: text(4)?,
            action: text(5)?,
            target: text(6)?,
            detail: text(7)?,
            result: text(8)?,
        })
    };
    session.fetch(sql.admin.audit, &values).await?.iter().map(row).collect()
}

pub(crate) async fn beat(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    instance: &InstanceRow,
) -> Result<(), StoreError> {
    let name = fit_text(instance.name.clone(), MAX_ERROR_TEXT);
    let values = [
        Value::Text(bundle),
        Value::Blob(instance.owner.as_uuid().as_bytes()),
        Value::Text(&name),
        Value::Int(instance.started_at.as_micros()),
        Value::Text(&instance.figures),
    ];
    session.execute(sql.admin.beat, &values).await?;
    Ok(())
}

pub(crate) async fn leave(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    owner: OwnerId,
) -> Result<(), StoreError> {
    session.execute(sql.admin.leave, &[Value::Text(bundle), Value::Blob(owner.as_uuid().as_bytes())]).await?;
    Ok(())
}

pub(crate) async fn instances(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
) -> Result<Vec<(InstanceRow, Duration)>, StoreError> {
    let instance = |row: &Row| {
        let instance = InstanceRow {
            owner: OwnerId::from_uuid(row.uuid(0)?),
            name: row.text(1)?.to_owned(),
            started_at: Timestamp::from_micros(row.int(2)?),
            figures: row.text(3)?.to_owned(),
        };
        Ok((instance, Duration::from_micros(row.count(4)?)))
    };
    session.fetch(sql.admin.instances, &[Value::Text(bundle)]).await?.iter().map(instance).collect()
}

pub(crate) async fn sweep_admin(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
    age: Duration,
) -> Result<u64, StoreError> {
    let mut rows = 0;
    for statement in sql.admin.sweep {
        rows += sweep(session, statement, bundle, age).await?;
    }
    Ok(rows)
}

/// Who owns which consumer of a bundle right now.
pub(crate) async fn owners(
    session: &mut dyn Session,
    sql: &Statements,
    bundle: &str,
) -> Result<Vec<Lease>, StoreError> {
    let name: Arc<str> = bundle.into();
    let mut leases = Vec::new();
    for row in session.fetch(sql.owners, &[Value::Text(bundle)]).await? {
        leases.push(Lease {
            consumer: consumer_of(&row, 0, &name)?,
            owner: OwnerId::from_uuid(row.uuid(3)?),
            epoch: Epoch(row.count(4)?),
        });
    }
    leases.sort_by(|a, b| a.consumer.cmp(&b.consumer));
    Ok(leases)
}

fn limit_of(limit: usize) -> Value<'static> {
    Value::Int(i64::try_from(limit).unwrap_or(i64::MAX))
}
