//! A few connections of our own. One goes back only after its work has ended well, or was rolled back: a connection
//! within a transaction never meets another user.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Server;
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::sync::{Mutex, lock};
use crate::task::Tasks;

/// How long a call waits for a free connection.
const WAITING: Duration = Duration::from_secs(30);

/// Whether work runs in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrap {
    /// Statements one by one.
    Bare,
    /// Committed if the work answers `Ok`, rolled back otherwise.
    Transaction,
}

/// The error of a call, and what of it the store caused.
pub(crate) trait Failure: From<StoreError> + Send + 'static {
    fn of_store(&self) -> Option<&StoreError>;
}

impl Failure for StoreError {
    fn of_store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

impl Failure for AppendError {
    fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// Opened when first needed, handed out first come, first served.
pub(crate) struct Connections<S: Server> {
    free: Arc<Semaphore>,
    idle: Arc<Idle<S>>,
    count: usize,
    server: Arc<S>,
    pub(super) tasks: Tasks,
}

struct Idle<S: Server> {
    kept: Mutex<Vec<(u64, S::Connection)>>,
    /// Grows when a connection breaks: those opened before are not trusted either.
    age: AtomicU64,
}

/// A connection that is out of the pool. Dropping it closes it.
pub(super) struct Taken<S: Server> {
    pub(super) connection: S::Connection,
    age: u64,
    idle: Arc<Idle<S>>,
    _turn: OwnedSemaphorePermit,
}

impl<S: Server> Taken<S> {
    /// For the next one; not before its transaction has ended for certain.
    pub(super) fn give_back(self) {
        lock(&self.idle.kept).push((self.age, self.connection));
    }

    /// Judges by an error whether others are to be trusted.
    pub(super) fn note(&self, error: &StoreError) {
        self.idle.note(error);
    }
}

impl<S: Server> Connections<S> {
    pub(super) fn new(server: Arc<S>, count: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(count)),
            idle: Arc::new(Idle { kept: Mutex::new(Vec::new()), age: AtomicU64::new(0) }),
            count,
            server,
            tasks: Tasks::default(),
        }
    }

    /// Runs `work` on a connection, in a task that dropping the future does not stop.
    pub(crate) async fn run<T, E, F>(&self, wrap: Wrap, work: F) -> Result<T, E>
    where
        F: for<'s> FnOnce(&'s S, &'s mut S::Connection) -> BoxFuture<'s, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure,
    {
        let turn = self.turn().await?;
        self.tasks.run(self.work(turn, wrap, work)).await
    }

    /// The same where a task runs that nobody drops: without one more.
    pub(crate) async fn run_here<T, E, F>(&self, wrap: Wrap, work: F) -> Result<T, E>
    where
        F: for<'s> FnOnce(&'s S, &'s mut S::Connection) -> BoxFuture<'s, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure,
    {
        let turn = self.turn().await?;
        self.work(turn, wrap, work).await
    }

    /// Waits for its turn, for 30 s. Dropping the future leaves the queue.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, StoreError> {
        let turn = tokio::select! {
            biased;
            turn = Arc::clone(&self.free).acquire_owned() => turn,
            () = tokio::time::sleep(WAITING) => {
                let detail = format!("none of its {} connections became free within 30 s", self.count);
                return Err(StoreError::new(StoreErrorKind::Busy, &**self.server.name()).detail(detail));
            }
        };
        turn.map_err(|_| StoreError::new(StoreErrorKind::Closed, &**self.server.name()))
    }

    /// Work whose turn it is. Not to be dropped before its end.
    pub(crate) fn work<T, E, F>(
        &self,
        turn: OwnedSemaphorePermit,
        wrap: Wrap,
        work: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<S, T, E, F>
    where
        F: for<'s> FnOnce(&'s S, &'s mut S::Connection) -> BoxFuture<'s, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Failure,
    {
        let (server, idle) = (Arc::clone(&self.server), Arc::clone(&self.idle));
        async move {
            let (age, connection) = match idle.take() {
                Some(kept) => kept,
                None => (idle.age.load(Ordering::SeqCst), server.connect().await?),
            };
            let (result, connection) = at_work(&*server, &idle, connection, wrap, work).await;
            if let Some(connection) = connection {
                lock(&idle.kept).push((age, connection));
            }
            drop(turn);
            result
        }
    }

    /// Waits for its turn, however long, and takes a connection out once `begin` has worked on it. Dropping the future
    /// leaves the queue, or closes the connection.
    pub(super) async fn take<F>(&self, begin: F) -> Result<Taken<S>, StoreError>
    where
        F: for<'s> Fn(&'s S, &'s mut S::Connection) -> BoxFuture<'s, Result<(), StoreError>> + Send + Sync + 'static,
    {
        let turn = Arc::clone(&self.free).acquire_owned().await;
        let turn = turn.map_err(|_| StoreError::new(StoreErrorKind::Closed, &**self.server.name()))?;
        let (server, idle) = (Arc::clone(&self.server), Arc::clone(&self.idle));
        let task = async move {
            if let Some((age, mut connection)) = idle.take() {
                match begin(&server, &mut connection).await {
                    Ok(()) => return Ok(Taken { connection, age, idle, _turn: turn }),
                    // It may have been lost long ago, with nothing begun in it.
                    Err(error) if is_broken(&error) => idle.note(&error),
                    Err(error) => return Err(error),
                }
            }
            let age = idle.age.load(Ordering::SeqCst);
            let mut connection = server.connect().await?;
            begin(&server, &mut connection).await?;
            Ok(Taken { connection, age, idle, _turn: turn })
        };
        self.tasks.run(task).await
    }

    /// Waits for what is under way and closes the connections. Later calls are refused.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.count).unwrap_or(u32::MAX);
        let turns = Arc::clone(&self.free).acquire_many_owned(all).await;
        self.free.close();
        self.tasks.join().await;
        let kept = std::mem::take(&mut *lock(&self.idle.kept));
        for (_, connection) in kept {
            S::close(connection).await;
        }
        drop(turns);
    }
}

impl<S: Server> Idle<S> {
    fn take(&self) -> Option<(u64, S::Connection)> {
        let mut kept = lock(&self.kept);
        let age = self.age.load(Ordering::SeqCst);
        kept.retain(|(opened, _)| *opened == age);
        kept.pop()
    }

    fn note(&self, error: &StoreError) {
        if is_broken(error) {
            self.age.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Whether a connection is of no further use: it is gone, or its server takes no writes any more.
fn is_broken(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Connection | StoreErrorKind::Unreachable | StoreErrorKind::ReadOnly)
}

/// With the answer comes the connection, if it can be used again.
async fn at_work<S, T, E, F>(
    server: &S,
    idle: &Idle<S>,
    mut connection: S::Connection,
    wrap: Wrap,
    work: F,
) -> (Result<T, E>, Option<S::Connection>)
where
    S: Server,
    F: for<'s> FnOnce(&'s S, &'s mut S::Connection) -> BoxFuture<'s, Result<T, E>>,
    E: Failure,
{
    let wrapped = wrap == Wrap::Transaction || server.always_in_transactions();
    if wrapped && let Err(error) = server.begin(&mut connection).await {
        idle.note(&error);
        return (Err(error.into()), None);
    }
    let result = work(server, &mut connection).await;
    match &result {
        Ok(_) if wrapped => match server.commit(&mut connection).await {
            Ok(()) => (result, Some(connection)),
            Err(error) => {
                idle.note(&error);
                (Err(error.into()), None)
            }
        },
        Ok(_) => (result, Some(connection)),
        Err(error) => {
            if let Some(error) = error.of_store().filter(|error| is_broken(error)) {
                idle.note(error);
                return (result, None);
            }
            let clean = !wrapped || server.roll_back(&mut connection).await.is_ok();
            (result, clean.then_some(connection))
        }
    }
}
