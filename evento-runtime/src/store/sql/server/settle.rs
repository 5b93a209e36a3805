//! The engines' one write path.

use super::{Inner, Server, Wrap};
use crate::clock::{Clock as _, SystemClock};
use crate::error::StoreError;
use crate::source::sql::known::emitting;
use crate::source::{Append, Expected};
use crate::store::sql::state::Alone;
use crate::store::sql::{consumer, state};
use crate::store::{Checkpoint, Lease, Settlement};

impl<S: Server> Inner<S> {
    pub(super) async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let known = self.number(&lease.consumer);
        if let (Some(number), Some(Alone::Checkpoint(checkpoint))) = (known, state::alone(&settlement))
            && self.put_checkpoint_alone(number, lease, checkpoint).await?
        {
            return Ok(());
        }
        let (lease, consumer, now) = (lease.clone(), lease.consumer.clone(), SystemClock.now());
        let settle = self.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let number = match known {
                    Some(number) => number,
                    None => consumer::ensure_id(&mut *session, server.sql(), &lease.consumer).await?,
                };
                let fresh = state::settle(&mut *session, server.sql(), number, &lease, &settlement, now).await?;
                drop(session);
                let emits = !fresh.is_empty();
                if emits {
                    let batch = Append { expected: Expected::Any, events: fresh };
                    let appended = server.append_within(connection, &batch).await;
                    appended.map_err(|error| emitting(error, server.name()))?;
                }
                Ok::<_, StoreError>((number, emits))
            })
        });
        let (number, emits) = settle.await?;
        if emits {
            self.announce_append();
        }
        if known.is_none() {
            self.remember(&consumer, number);
        }
        Ok(())
    }

    /// One round trip. `false`: nothing was stored.
    async fn put_checkpoint_alone(
        &self,
        number: i64,
        lease: &Lease,
        checkpoint: &Checkpoint,
    ) -> Result<bool, StoreError> {
        let (lease, checkpoint) = (lease.clone(), checkpoint.clone());
        let put = self.writers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                state::put_checkpoint_alone(&mut *session, server.sql(), number, &lease, &checkpoint).await
            })
        });
        put.await
    }
}
