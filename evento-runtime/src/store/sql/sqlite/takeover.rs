//! Who may own a consumer: whoever finds it free, its owner dead, or its lease run out for certain.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::SQL;
use super::group;
use super::owner::{self, SideFile};
use super::statements::LEASES_OF;
use super::store::Inner;
use super::writer::Turn;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::store::Lease;
use crate::store::sql::consumer;
use crate::store::sql::lock::{self as rows, Holder};
use crate::store::sql::session::{Session, Value};
use crate::sync::{Mutex, lock};

/// Leases that were found run out, and when. An owner may have been kept from renewing by a long transaction, its own
/// or of somebody else: only the same row, found twice in write transactions of ours, proves that it is not trying. One
/// lease apart, since for so long an owner may believe that nobody has written while it had a transaction open.
#[derive(Default)]
pub(super) struct Sightings(Mutex<HashMap<ConsumerId, (Holder, Instant)>>);

/// What is to be done about the holder that was found.
enum Verdict {
    Free,
    Dead(OwnerId),
    Expired,
    Held,
}

impl Inner {
    /// Extends leases. While a transaction of this process is open nobody can, and nobody has to: what was held when it
    /// began is held still, as nobody else can have written since.
    pub(super) async fn renew_or_keep(
        &self,
        leases: &[(i64, u64)],
        milliseconds: i64,
    ) -> Result<HashSet<(i64, u64)>, StoreError> {
        // In turn with the writers of this process, or many short transactions would leave no gap that is ever met.
        let turn = Turn::within(&self.shared, self.renew / 4).await;
        if turn.is_none()
            && let Some(open) = self.shared.writer.open()
        {
            let held = self.renewal.held(self.owner, leases, open.at.as_micros() / 1_000).await?;
            if self.shared.writer.open() == Some(open) {
                return Ok(held);
            }
        }
        self.renewal.renew(self.owner, leases, milliseconds, turn).await
    }

    pub(super) async fn acquire(self: Arc<Self>, id: ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        // Reading first: who waits beside a living owner never takes the write lock.
        let verdict = match self.holder(&id).await? {
            None => Verdict::Free,
            Some(holder) => self.judge(holder).await?,
        };
        let dead = match verdict {
            Verdict::Held => {
                lock(&self.sightings.0).remove(&id);
                return Ok(None);
            }
            Verdict::Dead(owner) => Some(owner),
            Verdict::Free | Verdict::Expired => None,
        };
        self.announce_self().await?;
        let taken = self.take(&id, above, dead).await?;
        if let Some((_, true)) = &taken
            && let Some(dead) = dead
        {
            let path = self.shared.path.clone();
            self.work.spawn_blocking(move || owner::remove(&path, dead)).await.ok();
        }
        Ok(taken.map(|(lease, _)| lease))
    }

    async fn holder(&self, id: &ConsumerId) -> Result<Option<Holder>, StoreError> {
        let id = id.clone();
        let read = self.readers.read(move |session| {
            Box::pin(async move {
                match consumer::find_id(session, &SQL, &id).await? {
                    Some(id) => rows::holder(session, &SQL, id).await,
                    None => Ok(None),
                }
            })
        });
        read.await
    }

    async fn judge(&self, holder: Holder) -> Result<Verdict, StoreError> {
        let path = self.shared.path.clone();
        let dead = self.work.spawn_blocking(move || owner::is_dead(&path, holder.owner)).await.unwrap_or(false);
        Ok(match holder {
            Holder { owner, .. } if dead => Verdict::Dead(owner),
            Holder { expired: true, .. } => Verdict::Expired,
            Holder { .. } => Verdict::Held,
        })
    }

    /// Makes the side file, once, before anything names this owner. Cleans up after dead ones that own nothing.
    async fn announce_self(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut side_file = self.side_file.lock().await;
        if side_file.is_some() {
            return Ok(());
        }
        let (path, owner) = (self.shared.path.clone(), self.owner);
        let made = self.work.spawn_blocking(move || (owner::dead_owners(&path), SideFile::create(&path, owner))).await;
        let error = |kind| StoreError::new(kind, &*self.shared.name).detail("no side file for its owner could be made");
        let (dead, made) = made.map_err(|joined| error(StoreErrorKind::Other).caused_by(joined))?;
        *side_file = Some(made.map_err(|io| error(super::errors::kind_of_io(&io)).caused_by(io))?);
        for owner in dead {
            let owns = self.readers.read(move |session| Box::pin(owns_anything(session, owner)));
            if !owns.await? {
                let path = self.shared.path.clone();
                self.work.spawn_blocking(move || owner::remove(&path, owner)).await.ok();
            }
        }
        Ok(())
    }

    /// Looks again, now that nobody else can write, and takes the consumer. With the lease comes whether the dead
    /// owner owns nothing any more.
    async fn take(
        self: &Arc<Self>,
        id: &ConsumerId,
        above: Epoch,
        dead: Option<OwnerId>,
    ) -> Result<Option<(Lease, bool)>, StoreError> {
        let (inner, id) = (Arc::clone(self), id.clone());
        let owned = Arc::clone(self);
        let milliseconds = i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX);
        let work = group::write_then(
            &self.shared,
            group::Extent::Several,
            move |session| {
                Box::pin(async move {
                    let number = consumer::ensure_id(session, &SQL, &id).await?;
                    if let Some(holder) = rows::holder(session, &SQL, number).await?
                        && dead != Some(holder.owner)
                        && !inner.sightings.run_out(&id, holder, inner.lease)
                    {
                        return Ok(None);
                    }
                    let lease = rows::put(session, &SQL, (number, &id), inner.owner, above, milliseconds).await?;
                    // Nobody else writes meanwhile: the fence needs no step of its own.
                    session.execute(SQL.fence, &[number.into(), lease.epoch.0.into()]).await?;
                    let clean = match dead {
                        Some(dead) => !owns_anything(session, dead).await?,
                        None => false,
                    };
                    Ok::<_, StoreError>(Some((lease, clean, number)))
                })
            },
            |_| true,
            move |taken: &Option<(Lease, bool, i64)>| {
                // Not before the commit: a number that was rolled back may go to another consumer.
                if let Some((lease, _, number)) = taken {
                    owned.remember(&lease.consumer, *number);
                    lock(&owned.sightings.0).remove(&lease.consumer);
                }
            },
        );
        Ok(work.await?.map(|(lease, clean, _)| (lease, clean)))
    }
}

/// Whether any ownership names this owner.
async fn owns_anything(session: &mut dyn Session, owner: OwnerId) -> Result<bool, StoreError> {
    let rows = session.fetch(LEASES_OF, &[Value::Blob(owner.as_uuid().as_bytes())]).await?;
    rows.first().map_or(Ok(false), |row| row.flag(0))
}

impl Sightings {
    /// Whether this row was found run out one lease ago and has not moved since.
    fn run_out(&self, id: &ConsumerId, holder: Holder, lease: Duration) -> bool {
        let mut seen = lock(&self.0);
        if !holder.expired {
            seen.remove(id);
            return false;
        }
        let now = SystemClock.instant();
        match seen.get(id) {
            Some((before, at)) if *before == holder => now.duration_since(*at) >= lease,
            _ => {
                seen.insert(id.clone(), (holder, now));
                false
            }
        }
    }
}
