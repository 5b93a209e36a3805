//! Taking an ownership: the lease row first, then the fence, which waits for whoever still writes under the old one.

use std::sync::Arc;

use super::{Inner, Server, Wrap};
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::{ConsumerId, Epoch};
use crate::store::Lease;
use crate::store::sql::{consumer, lock, state};

impl<S: Server> Inner<S> {
    pub(super) async fn acquire(self: &Arc<Self>, id: ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        // Reading first: who waits beside a living owner locks nothing.
        if self.is_held(&id).await? {
            return Ok(None);
        }
        let number = self.seed(&id).await?;
        self.remember(&id, number);
        let Some(lease) = self.claim(&id, number, above).await? else { return Ok(None) };
        match self.fence(number, &lease).await {
            Ok(true) => Ok(Some(lease)),
            Ok(false) => {
                self.give_back(number, &lease).await?;
                Ok(None)
            }
            Err(error) => {
                // If this fails as well, the lease will expire.
                self.give_back(number, &lease).await.ok();
                Err(error)
            }
        }
    }

    async fn is_held(&self, id: &ConsumerId) -> Result<bool, StoreError> {
        let (id, known) = (id.clone(), self.number(id));
        let look = self.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let number = match known {
                    Some(number) => Some(number),
                    None => consumer::find_id(&mut *session, server.sql(), &id).await?,
                };
                match number {
                    Some(number) => lock::holder(&mut *session, server.sql(), number).await,
                    None => Ok::<_, StoreError>(None),
                }
            })
        });
        Ok(look.await?.is_some_and(|holder| !holder.expired))
    }

    /// The integer of a consumer that has a lease row. In steps of their own: a row that was looked for by an insert is
    /// share-locked on some servers, and several such locks do not let anybody update.
    async fn seed(&self, id: &ConsumerId) -> Result<i64, StoreError> {
        let id = id.clone();
        let seed = self.writers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let number = consumer::ensure_id(&mut *session, server.sql(), &id).await?;
                session.execute(server.server_sql().seed_lease, &[number.into()]).await?;
                Ok::<_, StoreError>(number)
            })
        });
        seed.await
    }

    /// Writes the lease if nobody has it by now.
    async fn claim(&self, id: &ConsumerId, number: i64, above: Epoch) -> Result<Option<Lease>, StoreError> {
        let (id, owner, milliseconds) = (id.clone(), self.owner, self.settings.lease_milliseconds());
        let claim = self.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let session = &mut *session;
                let holder = lock::locked_holder(session, server.server_sql().lock_lease, number).await?;
                if holder.is_some_and(|holder| !holder.expired) {
                    return Ok(None);
                }
                let lease = lock::put(session, server.sql(), (number, &id), owner, above, milliseconds).await?;
                Ok::<_, StoreError>(Some(lease))
            })
        });
        claim.await
    }

    /// Whether the fence has let the epoch in. Waits for guarded transactions of the epoch before.
    async fn fence(&self, number: i64, lease: &Lease) -> Result<bool, StoreError> {
        let lease = lease.clone();
        let fence = self.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                match state::fence(&mut *server.session(connection), server.sql(), number, &lease).await {
                    Err(error) if error.kind() == StoreErrorKind::Fenced => Ok(false),
                    fenced => fenced.map(|()| true),
                }
            })
        });
        fence.await
    }

    pub(super) async fn give_back(&self, number: i64, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        let release = self.writers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { lock::release(&mut *server.session(connection), server.sql(), number, &lease).await })
        });
        release.await
    }
}
