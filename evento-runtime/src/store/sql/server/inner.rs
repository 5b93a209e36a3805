//! An open store on a server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex as AsyncMutex, Notify, watch};
use tokio_util::sync::CancellationToken;

use super::pool::Connections;
use super::renewal::Renewal;
use super::{Server, Settings, Transacting, watch as watching};
use crate::deps::Deps;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::{ConsumerId, OwnerId};
use crate::source::EventStore;
use crate::source::pages::Pages;
use crate::store::{CloseStore, ConsumerLock, ConsumerStateStore, Store, Stores};
use crate::sync::{Mutex, lock};
use crate::task::Tasks;

/// What a driver opens a store with.
pub(crate) struct Parts<S: Server> {
    pub(crate) server: S,
    pub(crate) settings: Settings,
}

/// Connections, identity, and what is known without asking.
pub(crate) struct Inner<S: Server> {
    pub(crate) server: Arc<S>,
    pub(crate) settings: Settings,
    pub(crate) owner: OwnerId,
    /// Everything that changes something.
    pub(crate) writers: Connections<S>,
    pub(crate) readers: Connections<S>,
    /// Handlers, each in a transaction.
    pub(super) transactions: Connections<S>,
    pub(super) renewal: Renewal<S>,
    pub(super) wake: watch::Sender<u64>,
    pub(super) pages: Pages,
    /// Something was appended here: others are to be told.
    pub(crate) appended: Arc<Notify>,
    /// Somebody else may have appended: look.
    pub(crate) look: Arc<Notify>,
    /// Whether appends of others are told to this process.
    pub(crate) is_told: AtomicBool,
    pub(crate) stop: CancellationToken,
    /// Watching, telling, listening.
    pub(crate) background: Tasks,
    /// Rows of the consumer table are never deleted.
    numbers: Mutex<HashMap<ConsumerId, i64>>,
    closed: AtomicBool,
    closing: AsyncMutex<bool>,
    close_tasks: Tasks,
}

impl<S: Server> Inner<S> {
    /// The schema is there; nothing has run yet.
    pub(crate) fn open(parts: Parts<S>) -> Arc<Self> {
        let server = Arc::new(parts.server);
        let inner = Arc::new(Self {
            owner: OwnerId::generate(),
            writers: Connections::new(Arc::clone(&server), parts.settings.writers),
            readers: Connections::new(Arc::clone(&server), parts.settings.readers),
            transactions: Connections::new(Arc::clone(&server), parts.settings.transactions),
            renewal: Renewal::new(Arc::clone(&server)),
            wake: watch::channel(0).0,
            pages: Pages::default(),
            appended: Arc::default(),
            look: Arc::default(),
            is_told: AtomicBool::new(false),
            stop: CancellationToken::new(),
            background: Tasks::default(),
            numbers: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: AsyncMutex::new(false),
            close_tasks: Tasks::default(),
            settings: parts.settings,
            server,
        });
        watching::start(&inner);
        inner
    }

    /// Refuses what comes after [`close`](Self::close).
    pub(crate) fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Closed, &**self.server.name()));
        }
        Ok(())
    }

    /// The integer of a consumer, if it is known here.
    pub(super) fn number(&self, id: &ConsumerId) -> Option<i64> {
        lock(&self.numbers).get(id).copied()
    }

    /// Not before the commit: a number that was rolled back may go to another consumer.
    pub(super) fn remember(&self, id: &ConsumerId, number: i64) {
        lock(&self.numbers).insert(id.clone(), number);
    }

    /// Wakes the readers of this process.
    pub(crate) fn announce(&self) {
        self.wake.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Wakes the readers of this process, and of others in a moment.
    pub(crate) fn announce_append(&self) {
        self.announce();
        self.appended.notify_one();
    }

    /// Log and SPIs for a bundle, which closes it at its stop if `own`.
    pub(crate) fn store(self: &Arc<Self>, supplied: Deps, own: bool) -> Store
    where
        S: Transacting,
    {
        let store = Arc::new(super::spi::Spi(Arc::clone(self)));
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

    /// Waits for what is under way and closes every connection. Any number of times; dropping the future does not
    /// stop it.
    pub(crate) async fn close(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        let close = async move {
            let mut closed = inner.closing.lock().await;
            if *closed {
                return;
            }
            inner.closed.store(true, Ordering::SeqCst);
            inner.stop.cancel();
            inner.background.join().await;
            inner.transactions.close().await;
            inner.readers.close().await;
            inner.writers.close().await;
            inner.renewal.close().await;
            *closed = true;
        };
        self.close_tasks.run(close).await;
    }
}

impl<S: Server> Drop for Inner<S> {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
