//! What the stores of one file share within a process: the writer, the wake-up hint, the watch for other processes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio_util::sync::CancellationToken;

use super::config::{Sqlite, Synchronous};
use super::errors::kind_of_io;
use super::group::Queue;
use super::writer::WriterSlot;
use super::{connect, poll};
use crate::error::{StoreError, StoreErrorKind};
use crate::source::pages::Pages;
use crate::store::sql::joining::Joining;
use crate::sync::{Mutex, lock};
use crate::task::Tasks;

/// One opened file of this process.
pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(super) path: PathBuf,
    pub(super) synchronous: Synchronous,
    pub(super) writer: WriterSlot,
    pub(super) queue: Queue,
    pub(super) joining: Joining,
    /// Own writes, janitors of the writer, the watch for other processes.
    pub(super) tasks: Tasks,
    pub(super) wake: watch::Sender<u64>,
    pub(super) pages: Pages,
    /// The highest position known here.
    pub(super) head: Arc<AtomicI64>,
    stop: CancellationToken,
    users: AtomicUsize,
}

/// One entry a file: locked while the file is being opened or closed.
type Entry = Arc<AsyncMutex<Weak<Shared>>>;

static FILES: Mutex<Option<HashMap<PathBuf, Entry>>> = Mutex::new(None);

impl Shared {
    /// The file as this process has it open, or newly opened. Pair with [`leave`](Self::leave).
    pub(super) async fn join(config: &Sqlite, path: &Path) -> Result<Arc<Self>, StoreError> {
        let entry = entry(path);
        let mut opened = entry.lock().await;
        if let Some(shared) = opened.upgrade() {
            if shared.synchronous != config.synchronous {
                let detail =
                    format!("opened with {:?} here already, now with {:?}", shared.synchronous, config.synchronous);
                return Err(StoreError::new(StoreErrorKind::Config, config.name()).detail(detail));
            }
            shared.users.fetch_add(1, Ordering::SeqCst);
            return Ok(shared);
        }
        let shared = Arc::new(Self::open(config, path).await?);
        *opened = Arc::downgrade(&shared);
        Ok(shared)
    }

    async fn open(config: &Sqlite, path: &Path) -> Result<Self, StoreError> {
        let name: Arc<str> = config.name().into();
        let options = connect::options(config, path, config.create);
        let mut connection = connect::create(&options, &name).await?;
        connect::prepare(&mut connection, &name, config).await?;
        // From here on the file is there; one that vanishes is missed, not made again empty.
        let options = connect::options(config, path, false);
        let poller = connect::connect(&options, &name).await?;
        let tasks = Tasks::default();
        let wake = watch::Sender::new(0);
        let head = Arc::new(AtomicI64::new(0));
        let stop = CancellationToken::new();
        tasks.spawn(poll::run(poller, Arc::clone(&name), wake.clone(), Arc::clone(&head), stop.clone()));
        Ok(Self {
            path: path.to_owned(),
            synchronous: config.synchronous,
            writer: WriterSlot::new(connection, options, Arc::clone(&name)),
            queue: Queue::default(),
            joining: Joining::default(),
            tasks,
            wake,
            pages: Pages::default(),
            head,
            stop,
            users: AtomicUsize::new(1),
            name,
        })
    }

    /// One user less. The last one waits for everything under way and closes the file.
    pub(super) async fn leave(self: Arc<Self>) {
        let entry = entry(&self.path);
        let mut opened = entry.lock().await;
        if self.users.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        self.stop.cancel();
        self.tasks.join().await;
        self.writer.close().await;
        // A writer's guard that ended meanwhile has left a janitor.
        self.tasks.join().await;
        *opened = Weak::new();
        forget(&self.path);
    }

    /// Says that there may be something new, to everyone in this process.
    pub(crate) fn announce(&self, position: Option<i64>) {
        if let Some(position) = position {
            self.head.fetch_max(position, Ordering::SeqCst);
        }
        self.wake.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn entry(path: &Path) -> Entry {
    let mut files = lock(&FILES);
    let files = files.get_or_insert_default();
    Arc::clone(files.entry(path.to_owned()).or_default())
}

/// Drops the entry unless somebody waits for it.
fn forget(path: &Path) {
    let mut files = lock(&FILES);
    let files = files.get_or_insert_default();
    // The map and the caller.
    if files.get(path).is_some_and(|entry| Arc::strong_count(entry) <= 2) {
        files.remove(path);
    }
}

/// The one path by which this process knows the file, whatever links lead to it.
pub(super) fn canonical(config: &Sqlite) -> Result<PathBuf, StoreError> {
    let refused = |error: std::io::Error| StoreError::new(kind_of_io(&error), config.name()).caused_by(error);
    match config.path.canonicalize() {
        Ok(path) => return Ok(path),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound || !config.create => return Err(refused(error)),
        Err(_) => {}
    }
    let path = std::path::absolute(&config.path).map_err(refused)?;
    let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(StoreError::new(StoreErrorKind::NotADatabase, config.name()).detail("it is a folder"));
    };
    Ok(folder.canonicalize().map_err(refused)?.join(file))
}
