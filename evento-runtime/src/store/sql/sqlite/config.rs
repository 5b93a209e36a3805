//! The store as configuration: what to open, and how.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;

use super::store::SqliteStore;
use super::writer::SqliteWriter;
use crate::deps::Need;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::{Store, StoreConfig};
use crate::task::Tasks;

/// When SQLite waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// At every commit: what was answered survives a power cut. The default.
    #[default]
    Full,
    /// At checkpoints of the write-ahead log: a power cut may take the last commits, in order; a crash of the process
    /// takes none.
    Normal,
    /// Never: a power cut may damage the file. For tests.
    Off,
}

/// A SQLite file as log and store, not opened yet.
///
/// ```
/// use std::time::Duration;
/// use evento_runtime::store::Sqlite;
/// let config = Sqlite::file("orders.db").busy_timeout(Duration::from_secs(10));
/// # let _ = config;
/// ```
#[derive(Debug, Clone)]
pub struct Sqlite {
    pub(super) path: PathBuf,
    pub(super) busy_timeout: Duration,
    pub(super) synchronous: Synchronous,
    pub(super) lease: Duration,
    pub(super) renew: Option<Duration>,
    pub(super) readers: usize,
    pub(super) create: bool,
}

impl Sqlite {
    /// The file at `path`. Nothing is touched before [`open`](Self::open), or before a bundle starts.
    #[must_use]
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            busy_timeout: Duration::from_secs(5),
            synchronous: Synchronous::default(),
            lease: Duration::from_secs(30),
            renew: None,
            readers: 2,
            create: true,
        }
    }

    /// How long to wait for a lock that another process holds. Default: 5 s. The first store opened on a file in a
    /// process decides for all of them.
    #[must_use]
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// When SQLite waits for the disk. Default: [`Synchronous::Full`].
    #[must_use]
    pub const fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long an ownership lasts without renewal. Default: 30 s. The owner that a killed process of this host left
    /// behind is replaced at once, whatever this says. While a transaction of the framework's is open (a handler's `Tx`,
    /// [`SqliteWriter::transaction`]) nobody can renew and nobody can take over: it may be open for longer. One that a
    /// handler begins by itself, on a guard of [`SqliteWriter::acquire`], may not.
    #[must_use]
    pub const fn lease(mut self, duration: Duration) -> Self {
        self.lease = duration;
        self
    }

    /// How often ownerships are renewed. Default: a third of the lease.
    #[must_use]
    pub const fn renew(mut self, interval: Duration) -> Self {
        self.renew = Some(interval);
        self
    }

    /// How many connections read at once. Default: 2.
    #[must_use]
    pub const fn readers(mut self, connections: usize) -> Self {
        self.readers = connections;
        self
    }

    /// Whether a file and tables that are not there are made, and older ones brought up to date. Default: yes. The folder is
    /// never made.
    #[must_use]
    pub const fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens the store, to append before a bundle runs, or to give it to several bundles. Its user closes it.
    ///
    /// # Errors
    /// A typed reason naming the file; see [`StoreErrorKind`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing open; the file may have been made.
    pub async fn open(self) -> Result<SqliteStore, StoreError> {
        self.check()?;
        Tasks::default().run(SqliteStore::open(self)).await
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn renew_interval(&self) -> Duration {
        self.renew.unwrap_or(self.lease / 3)
    }

    fn check(&self) -> Result<(), StoreError> {
        let path = self.path.as_os_str();
        let problem = if path.is_empty() {
            "the path is empty"
        } else if path == ":memory:" {
            "a database in memory cannot be shared by connections; use `Memory`"
        } else if self.readers == 0 {
            "at least one reader is needed"
        } else if self.lease.is_zero() || self.renew_interval() >= self.lease {
            "a lease must be longer than the interval of its renewal"
        } else if self.busy_timeout > Duration::from_secs(3_600) {
            "a busy time-out of more than an hour"
        } else {
            return Ok(());
        };
        Err(StoreError::new(StoreErrorKind::Config, self.name()).detail(problem))
    }
}

#[async_trait]
impl StoreConfig for Sqlite {
    fn describe(&self) -> String {
        self.name()
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn supplies(&self) -> Vec<Need> {
        supplies()
    }

    fn writers(&self) -> Option<usize> {
        Some(1)
    }

    fn database(&self) -> Option<Need> {
        Some(Need::of::<Sqlite>())
    }

    fn only_existing(&mut self) {
        self.create = false;
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok((*self).open().await?.store(true))
    }
}

pub(super) fn supplies() -> Vec<Need> {
    vec![Need::of::<SqliteWriter>(), Need::of::<SqliteStore>()]
}
