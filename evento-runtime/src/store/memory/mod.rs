//! Everything in memory: for tests, and for what may be forgotten.

mod admin;
mod claims;
mod letters;
mod sagas;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use self::state::{Kept, Row};
use super::{CloseStore, ConsumerLock, ConsumerStateStore, Store, StoreConfig, Stores};
use crate::clock::{Clock, SystemClock};
use crate::deps::{Deps, Need};
use crate::error::{AppendError, StoreError};
use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::{ConsumerId, OwnerId};
use crate::source::memory::Log;
use crate::source::{
    Append, Appended, Batch, EventFilter, EventSource, EventStore, FetchLimits, LogId, PositionCheck, Prune, Pruned,
    foreign_position,
};
use crate::sync::{Mutex, lock};

/// Configuration of a new, empty store in memory. What it holds ends with the bundle.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Memory {}

impl Memory {
    /// A new, empty store.
    #[must_use]
    pub const fn new() -> Self {
        Self {}
    }

    /// Opens it, to be given to several bundles, or looked at after a bundle has stopped.
    #[must_use]
    pub fn open(self) -> MemoryStore {
        MemoryStore::new()
    }
}

/// An open store in memory. Clones, and the bundles it is given to, share what it holds; every bundle is an owner of
/// its own. Leases last ten seconds of tokio's clock.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    owner: OwnerId,
}

struct Shared {
    data: Mutex<Data>,
    wake: watch::Sender<u64>,
}

#[derive(Default)]
struct Data {
    log: Log,
    consumers: BTreeMap<ConsumerId, Row>,
    admin: admin::Admin,
}

const NAME: &str = "memory";

impl Data {
    /// What is kept of the consumers of a bundle.
    fn kept_of(&mut self, bundle: &str) -> impl Iterator<Item = &mut Kept> {
        let of_bundle = self.consumers.iter_mut().filter(move |(id, _)| &*id.bundle == bundle);
        of_bundle.filter_map(|(_, row)| row.kept.as_mut())
    }
}

impl Data {
    /// The consumer that has come least far. One whose positions are not numbers reads another log.
    fn slowest(&self) -> Option<(ConsumerId, Option<Position>)> {
        let kept = self.consumers.iter().filter_map(|(id, row)| Some((id, row.kept.as_ref()?.watermark())));
        let ours = kept.filter(|(_, watermark)| watermark.is_none_or(|watermark| watermark.as_u64().is_some()));
        ours.min_by_key(|(_, watermark)| *watermark).map(|(id, watermark)| (id.clone(), watermark.cloned()))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// A new, empty store.
    #[must_use]
    pub fn new() -> Self {
        let shared = Shared { data: Mutex::default(), wake: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), owner: OwnerId::generate() }
    }

    /// Log and SPIs, under an owner of its own.
    #[must_use]
    pub fn store(&self) -> Store {
        let own = Arc::new(Self { shared: Arc::clone(&self.shared), owner: OwnerId::generate() });
        Store {
            events: Arc::clone(&own) as Arc<dyn EventStore>,
            stores: Stores {
                state: Arc::clone(&own) as Arc<dyn ConsumerStateStore>,
                lock: Arc::clone(&own) as Arc<dyn ConsumerLock>,
                dead_letters: Arc::clone(&own) as _,
                sagas: Arc::clone(&own) as _,
                claims: Arc::clone(&own) as _,
                admin: own,
                transactions: None,
            },
            supplied: Deps::default(),
            close: None,
        }
    }

    /// As long as it lives, nothing else is where it is.
    fn log(&self) -> LogId {
        LogId::new(format!("{NAME} {:p}", Arc::as_ptr(&self.shared)))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Data) -> T) -> T {
        work(&mut lock(&self.shared.data))
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[async_trait]
impl StoreConfig for Memory {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        let store = MemoryStore::new();
        Ok(Store { close: Some(Arc::new(store.clone())), ..store.store() })
    }
}

#[async_trait]
impl StoreConfig for MemoryStore {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn supplies(&self) -> Vec<Need> {
        Vec::new()
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok(self.store())
    }
}

#[async_trait]
impl CloseStore for MemoryStore {
    async fn close(&self) {}
}

#[async_trait]
impl EventSource for MemoryStore {
    fn describe(&self) -> String {
        NAME.to_owned()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        if let Some(foreign) = after.filter(|after| after.as_u64().is_none()) {
            return Err(foreign_position(NAME, foreign));
        }
        Ok(self.with(|data| data.log.fetch(after, limits, filter)))
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        Ok(self.with(|data| data.log.read_exact(positions)))
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        Ok(self.with(|data| data.log.head()))
    }

    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError> {
        Ok(self.with(|data| data.log.before(time)))
    }

    async fn count_after(&self, after: Option<&Position>, at_most: u64) -> Result<u64, StoreError> {
        if let Some(foreign) = after.filter(|after| after.as_u64().is_none()) {
            return Err(foreign_position(NAME, foreign));
        }
        Ok(self.with(|data| data.log.count_after(after, at_most)))
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        Ok(self.with(|data| data.log.validate(position)))
    }

    async fn pruned(&self) -> Result<Option<Position>, StoreError> {
        Ok(self.with(|data| data.log.pruned()))
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.shared.wake.subscribe()
    }

    fn watches(&self) -> bool {
        true
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    fn log_id(&self) -> Option<LogId> {
        Some(self.log())
    }

    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        let appended = self.with(|data| data.log.append(&batch, SystemClock.now()))?;
        if !appended.known {
            self.shared.wake.send_modify(|count| *count = count.wrapping_add(1));
        }
        Ok(appended)
    }

    async fn prune(&self, piece: &Prune) -> Result<Pruned, StoreError> {
        Ok(self.with(|data| {
            let Some((consumer, bound)) = data.slowest() else {
                return Pruned { to: data.log.pruned(), ..Pruned::default() };
            };
            let pruned = data.log.prune(piece, bound.as_ref());
            Pruned { slowest: Some((consumer, bound)), ..pruned }
        }))
    }
}
