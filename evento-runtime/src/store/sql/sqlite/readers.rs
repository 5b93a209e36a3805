//! The connections that read.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::Semaphore;

use super::connect;
use super::errors::is_broken;
use super::session::SqliteSession;
use crate::error::{StoreError, StoreErrorKind};
use crate::sync::{Mutex, lock};
use crate::task::Tasks;

/// A few connections, opened when first needed, handed out first come, first served.
pub(super) struct Readers {
    free: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
    count: usize,
    options: Arc<SqliteConnectOptions>,
    name: Arc<str>,
    tasks: Tasks,
}

impl Readers {
    pub(super) fn new(count: usize, options: SqliteConnectOptions, name: Arc<str>) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            idle: Arc::default(),
            count,
            options: Arc::new(options),
            name,
            tasks: Tasks::default(),
        }
    }

    /// Runs `work` on a connection, in a task that dropping the future does not stop.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: for<'s> FnOnce(&'s mut SqliteSession<'_>) -> BoxFuture<'s, Result<T, StoreError>> + Send + 'static,
        T: Send + 'static,
    {
        let closed = || StoreError::new(StoreErrorKind::Closed, &*self.name);
        let turn = Arc::clone(&self.free).acquire_owned().await.map_err(|_| closed())?;
        let (idle, options, name) = (Arc::clone(&self.idle), Arc::clone(&self.options), Arc::clone(&self.name));
        let task = async move {
            let kept = lock(&idle).pop();
            let mut connection = match kept {
                Some(connection) => connection,
                None => connect::connect(&options, &name).await?,
            };
            let result = work(&mut SqliteSession::new(&mut connection, &name)).await;
            if !result.as_ref().is_err_and(is_broken) {
                lock(&idle).push(connection);
            }
            drop(turn);
            result
        };
        self.tasks.run(task).await
    }

    /// Waits for the reads under way and closes the connections. Later reads are refused.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.count).unwrap_or(u32::MAX);
        let turns = Arc::clone(&self.free).acquire_many_owned(all).await;
        self.free.close();
        self.tasks.join().await;
        let idle = std::mem::take(&mut *lock(&self.idle));
        for connection in idle {
            connection.close().await.ok();
        }
        drop(turns);
    }
}
