//! The rows of ownership. Who may take over from whom is the dialect's own rule.

use super::session::{Session, Value};
use super::statements::Statements;
use crate::error::StoreError;
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::store::Lease;

/// The row of an ownership, as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) owner: OwnerId,
    pub(crate) epoch: u64,
    pub(crate) expires_at: i64,
    pub(crate) expired: bool,
}

/// Who holds a consumer; `None` if nobody does.
pub(crate) async fn holder(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
) -> Result<Option<Holder>, StoreError> {
    locked_holder(session, sql.lease, consumer).await
}

/// The same by the statement `lease`, which may lock the row.
pub(crate) async fn locked_holder(
    session: &mut dyn Session,
    lease: &'static str,
    consumer: i64,
) -> Result<Option<Holder>, StoreError> {
    let rows = session.fetch(lease, &[Value::Int(consumer)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    if row.opt_blob(0)?.is_none() {
        return Ok(None);
    }
    Ok(Some(Holder {
        owner: OwnerId::from_uuid(row.uuid(0)?),
        epoch: row.count(1)?,
        expires_at: row.int(2)?,
        expired: row.flag(3)?,
    }))
}

/// Writes a new ownership; its epoch has yet to reach the fence. Within a write transaction that has the row.
pub(crate) async fn put(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: (i64, &ConsumerId),
    owner: OwnerId,
    above: Epoch,
    milliseconds: i64,
) -> Result<Lease, StoreError> {
    let (id, consumer) = (Value::Int(consumer.0), consumer.1);
    let leased = session.fetch(sql.lease, &[id]).await?.first().map_or(Ok(0), |row| row.count(1))?;
    let fenced = session.fetch(sql.fence_epoch, &[id]).await?.first().map_or(Ok(0), |row| row.count(0))?;
    let epoch = Epoch(leased.max(fenced).max(above.0).saturating_add(1));
    let owner_bytes = Value::Blob(owner.as_uuid().as_bytes());
    session.execute(sql.put_lease, &[id, owner_bytes, epoch.0.into(), Value::Int(milliseconds)]).await?;
    Ok(Lease { consumer: consumer.clone(), owner, epoch })
}

/// Frees an ownership if it is still this one. Within a write transaction.
pub(crate) async fn release(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: i64,
    lease: &Lease,
) -> Result<(), StoreError> {
    let owner = Value::Blob(lease.owner.as_uuid().as_bytes());
    session.execute(sql.free_lease, &[Value::Int(consumer), owner, lease.epoch.0.into()]).await?;
    Ok(())
}
