//! Renewing all leases of an owner in one statement, on a connection of its own.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;

use super::Server;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::OwnerId;
use crate::store::sql::session::Value;
use crate::task::Tasks;

/// Consumer and epoch.
type Pair = (i64, u64);

/// The keeper's connection. Opened by the first renewal, on whatever runtime that is called from, so that neither busy
/// workers nor a busy pool hold it up.
pub(crate) struct Renewal<S: Server> {
    connection: Arc<AsyncMutex<Option<S::Connection>>>,
    server: Arc<S>,
    tasks: Tasks,
}

impl<S: Server> Renewal<S> {
    pub(super) fn new(server: Arc<S>) -> Self {
        Self { connection: Arc::new(AsyncMutex::new(None)), server, tasks: Tasks::default() }
    }

    /// Those of the pairs whose lease was extended. After `patience` without an answer the connection is given up.
    pub(super) async fn renew(
        &self,
        owner: OwnerId,
        pairs: &[Pair],
        milliseconds: i64,
        patience: Duration,
    ) -> Result<HashSet<Pair>, StoreError> {
        // Pairs of numbers are JSON always.
        let pairs = serde_json::to_string(pairs).unwrap_or_default();
        let (slot, server) = (Arc::clone(&self.connection), Arc::clone(&self.server));
        let task = async move {
            let mut slot = slot.lock().await;
            let mut connection = match slot.take() {
                Some(connection) => connection,
                None => server.connect().await?,
            };
            // Whatever is dropped here belongs to this connection, which is dropped with it.
            let renewed = tokio::select! {
                renewed = renew(&*server, &mut connection, owner, &pairs, milliseconds) => renewed,
                () = tokio::time::sleep(patience) => {
                    let error = StoreError::new(StoreErrorKind::Connection, &**server.name());
                    return Err(error.detail("a renewal of leases was not answered in time"));
                }
            }?;
            *slot = Some(connection);
            Ok(renewed)
        };
        self.tasks.run(task).await
    }

    /// The connection is dropped, not closed: its runtime may be gone by now.
    pub(super) async fn close(&self) {
        self.tasks.join().await;
        drop(self.connection.lock().await.take());
    }
}

async fn renew<S: Server>(
    server: &S,
    connection: &mut S::Connection,
    owner: OwnerId,
    pairs: &str,
    milliseconds: i64,
) -> Result<HashSet<Pair>, StoreError> {
    let wrapped = server.always_in_transactions();
    if wrapped {
        server.begin(connection).await?;
    }
    let sql = server.server_sql();
    let mut session = server.session(connection);
    let owner = Value::Blob(owner.as_uuid().as_bytes());
    let values = [Value::Int(milliseconds), owner, Value::Text(pairs)];
    let rows = match sql.renewed {
        None => session.fetch(sql.renew, &values).await?,
        Some(renewed) => {
            session.execute(sql.renew, &values).await?;
            session.fetch(renewed, &[owner, Value::Text(pairs)]).await?
        }
    };
    drop(session);
    if wrapped {
        server.commit(connection).await?;
    }
    rows.iter().map(|row| Ok((row.int(0)?, row.count(1)?))).collect()
}
