//! The SPIs, each method a few lines: which connection, and which function of the store code.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::{Inner, Server, Wrap};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::{ConsumerId, Epoch, OwnerId};
use crate::source::sql::{number_of, position_of};
use crate::source::{
    Append, Appended, Batch, Browse, EventFilter, EventSource, EventStore, FetchLimits, Held, LogId, PositionCheck,
    Prune, Pruned, foreign_position,
};
use crate::store::LetterFilter;
use crate::store::sql::statements::Statements;
use crate::store::sql::{admin, attempt, browse, consumer, dead_letter, prune, state};
use crate::store::{
    CloseStore, ConsumerLock, ConsumerState, ConsumerStateStore, DeadEventQueue, Lease, ParkedRow, RecordedAttempt,
    Settlement, StoredDeadLetter,
};

/// How often an operator gives way before that is told.
const GIVES_WAY: usize = 9;

/// A handle that engines use.
pub(super) struct Spi<S: Server>(pub(super) Arc<Inner<S>>);

/// An operator changes many letters at once while their consumer settles some, and takes the rows in another order: whom
/// the server ends for it had changed nothing, and begins again a moment later, of no fixed length so that two of them do
/// not meet for ever.
async fn giving_way<T, F>(work: impl Fn() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 0..GIVES_WAY {
        match work().await {
            Err(error) if error.kind() == StoreErrorKind::Busy => {
                tokio::time::sleep(Duration::from_millis(fastrand::u64(5..50))).await;
            }
            result => return result,
        }
    }
    work().await
}

#[async_trait]
impl<S: Server> CloseStore for Spi<S> {
    async fn close(&self) {
        self.0.close().await;
    }
}

#[async_trait]
impl<S: Server> EventSource for Spi<S> {
    fn describe(&self) -> String {
        self.0.server.name().to_string()
    }

    async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let number = match after {
            Some(after) => number_of(after).ok_or_else(|| foreign_position(self.0.server.name(), after))?,
            None => 0,
        };
        let read = S::fetch(&self.0, number, FetchLimits { events: limits.events.max(1), ..limits }, filter);
        // Nobody reads beside the only one.
        if self.0.wake.receiver_count() < 2 {
            read.await
        } else {
            self.0.pages.fetch(after, limits, filter, read).await
        }
    }

    async fn read_exact(&self, positions: &[Position]) -> Result<Vec<StoredEvent>, StoreError> {
        let mut numbers: Vec<_> = positions.iter().filter_map(number_of).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        S::read_exact(&self.0, numbers).await
    }

    async fn head(&self) -> Result<Option<Position>, StoreError> {
        Ok(position_of(S::head(&self.0).await?))
    }

    async fn newest(&self) -> Result<Option<Position>, StoreError> {
        Ok(position_of(S::last(&self.0).await?))
    }

    async fn before(&self, time: Timestamp) -> Result<Option<Position>, StoreError> {
        // What lies above the head may still get company below it.
        let head = S::head(&self.0).await?;
        let find = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { state::before(&mut *server.session(connection), server.sql(), head, time).await })
        });
        Ok(position_of(find.await?))
    }

    async fn count_after(&self, after: Option<&Position>, at_most: u64) -> Result<u64, StoreError> {
        let after = match after {
            Some(after) => number_of(after).ok_or_else(|| foreign_position(self.0.server.name(), after))?,
            None => 0,
        };
        let count = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                browse::count_after(&mut *server.session(connection), server.sql(), after, at_most).await
            })
        });
        count.await
    }

    async fn positions(&self, which: &Browse, limit: usize) -> Result<Vec<Position>, StoreError> {
        let which = which.clone();
        let positions = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(
                async move { browse::positions(&mut *server.session(connection), server.sql(), &which, limit).await },
            )
        });
        positions.await
    }

    async fn validate(&self, position: &Position) -> Result<PositionCheck, StoreError> {
        // Not the head: that may wait for a hole which the checkpoint has passed already.
        Ok(PositionCheck::of_number(position, position_of(S::last(&self.0).await?).as_ref()))
    }

    async fn pruned(&self) -> Result<Option<Position>, StoreError> {
        self.0.check_open()?;
        let read = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { prune::mark(&mut *server.session(connection), server.sql().prune.share).await })
        });
        Ok(position_of(read.await?))
    }

    fn held(&self) -> Option<Held> {
        self.0.server.held()
    }

    fn wake(&self) -> watch::Receiver<u64> {
        self.0.wake.subscribe()
    }

    fn watches(&self) -> bool {
        true
    }
}

#[async_trait]
impl<S: Server> EventStore for Spi<S> {
    fn log_id(&self) -> Option<LogId> {
        Some(self.log())
    }

    async fn append(&self, batch: Append) -> Result<Appended, AppendError> {
        self.0.check_open()?;
        let inner = Arc::clone(&self.0);
        // Whoever stops waiting does not keep others from being told.
        self.0.background.run(async move { S::append(&inner, batch).await }).await
    }

    async fn prune(&self, piece: &Prune) -> Result<Pruned, StoreError> {
        self.0.check_open()?;
        let piece = piece.clone();
        let work = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { prune::prune(&mut *server.session(connection), server.sql(), &piece).await })
        });
        work.await
    }
}

impl<S: Server> Spi<S> {
    fn log(&self) -> LogId {
        // The schema or the prefix is in every statement.
        LogId::new(format!("{} {}", self.0.server.name(), self.0.server.sql().consumers))
    }

    async fn consumers_by(
        &self,
        statement: fn(&Statements) -> &'static str,
        bundle: &str,
    ) -> Result<Vec<ConsumerId>, StoreError> {
        let bundle = bundle.to_owned();
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            let statement = statement(server.sql());
            Box::pin(async move { consumer::list(&mut *server.session(connection), statement, &bundle).await })
        });
        list.await
    }
}

#[async_trait]
impl<S: Server> ConsumerStateStore for Spi<S> {
    fn atomic(&self) -> bool {
        true
    }

    fn emits_into(&self) -> Option<LogId> {
        Some(self.log())
    }

    async fn load(&self, consumer: &ConsumerId) -> Result<ConsumerState, StoreError> {
        let consumer = consumer.clone();
        let load = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { state::load(&mut *server.session(connection), server.sql(), &consumer).await })
        });
        load.await
    }

    async fn settle(&self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.0.check_open()?;
        self.0.settle(lease, settlement).await
    }

    async fn attempts(&self, consumer: &ConsumerId) -> Result<Vec<RecordedAttempt>, StoreError> {
        let consumer = consumer.clone();
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { attempt::list(&mut *server.session(connection), server.sql(), &consumer).await })
        });
        list.await
    }

    async fn set_enabled(&self, consumer: &ConsumerId, enabled: bool) -> Result<(), StoreError> {
        self.0.check_open()?;
        let consumer = consumer.clone();
        let set = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let number = consumer::ensure_id(&mut *session, server.sql(), &consumer).await?;
                state::set_enabled(&mut *session, server.sql(), number, enabled).await
            })
        });
        set.await
    }

    async fn paused(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.consumers_by(|sql| sql.paused, bundle).await
    }

    async fn consumers(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.consumers_by(|sql| sql.consumers, bundle).await
    }

    async fn forget(&self, bundle: &str, component: &str, version: u32) -> Result<usize, StoreError> {
        self.0.check_open()?;
        let (bundle, component) = (bundle.to_owned(), component.to_owned());
        let forget = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                state::forget(&mut *server.session(connection), server.sql(), &bundle, &component, version).await
            })
        });
        forget.await
    }
}

#[async_trait]
impl<S: Server> ConsumerLock for Spi<S> {
    fn owner(&self) -> OwnerId {
        self.0.owner
    }

    fn lease_duration(&self) -> Duration {
        self.0.settings.lease
    }

    fn renew_interval(&self) -> Duration {
        self.0.settings.renew_interval()
    }

    async fn acquire(&self, consumer: &ConsumerId, above: Epoch) -> Result<Option<Lease>, StoreError> {
        self.0.check_open()?;
        let (inner, consumer) = (Arc::clone(&self.0), consumer.clone());
        // One task for all its steps: what was claimed is fenced, or given back.
        self.0.background.run(async move { inner.acquire(consumer, above).await }).await
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<bool>, StoreError> {
        self.0.check_open()?;
        let inner = &self.0;
        let pair = |lease: &Lease| {
            let number = inner.number(&lease.consumer).filter(|_| lease.owner == inner.owner)?;
            Some((number, lease.epoch.0))
        };
        let pairs: Vec<_> = leases.iter().map(pair).collect();
        let known: Vec<_> = pairs.iter().copied().flatten().collect();
        if known.is_empty() {
            return Ok(vec![false; leases.len()]);
        }
        let settings = &inner.settings;
        let renewed = inner.renewal.renew(inner.owner, &known, settings.lease_milliseconds(), settings.lease).await?;
        Ok(pairs.iter().map(|pair| pair.is_some_and(|pair| renewed.contains(&pair))).collect())
    }

    async fn owners(&self, bundle: &str) -> Result<Vec<Lease>, StoreError> {
        let bundle = bundle.to_owned();
        let owners = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { admin::owners(&mut *server.session(connection), server.sql(), &bundle).await })
        });
        owners.await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.0.check_open()?;
        let (lease, known) = (lease.clone(), self.0.number(&lease.consumer));
        // Nobody but this owner's store has given it out, and that knows its number.
        match known {
            Some(number) => self.0.give_back(number, &lease).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl<S: Server> DeadEventQueue for Spi<S> {
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let (consumer, which, after) = (consumer.clone(), which.clone(), after.cloned());
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                dead_letter::list(&mut *session, server.sql(), &consumer, &which, after.as_ref(), false, limit).await
            })
        });
        list.await
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.0.check_open()?;
        let request = || {
            let (consumer, which) = (consumer.clone(), which.clone());
            self.0.writers.run(Wrap::Transaction, move |server, connection| {
                Box::pin(async move {
                    dead_letter::request(&mut *server.session(connection), server.sql(), &consumer, &which).await
                })
            })
        };
        giving_way(request).await
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let consumer = consumer.clone();
        let list = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                dead_letter::list(&mut *session, server.sql(), &consumer, &LetterFilter::all(), None, true, limit).await
            })
        });
        list.await
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.consumers_by(|sql| sql.wanted, bundle).await
    }

    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.0.check_open()?;
        let now = SystemClock.now();
        let discard = || {
            let (consumer, which) = (consumer.clone(), which.clone());
            self.0.writers.run(Wrap::Transaction, move |server, connection| {
                Box::pin(async move {
                    dead_letter::discard(&mut *server.session(connection), server.sql(), &consumer, &which, now).await
                })
            })
        };
        giving_way(discard).await
    }

    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError> {
        self.0.check_open()?;
        let consumer = consumer.clone();
        let purge = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                dead_letter::purge(&mut *server.session(connection), server.sql(), &consumer, before).await
            })
        });
        purge.await
    }

    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        let consumer = consumer.clone();
        let parked = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(
                async move { dead_letter::parked(&mut *server.session(connection), server.sql(), &consumer).await },
            )
        });
        parked.await
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        let consumer = consumer.clone();
        let count = self.0.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move { dead_letter::count(&mut *server.session(connection), server.sql(), &consumer).await })
        });
        count.await
    }
}
