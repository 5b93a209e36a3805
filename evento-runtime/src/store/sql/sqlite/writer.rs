//! The one write connection of a file and process, handed out in turn.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, OwnedMappedMutexGuard, OwnedMutexGuard};

use super::errors::is_broken;
use super::registry::Shared;
use super::session::SqliteSession;
use super::{connect, group};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Timestamp;
use crate::sync::{Mutex, lock};

/// The connection and the queue for it (tokio's mutex is first come, first served).
pub(super) struct WriterSlot {
    connection: Arc<AsyncMutex<Option<Writing>>>,
    holder: Mutex<Option<Who>>,
    /// The write transaction that is open on it, if one of ours is.
    open: Mutex<Option<Opened>>,
    transactions: AtomicU64,
    janitor: Arc<AtomicBool>,
    options: SqliteConnectOptions,
    name: Arc<str>,
}

/// The connection, and in what state its last user left it.
pub(super) struct Writing {
    connection: SqliteConnection,
    /// A user had it: a transaction may be open.
    used: bool,
    broken: bool,
}

pub(super) type Held = OwnedMappedMutexGuard<Option<Writing>, Writing>;

/// A task, or a thread outside of tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Task(tokio::task::Id),
    Thread(std::thread::ThreadId),
}

impl Who {
    fn here() -> Self {
        tokio::task::try_id().map_or_else(|| Self::Thread(std::thread::current().id()), Self::Task)
    }
}

impl WriterSlot {
    pub(super) fn new(connection: SqliteConnection, options: SqliteConnectOptions, name: Arc<str>) -> Self {
        let writing = Writing { connection, used: false, broken: false };
        Self {
            connection: Arc::new(AsyncMutex::new(Some(writing))),
            holder: Mutex::new(None),
            open: Mutex::new(None),
            transactions: AtomicU64::new(0),
            janitor: Arc::default(),
            options,
            name,
        }
    }

    /// Refuses a task that would wait for itself.
    pub(super) fn check_holder(&self) -> Result<(), StoreError> {
        if *lock(&self.holder) == Some(Who::here()) {
            return Err(StoreError::new(StoreErrorKind::WriterHeld, &*self.name));
        }
        Ok(())
    }

    /// Marks this task as the holder until the mark is dropped.
    pub(super) fn hold(&self) -> Holding<'_> {
        *lock(&self.holder) = Some(Who::here());
        Holding(self)
    }

    /// A write transaction has begun: until [`closing`](Self::closing) nobody else can write to the file.
    pub(super) fn opened(&self) {
        let nth = self.transactions.fetch_add(1, Ordering::Relaxed);
        *lock(&self.open) = Some(Opened { nth, at: SystemClock.now() });
    }

    /// The same, until it is dropped.
    pub(super) fn opened_here(&self) -> Open<'_> {
        self.opened();
        Open(self)
    }

    /// The write transaction is about to end, however it does.
    pub(super) fn closing(&self) {
        *lock(&self.open) = None;
    }

    /// The write transaction of this process that is open, as far as it is known. One that a handler begins by itself,
    /// on a guard it took, is not.
    pub(super) fn open(&self) -> Option<Opened> {
        *lock(&self.open)
    }

    /// Waits for its turn. Cancel-safe: whoever stops waiting leaves the queue.
    pub(super) async fn turn(&self) -> Result<Held, StoreError> {
        let guard = Arc::clone(&self.connection).lock_owned().await;
        OwnedMutexGuard::try_map(guard, Option::as_mut)
            .map_err(|_| StoreError::new(StoreErrorKind::Closed, &*self.name))
    }

    /// Ends what the last user left open, and replaces a broken connection. Not to be cancelled.
    pub(super) async fn ready(&self, held: &mut Held) -> Result<(), StoreError> {
        if held.used && !held.broken {
            // The usual answer is an error: no transaction is open.
            let mut session = SqliteSession::new(&mut held.connection, &self.name);
            let broken = session.run("ROLLBACK").await.is_err_and(|error| is_broken(&error));
            // A leaked `Transaction` leaves sqlx counting.
            held.broken = broken || held.connection.is_in_transaction();
        }
        held.used = false;
        if held.broken {
            let fresh = connect::connect(&self.options, &self.name).await?;
            std::mem::replace(&mut held.connection, fresh).close().await.ok();
            held.broken = false;
        }
        Ok(())
    }

    pub(super) async fn close(&self) {
        let Some(writing) = self.connection.lock().await.take() else { return };
        let mut connection = writing.connection;
        // The last connection of all processes folds the write-ahead log into the file; this makes that cheap.
        let mut session = SqliteSession::new(&mut connection, &self.name);
        session.run("PRAGMA wal_checkpoint(PASSIVE)").await.ok();
        connection.close().await.ok();
    }
}

/// A write transaction, and when it had begun.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Opened {
    nth: u64,
    pub(super) at: Timestamp,
}

/// See [`WriterSlot::opened_here`].
pub(super) struct Open<'w>(&'w WriterSlot);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.closing();
    }
}

/// A turn of the writer in which somebody else writes to the file: nobody of this process is in its way.
pub(super) struct Turn {
    shared: Arc<Shared>,
    held: Held,
}

impl Turn {
    /// Waits for its turn, no longer than `patience`.
    pub(super) async fn within(shared: &Arc<Shared>, patience: Duration) -> Option<Self> {
        tokio::select! {
            biased;
            held = shared.writer.turn() => Some(Self { shared: Arc::clone(shared), held: held.ok()? }),
            () = tokio::time::sleep(patience) => None,
        }
    }

    /// Ends what the last user left open. Not to be cancelled.
    pub(super) async fn make_ready(&mut self) {
        if (self.held.used || self.held.broken)
            && let Err(error) = self.shared.writer.ready(&mut self.held).await
        {
            tracing::warn!(store = &*self.shared.name, error = &error as &dyn std::error::Error, "writer not ready");
        }
    }
}

/// See [`WriterSlot::hold`].
pub(super) struct Holding<'w>(&'w WriterSlot);

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        *lock(&self.0.holder) = None;
    }
}

impl Writing {
    pub(super) const fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    pub(super) const fn found_broken(&mut self) {
        self.broken = true;
    }

    pub(super) const fn left_open(&mut self) {
        self.used = true;
    }
}

/// The way to the one write connection of a SQLite store. Cheap to clone; a handler takes it as `Dep<SqliteWriter>`.
///
/// There is one per file and process, however many stores were opened on the file: SQLite takes one writer at a time
/// anyway, and whoever waits here waits in turn instead of failing with "database is locked".
#[derive(Clone)]
pub struct SqliteWriter {
    pub(super) shared: Arc<Shared>,
}

impl SqliteWriter {
    /// Waits for its turn and takes the connection. Give it back (drop the guard) before anything slow.
    ///
    /// Begin transactions with `BEGIN IMMEDIATE` (`begin_with`): a deferred one may fail half way if another process
    /// writes. Whatever is still open when the guard is dropped is rolled back.
    ///
    /// # Errors
    /// [`WriterHeld`](StoreErrorKind::WriterHeld): this task (outside of tasks: this thread) took it and the guard
    /// still lives, wherever it was moved; waiting could be waiting for itself. [`Closed`](StoreErrorKind::Closed), or the reason why a broken connection could not be replaced.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue. What is done through the guard is as cancel-safe as sqlx.
    pub async fn acquire(&self) -> Result<SqliteWriterGuard, StoreError> {
        let writer = &self.shared.writer;
        writer.check_holder()?;
        let mut held = writer.turn().await?;
        if held.used || held.broken {
            let shared = Arc::clone(&self.shared);
            held = self.shared.tasks.run(async move { shared.writer.ready(&mut held).await.map(|()| held) }).await?;
        }
        *lock(&writer.holder) = Some(Who::here());
        Ok(SqliteWriterGuard {
            held,
            shared: Arc::clone(&self.shared),
            runtime: Handle::try_current().ok(),
            clean: false,
        })
    }

    /// Runs `work` within a transaction and commits it; rolls back on an error or a panic. Transactions that wait at
    /// the same time share one commit (each in a savepoint of its own), so this is the fast way to many small writes.
    ///
    /// `work` must not begin, commit or roll back by itself, and should not wait for anything but the connection.
    ///
    /// ```no_run
    /// # async fn f(writer: evento_runtime::store::SqliteWriter) -> Result<(), evento_runtime::BoxError> {
    /// writer
    ///     .transaction(|connection| {
    ///         Box::pin(async move {
    ///             sqlx::query("UPDATE total SET cents = cents + 1").execute(connection).await?;
    ///             Ok::<_, evento_runtime::BoxError>(())
    ///         })
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// What `work` returned, or the store's own: nothing was written.
    ///
    /// # Panics
    /// With the panic of `work`.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop work that waits or runs.
    pub async fn transaction<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        group::write(&self.shared, move |session| work(session.connection())).await
    }
}

impl fmt::Debug for SqliteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteWriter({})", self.shared.name)
    }
}

/// The write connection, for as long as this lives. Used as a `sqlx::SqliteConnection`.
pub struct SqliteWriterGuard {
    held: Held,
    shared: Arc<Shared>,
    runtime: Option<Handle>,
    clean: bool,
}

impl SqliteWriterGuard {
    /// Nothing is open, for certain: the next in turn need not look.
    pub(super) const fn is_clean(&mut self) {
        self.clean = true;
    }

    /// A write transaction of the framework's has begun on it.
    pub(super) fn opened(&self) {
        self.shared.writer.opened();
    }

    /// It is about to end.
    pub(super) fn closing(&self) {
        self.shared.writer.closing();
    }

    /// It is on its way back, in a task that asks for nothing: who waits for it now does not wait for itself.
    pub(super) fn held_by_none(&self) {
        *lock(&self.shared.writer.holder) = None;
    }

    /// Marks this task as the one that has the connection, wherever it was taken.
    pub(super) fn held_here(&self) {
        *lock(&self.shared.writer.holder) = Some(Who::here());
    }
}

impl Deref for SqliteWriterGuard {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.held.connection
    }
}

impl DerefMut for SqliteWriterGuard {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.held.connection
    }
}

impl fmt::Debug for SqliteWriterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteWriterGuard({})", self.shared.name)
    }
}

/// The next in turn rolls back what is open. If there is none a janitor does, or the lock of the file would stay.
impl Drop for SqliteWriterGuard {
    fn drop(&mut self) {
        *lock(&self.shared.writer.holder) = None;
        self.closing();
        if self.clean {
            return;
        }
        self.held.used = true;
        let Some(runtime) = &self.runtime else { return };
        if self.shared.writer.janitor.swap(true, Ordering::SeqCst) {
            return;
        }
        let due = Due(Arc::clone(&self.shared.writer.janitor));
        let shared = Arc::clone(&self.shared);
        let clean = async move {
            let held = shared.writer.turn().await;
            drop(due);
            if let Ok(mut held) = held
                && let Err(error) = shared.writer.ready(&mut held).await
            {
                tracing::warn!(store = &*shared.name, error = &error as &dyn std::error::Error, "writer not ready");
            }
        };
        self.shared.tasks.spawn_on(clean, runtime);
    }
}

/// Lets the next guard send a janitor again, even if the runtime ended before this one's turn came.
struct Due(Arc<AtomicBool>);

impl Drop for Due {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}
