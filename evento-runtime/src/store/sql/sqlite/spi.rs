//! The SPIs, each method a few lines: which connection, and which function of the store code.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::SQL;
use super::config::{Sqlite, supplies};
use super::group;
use super::store::SqliteStore;
use crate::clock::{Clock as _, SystemClock};
use crate::deps::Need;
use crate::error::{AppendError, StoreError};
use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::source::sql::{number_of, position_of, sqlite as log};
use crate::source::{
    Append, Appended, Batch, Browse, EventFilter, EventSource, EventStore, FetchLimits, LogId, PositionCheck, Prune,
    Pruned, foreign_position,
};
use crate::store::sql::{admin, attempt, browse, consumer, dead_letter, lock, prune, state};
use crate::store::{
    CloseStore, ConsumerLock, ConsumerState, ConsumerStateStore, DeadEventQueue, Lease, LetterFilter, ParkedRow,
    RecordedAttempt, Settlement, Store, StoreConfig, StoredDeadLetter,
};

#[async_trait]
impl StoreConfig for SqliteStore {
    fn describe(&self) -> String {
        self.inner.shared.name.to_string()
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

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        self.inner.check_open()?;
        Ok(self.store(false))
    }
}

#[async_trait]
impl CloseStore for SqliteStore {
    async fn close(&self) {
        Self::close(self).await;
    }
}

#[async_trait]
impl EventSource for SqliteStore {
    fn describe(&self) -> String {
        self.inner.shared.name.to_string()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let number = match after {
            Some(after) => number_of(after).ok_or_else(|| foreign_position(&self.inner.shared.name, after))?,
            None => 0,
        };
        let page = log::Page::new(number, limits, filter);
        let read = self.inner.readers.read(move |session| Box::pin(page.read(session)));
        let shared = &self.inner.shared;
        // Nobody reads beside the only one.
        if shared.wake.receiver_count() < 2 {
            read.await
        } else {
            shared.pages.fetch(after, limits, filter, read).await
        }
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        let positions: Vec<_> = positions.iter().filter_map(number_of).collect();
        self.inner.readers.read(move |session| Box::pin(log::read_exact(session, positions))).await
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        self.inner.readers.read(|session| Box::pin(log::head(session))).await
    }

    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError> {
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { state::before(session, &SQL, i64::MAX, time).await }));
        Ok(position_of(read.await?))
    }

    async fn count_after(&self, after: Option<&Position>, at_most: u64) -> Result<u64, StoreError> {
        let after = match after {
            Some(after) => number_of(after).ok_or_else(|| foreign_position(&self.inner.shared.name, after))?,
            None => 0,
        };
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { browse::count_after(session, &SQL, after, at_most).await }));
        read.await
    }

    async fn positions(&self, which: &Browse, limit: usize) -> Result<Vec<Position>, StoreError> {
        let which = which.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { browse::positions(session, &SQL, &which, limit).await }));
        read.await
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        Ok(PositionCheck::of_number(position, self.head().await?.as_ref()))
    }

    async fn pruned(&self) -> Result<Option<Position>, StoreError> {
        // Writes follow one another: what is read after a write of one's own is what was there then, or later.
        let read =
            self.inner.readers.read(|session| Box::pin(async move { prune::mark(session, SQL.prune.share).await }));
        Ok(position_of(read.await?))
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.inner.shared.wake.subscribe()
    }

    fn watches(&self) -> bool {
        true
    }
}

/// Of a path that is canonical.
fn log_id(path: &Path) -> LogId {
    LogId::new(format!("sqlite {}", path.display()))
}

#[async_trait]
impl EventStore for SqliteStore {
    fn log_id(&self) -> Option<LogId> {
        Some(log_id(&self.inner.shared.path))
    }

    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        self.inner.check_open()?;
        self.inner.append(batch).await
    }

    async fn prune(&self, piece: &Prune) -> Result<Pruned, StoreError> {
        self.inner.check_open()?;
        let piece = piece.clone();
        if piece.dry {
            let read = self
                .inner
                .readers
                .read(move |session| Box::pin(async move { prune::prune(session, &SQL, &piece).await }));
            return read.await;
        }
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { prune::prune(session, &SQL, &piece).await })
        });
        work.await
    }
}

#[async_trait]
impl ConsumerStateStore for SqliteStore {
    fn atomic(&self) -> bool {
        true
    }

    fn emits_into(&self) -> Option<LogId> {
        Some(log_id(&self.inner.shared.path))
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { state::load(session, &SQL, &consumer).await }));
        read.await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.inner.check_open()?;
        self.inner.settle(lease, settlement).await
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { attempt::list(session, &SQL, &consumer).await }));
        read.await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let consumer = consumer.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move {
                let number = consumer::ensure_id(session, &SQL, &consumer).await?;
                state::set_enabled(session, &SQL, number, enabled).await
            })
        });
        work.await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { consumer::list(session, SQL.consumers, &bundle).await }));
        read.await
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { consumer::list(session, SQL.paused, &bundle).await }));
        read.await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.inner.check_open()?;
        let (bundle, component) = (bundle.to_owned(), component.to_owned());
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { state::forget(session, &SQL, &bundle, &component, version).await })
        });
        work.await
    }
}

#[async_trait]
impl ConsumerLock for SqliteStore {
    fn owner(&self) -> OwnerId {
        self.inner.owner
    }

    fn lease_duration(&self) -> Duration {
        self.inner.lease
    }

    fn renew_interval(&self) -> Duration {
        self.inner.renew
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        self.inner.check_open()?;
        let work = Arc::clone(&self.inner).acquire(consumer.clone(), above);
        self.inner.work.run(work).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        self.inner.check_open()?;
        let pair = |lease: &Lease| {
            let number = self.inner.number(&lease.consumer).filter(|_| lease.owner == self.inner.owner)?;
            Some((number, lease.epoch.0))
        };
        let pairs: Vec<_> = leases.iter().map(pair).collect();
        let known: Vec<_> = pairs.iter().copied().flatten().collect();
        if known.is_empty() {
            return Ok(vec![false; leases.len()]);
        }
        let milliseconds = i64::try_from(self.inner.lease.as_millis()).unwrap_or(i64::MAX);
        let renewed = self.inner.renew_or_keep(&known, milliseconds).await?;
        Ok(pairs.iter().map(|pair| pair.is_some_and(|pair| renewed.contains(&pair))).collect())
    }

    async fn owners(&self, bundle: &str) -> Result<Vec<Lease>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { admin::owners(session, &SQL, &bundle).await }));
        read.await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.check_open()?;
        let lease = lease.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move {
                match consumer::find_id(session, &SQL, &lease.consumer).await? {
                    Some(number) => lock::release(session, &SQL, number, &lease).await,
                    None => Ok(()),
                }
            })
        });
        work.await
    }
}

#[async_trait]
impl DeadEventQueue for SqliteStore {
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let (consumer, which, after) = (consumer.clone(), which.clone(), after.cloned());
        let read = self.inner.readers.read(move |session| {
            Box::pin(
                async move { dead_letter::list(session, &SQL, &consumer, &which, after.as_ref(), false, limit).await },
            )
        });
        read.await
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.inner.check_open()?;
        let (consumer, which) = (consumer.clone(), which.clone());
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { dead_letter::request(session, &SQL, &consumer, &which).await })
        });
        work.await
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let consumer = consumer.clone();
        let read = self.inner.readers.read(move |session| {
            Box::pin(async move {
                dead_letter::list(session, &SQL, &consumer, &LetterFilter::all(), None, true, limit).await
            })
        });
        read.await
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        let bundle = bundle.to_owned();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { consumer::list(session, SQL.wanted, &bundle).await }));
        read.await
    }

    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.inner.check_open()?;
        let (consumer, which, now) = (consumer.clone(), which.clone(), SystemClock.now());
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { dead_letter::discard(session, &SQL, &consumer, &which, now).await })
        });
        work.await
    }

    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError> {
        self.inner.check_open()?;
        let consumer = consumer.clone();
        let work = group::write(&self.inner.shared, move |session| {
            Box::pin(async move { dead_letter::purge(session, &SQL, &consumer, before).await })
        });
        work.await
    }

    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { dead_letter::parked(session, &SQL, &consumer).await }));
        read.await
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        let consumer = consumer.clone();
        let read = self
            .inner
            .readers
            .read(move |session| Box::pin(async move { dead_letter::count(session, &SQL, &consumer).await }));
        read.await
    }
}
