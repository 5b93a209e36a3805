//! Taking an ownership: the lease row first, then the fence, which waits for whoever still writes under the old one.

use std::sync::Arc;

use super::{Inner, Server, Wrap};
use crate::error::StoreError;
use crate::identity::{ConsumerId, Epoch};
use crate::store::Lease;
use crate::store::sql::{consumer, lock};

impl<S: Server> Inner<S> {
    pub(super) async fn acquire(self: &Arc<Self>, id: ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        // Reading first: who waits beside a living owner locks nothing.
        if self.is_held(&id).await? {
            return Ok(None);
        }
        let Some((lease, number)) = self.claim(&id, above).await? else { return Ok(None) };
        // The row of the consumer is committed now.
        self.remember(&id, number);
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

    /// Writes the lease if nobody has it by now.
    async fn claim(&self, id: &ConsumerId, above: Epoch) -> Result<Option<(Lease, i64)>, StoreError> {
        let (id, owner, milliseconds) = (id.clone(), self.owner, self.settings.lease_milliseconds());
        let claim = self.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let session = &mut *session;
                let number = consumer::ensure_id(session, server.sql(), &id).await?;
                session.execute(server.server_sql().seed_lease, &[number.into()]).await?;
                let holder = lock::locked_holder(session, server.server_sql().lock_lease, number).await?;
                if holder.is_some_and(|holder| !holder.expired) {
                    return Ok(None);
                }
                let lease = lock::put(session, server.sql(), (number, &id), owner, above, milliseconds).await?;
                Ok::<_, StoreError>(Some((lease, number)))
            })
        });
        claim.await
    }

    /// Whether the fence has let the epoch in. Waits for guarded transactions of the epoch before.
    async fn fence(&self, number: i64, lease: &Lease) -> Result<bool, StoreError> {
        let lease = lease.clone();
        let fence = self.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let values = [number.into(), lease.epoch.0.into()];
                Ok::<_, StoreError>(session.execute(server.sql().fence, &values).await? > 0)
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
