//! An open store of SQLite.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use tokio::sync::Mutex as AsyncMutex;

use super::config::Sqlite;
use super::owner::SideFile;
use super::readers::Readers;
use super::registry::{Shared, canonical};
use super::renewal::Renewal;
use super::session::SqliteSession;
use super::takeover::Sightings;
use super::writer::SqliteWriter;
use super::{APPENDING, SQL, connect, group};
use crate::clock::{Clock as _, SystemClock};
use crate::deps::Deps;
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::NewEvent;
use crate::identity::{ConsumerId, OwnerId};
use crate::source::sql::append::append;
use crate::source::{Append, Appended, EventStore, Expected, StreamKey};
use crate::store::{CloseStore, ConsumerLock, ConsumerStateStore, Store, Stores};
use crate::sync::{Mutex, lock};
use crate::task::Tasks;

/// An open SQLite store: log, checkpoints, ownership, dead letters in one file. Cheap to clone; every clone is the
/// same owner. A handler takes it as `Dep<SqliteStore>`.
#[derive(Clone)]
pub struct SqliteStore {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) owner: OwnerId,
    pub(super) lease: Duration,
    pub(super) renew: Duration,
    pub(super) readers: Readers,
    pub(super) renewal: Renewal,
    pub(super) sightings: Sightings,
    pub(super) side_file: AsyncMutex<Option<SideFile>>,
    /// Acquisitions and looks at side files.
    pub(super) work: Tasks,
    /// Rows of `evento_consumer` are never deleted.
    numbers: Mutex<HashMap<ConsumerId, i64>>,
    closed: AtomicBool,
    closing: AsyncMutex<bool>,
    close_tasks: Tasks,
}

impl SqliteStore {
    pub(super) async fn open(config: Sqlite) -> Result<Self, StoreError> {
        let files = Tasks::default();
        let probe = config.clone();
        let found = files.spawn_blocking(move || canonical(&probe)).await;
        let path = found.map_err(|error| StoreError::new(StoreErrorKind::Other, config.name()).caused_by(error))??;
        let shared = Shared::join(&config, &path).await?;
        let name = Arc::clone(&shared.name);
        let options = connect::options(&config, &path, false);
        // Rows wait here while the page is decoded; the thread that reads runs ahead.
        let reading = options.clone().row_buffer_size(256);
        let inner = Inner {
            owner: OwnerId::generate(),
            lease: config.lease,
            renew: config.renew_interval(),
            readers: Readers::new(config.readers, reading, Arc::clone(&name)),
            renewal: Renewal::new(options, name),
            sightings: Sightings::default(),
            side_file: AsyncMutex::new(None),
            work: Tasks::default(),
            numbers: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: AsyncMutex::new(false),
            close_tasks: Tasks::default(),
            shared,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Appends typed events to a stream. `key: None` leaves the key to the events.
    ///
    /// # Errors
    /// See [`AppendError`]. [`StoreErrorKind::WriterHeld`] if this task holds the [writer](Self::writer).
    ///
    /// # Cancel safety
    /// Dropping the future does not stop an append that has begun; append again with the same ids to know.
    pub async fn append(
        &self,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        EventStore::append(self, Append::prepare(key, expected, events)?).await
    }

    /// Appends within the caller's transaction on a connection to the same file, most often a
    /// [writer](Self::writer)'s. Begin it with `BEGIN IMMEDIATE`. On an error nothing of the batch stays in it and it
    /// can go on. Call [`wake`](Self::wake) after the commit, or consumers notice by their next poll.
    ///
    /// # Errors
    /// See [`AppendError`].
    ///
    /// # Cancel safety
    /// As cancel-safe as sqlx is: after dropping the future, roll the transaction back.
    pub async fn append_in(
        &self,
        connection: &mut SqliteConnection,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        let batch = Append::prepare(key, expected, events)?;
        let mut session = SqliteSession::new(connection, &self.inner.shared.name);
        session.run("SAVEPOINT evento_append").await?;
        let appended = append(&mut session, &SQL, &APPENDING, &batch, SystemClock.now()).await;
        let end = match &appended {
            Ok(_) => "RELEASE evento_append",
            Err(_) => "ROLLBACK TO evento_append; RELEASE evento_append",
        };
        let ended = session.run(end).await;
        let appended = appended?;
        ended?;
        Ok(appended)
    }

    /// Tells the consumers of this process that something was appended through [`append_in`](Self::append_in).
    pub fn wake(&self) {
        self.inner.shared.announce(None);
    }

    /// The way to the file's one write connection.
    #[must_use]
    pub fn writer(&self) -> SqliteWriter {
        SqliteWriter { shared: Arc::clone(&self.inner.shared) }
    }

    /// Waits for what is under way, closes every connection and, if no other store of this process has it open, the
    /// file. Any number of times; everything called afterwards is refused with [`StoreErrorKind::Closed`]. It waits for
    /// a guard of the [writer](Self::writer) that is still out; a task that holds one itself is told so in the log, and
    /// nothing is closed.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop it.
    pub async fn close(&self) {
        if let Err(error) = self.inner.shared.writer.check_holder() {
            tracing::error!(error = &error as &dyn std::error::Error, "not closed");
            return;
        }
        let inner = Arc::clone(&self.inner);
        self.inner.close_tasks.run(async move { inner.close().await }).await;
    }

    /// Log and SPIs for a bundle, which closes it at its stop if `own`.
    pub(super) fn store(&self, own: bool) -> Store {
        let store = Arc::new(self.clone());
        let mut supplied = Deps::default();
        supplied.insert(self.writer());
        supplied.insert(self.clone());
        Store {
            events: Arc::clone(&store) as Arc<dyn EventStore>,
            stores: Stores {
                state: Arc::clone(&store) as Arc<dyn ConsumerStateStore>,
                lock: Arc::clone(&store) as Arc<dyn ConsumerLock>,
                dead_letters: Arc::clone(&store) as _,
                sagas: Arc::clone(&store) as _,
                claims: Arc::clone(&store) as _,
                admin: Arc::clone(&store) as _,
                transactions: Some(Arc::clone(&store) as _),
            },
            supplied,
            close: own.then_some(store as Arc<dyn CloseStore>),
        }
    }
}

impl Inner {
    /// Refuses what comes after [`SqliteStore::close`], also while another store keeps the file open.
    pub(super) fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Closed, &*self.shared.name));
        }
        Ok(())
    }

    /// The integer of a consumer, if it is known here.
    pub(super) fn number(&self, id: &ConsumerId) -> Option<i64> {
        lock(&self.numbers).get(id).copied()
    }

    pub(super) fn remember(&self, id: &ConsumerId, number: i64) {
        lock(&self.numbers).insert(id.clone(), number);
    }

    async fn close(&self) {
        let mut closed = self.closing.lock().await;
        if *closed {
            return;
        }
        self.closed.store(true, Ordering::SeqCst);
        self.work.join().await;
        self.readers.close().await;
        self.renewal.close().await;
        // Writes whose callers are gone: in turn, so all of them are done when this is.
        let done = group::write(&self.shared, |_| Box::pin(async { Err::<(), StoreError>(nothing()) })).await;
        drop(done);
        Arc::clone(&self.shared).leave().await;
        let side_file = self.side_file.lock().await.take();
        if let Some(side_file) = side_file {
            self.work.spawn_blocking(move || side_file.remove()).await.ok();
        }
        *closed = true;
    }
}

/// Of a write that writes nothing and is rolled back.
fn nothing() -> StoreError {
    StoreError::new(StoreErrorKind::Other, "nothing")
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteStore({})", self.inner.shared.name)
    }
}
