//! What is written most: appends, and the engines' settlements. A write of one statement is a transaction by itself.

use std::sync::Arc;

use super::group::{Extent, write_then};
use super::registry::Shared;
use super::store::Inner;
use super::{APPENDING, SQL, joined};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{AppendError, StoreError};
use crate::event::{Position, Timestamp};
use crate::source::sql::append::{append, append_at_once};
use crate::source::sql::known::emitting;
use crate::source::sql::number_of;
use crate::source::{Append, Appended, Expected};
use crate::store::sql::consumer;
use crate::store::sql::joining::may_join;
use crate::store::sql::state::{self, Alone};
use crate::store::{Checkpoint, Lease, Settlement};

impl Inner {
    pub(super) async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        if may_join(&batch) {
            joined::append(&self.shared, batch).await
        } else {
            append_alone(&self.shared, batch).await
        }
    }

    pub(super) async fn settle(self: &Arc<Self>, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        if let (Some(number), Some(Alone::Checkpoint(checkpoint))) =
            (self.number(&lease.consumer), state::alone(&settlement))
            && self.put_checkpoint_alone(number, lease, checkpoint).await?
        {
            return Ok(());
        }
        let (inner, lease, now) = (Arc::clone(self), lease.clone(), SystemClock.now());
        let shared = Arc::clone(&self.shared);
        let work = write_then(
            &self.shared,
            Extent::Several,
            move |session| {
                Box::pin(async move {
                    let number = match inner.number(&lease.consumer) {
                        Some(number) => number,
                        None => consumer::ensure_id(session, &SQL, &lease.consumer).await?,
                    };
                    let fresh = state::settle(session, &SQL, number, &lease, &settlement, now).await?;
                    if fresh.is_empty() {
                        return Ok(None);
                    }
                    let batch = Append { expected: Expected::Any, events: fresh };
                    match append(session, &SQL, &APPENDING, &batch, now).await {
                        Ok(appended) => Ok(Some(appended.last)),
                        Err(error) => Err(emitting(error, "the log")),
                    }
                })
            },
            |_| true,
            move |emitted: &Option<Position>| {
                if let Some(last) = emitted {
                    shared.announce(number_of(last));
                }
            },
        );
        work.await.map(|_: Option<Position>| ())
    }

    /// `false`: nothing was stored.
    async fn put_checkpoint_alone(
        &self,
        number: i64,
        lease: &Lease,
        checkpoint: &Checkpoint,
    ) -> Result<bool, StoreError> {
        let (lease, checkpoint) = (lease.clone(), checkpoint.clone());
        let work = write_then(
            &self.shared,
            Extent::Statement,
            move |session| {
                Box::pin(async move { state::put_checkpoint_alone(session, &SQL, number, &lease, &checkpoint).await })
            },
            |put| *put,
            |_| {},
        );
        work.await
    }
}

/// An append by itself.
pub(super) async fn append_alone(shared: &Arc<Shared>, batch: Append) -> Result<Appended, AppendError> {
    let (batch, now) = (Arc::new(batch), SystemClock.now());
    if let Some(appended) = at_once(shared, &batch, now).await? {
        return Ok(appended);
    }
    let announcing = Arc::clone(shared);
    let work = write_then(
        shared,
        Extent::Several,
        move |session| Box::pin(async move { append(session, &SQL, &APPENDING, &batch, now).await }),
        |appended: &Appended| !appended.known,
        move |appended: &Appended| {
            if !appended.known {
                announcing.announce(number_of(&appended.last));
            }
        },
    );
    work.await
}

/// `None`: nothing was stored.
async fn at_once(shared: &Arc<Shared>, batch: &Arc<Append>, now: Timestamp) -> Result<Option<Appended>, StoreError> {
    if (APPENDING.at_once)(batch.events.len()).is_none() {
        return Ok(None);
    }
    let (batch, announcing) = (Arc::clone(batch), Arc::clone(shared));
    let work = write_then(
        shared,
        Extent::Statement,
        move |session| Box::pin(async move { append_at_once(session, &APPENDING, &batch, now).await }),
        Option::is_some,
        move |appended: &Option<Appended>| {
            if let Some(appended) = appended {
                announcing.announce(number_of(&appended.last));
            }
        },
    );
    work.await
}
