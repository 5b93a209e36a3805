//! Executors: named pools of work that handlers share. A permit in hand is admission; without one nothing runs.
//!
//! | made by | runs handlers on | for |
//! |---|---|---|
//! | [`ConsumerExecutors::tasks`] | tokio tasks | work that mostly waits, in any order |
//! | [`ConsumerExecutors::partitioned`] | tokio tasks, one at a time per key | read models, and everything with an order per key |
//! | [`ConsumerExecutors::pooled`] | threads of its own | CPU-bound work, thread-bound resources |
//! | [`ConsumerExecutors::unbounded`] | a runtime of yours | work that has its own limits elsewhere |
//!
//! Any of them may have a [rate](trait.ConsumerExecutor.html#method.rate): `ConsumerExecutors::tasks("mail", 8).rate(10, per)`.
//!
//! The capacity of an executor is one budget for the whole bundle, however many consumers name it, and is shared
//! fairly between those that wait. An executor belongs to one bundle, which closes it when it stops.
//!
//! Under [`CheckpointMode::Watermark`](crate::CheckpointMode::Watermark) a permit may serve several events of a consumer,
//! one handler after the other: as long as no handler waits for anything, and for a hundred microseconds at most. A
//! handler that waits has its permit to itself.

mod figures;
mod permits;
#[cfg(test)]
mod permits_tests;
mod pooled;
mod rated;
mod tasks;
mod unbounded;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::identity::ConsumerId;

pub use figures::ExecutorFigures;

/// The most permits an executor may have: 2^20.
pub const MAX_CAPACITY: usize = 1 << 20;

/// Makes the executors of this crate. No constructor panics or starts anything: an unusable name or capacity is a
/// problem of the launch, told together with all others.
///
/// ```
/// use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
/// let executor = ConsumerExecutors::partitioned("read-model", 32);
/// assert_eq!((executor.name(), executor.capacity()), ("read-model", Some(32)));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ConsumerExecutors;

impl ConsumerExecutors {
    /// At most `capacity` handlers at once, each in a tokio task of the bundle's runtime. A plain `fn` handler runs
    /// on tokio's blocking threads instead. Keeps no order between events.
    ///
    /// Use [`partitioned`](Self::partitioned) where events of one key must stay in order.
    #[doc(alias = "virtual")]
    #[must_use]
    pub fn tasks(name: impl Into<String>, capacity: usize) -> Arc<dyn ConsumerExecutor> {
        Arc::new(tasks::TaskExecutor::new(name.into(), capacity, false))
    }

    /// At most `threads` handlers at once, each alone on a thread named `evento-{name}-{i}` that enters the bundle's
    /// runtime: timers, sockets and pools work as everywhere. Threads start with the first work and are joined when
    /// the executor is closed. Keeps no order between events.
    #[must_use]
    pub fn pooled(name: impl Into<String>, threads: usize) -> Arc<dyn ConsumerExecutor> {
        Arc::new(pooled::PooledExecutor::new(name.into(), threads))
    }

    /// At most `lanes` handlers at once, and of one consumer and key at most one, in the order of the log. Keys are
    /// not hashed onto lanes: a slow key takes one lane and delays no other key. An event without a key has no order
    /// to keep.
    #[must_use]
    pub fn partitioned(name: impl Into<String>, lanes: usize) -> Arc<dyn ConsumerExecutor> {
        Arc::new(tasks::TaskExecutor::new(name.into(), lanes, true))
    }

    /// Handlers run on `handle`'s runtime, as many as come; the window of the consumer is the only bound. The runtime
    /// stays the caller's: closing the executor waits for its handlers and leaves the runtime alone. Refused together
    /// with [`CheckpointMode::OnStart`](crate::CheckpointMode::OnStart), whose loss would have no bound.
    #[must_use]
    pub fn unbounded(name: impl Into<String>, handle: tokio::runtime::Handle) -> Arc<dyn ConsumerExecutor> {
        Arc::new(unbounded::UnboundedExecutor::new(name.into(), handle))
    }
}

/// A request to start one delivery.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Who asks. Whoever has the fewest permits is served first, and those with as many in turn, however many tickets
    /// they have.
    pub consumer: Arc<ConsumerId>,
    /// The ordering key of the delivery, if it has one.
    pub key: Option<Arc<str>>,
    /// How long to wait for capacity.
    pub wait: Duration,
}

/// Takes permits back. What makes permits implements it.
pub trait PermitPool: Send + Sync + 'static {
    /// Called once for each permit, when it is dropped.
    fn give_back(&self, slot: usize);
}

/// The right to run one handler. Dropping it gives it back: a panic or a cancel cannot leak one.
pub struct Permit {
    pool: Arc<dyn PermitPool>,
    slot: usize,
}

impl Permit {
    /// A permit of `pool`; `slot` is what the pool wants to hear when it comes back.
    #[must_use]
    pub fn new(pool: Arc<dyn PermitPool>, slot: usize) -> Self {
        Self { pool, slot }
    }

    /// What the pool called it.
    #[must_use]
    pub const fn slot(&self) -> usize {
        self.slot
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.pool.give_back(self.slot);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit({})", self.slot)
    }
}

/// What a permit is spent on.
pub struct Work {
    /// Runs the handler. Never panics; the permit is held until it ends.
    pub future: BoxFuture<'static, ()>,
    /// Polling it may block the thread (a plain `fn` handler): it must not run on an async worker.
    pub blocking: bool,
}

/// Figures of an executor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorStats {
    /// Permits in use, counted from admission.
    pub in_flight: usize,
    /// Permits handed out.
    pub admitted: u64,
    /// Waits that ended without one: after their time, or because the executor was closed. Dropped waits are not
    /// counted.
    pub rejected: u64,
    /// Works that ended; one for each permit, whatever ran under it.
    pub completed: u64,
    /// Of those: dropped before their end, because the runtime they were on ended. Handlers that fail are not among
    /// them.
    pub failed: u64,
    /// The most permits in use at once.
    pub peak: usize,
    /// Of the admitted: those that have waited for the [rate](RateLimit) first.
    pub paced: u64,
    /// Whether there are permits left, but the rate allows no start right now.
    pub waits_for_rate: bool,
}

/// At most so many starts in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// At least 1.
    pub starts: u32,
    /// At most a year.
    pub per: Duration,
}

/// `10 per 1s`.
impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {:?}", self.starts, self.per)
    }
}

impl dyn ConsumerExecutor {
    /// The same executor, with at most `starts` handlers started in each `per`, over all consumers that name it: for
    /// the limits of what they call. Starts are spread, not made at once: with 10 in a second, one each 100 ms; above
    /// a thousand in a second, a few each millisecond. After a pause nothing is made up for.
    ///
    /// A further attempt is a start where it takes a permit, that is but for
    /// [`CheckpointMode::OnStart`](crate::CheckpointMode::OnStart), which keeps the first one. Waiting for the rate takes no
    /// permit, and is no rejection. What is not usable (no starts, no time, more than a year) is a problem of the launch.
    ///
    /// ```
    /// use std::time::Duration;
    /// use evento_runtime::ConsumerExecutors;
    /// let mail = ConsumerExecutors::tasks("mail", 8).rate(10, Duration::from_secs(1));
    /// assert_eq!(mail.rate_limit().map(|limit| limit.to_string()).as_deref(), Some("10 per 1s"));
    /// ```
    #[must_use]
    pub fn rate(self: Arc<Self>, starts: u32, per: Duration) -> Arc<Self> {
        Arc::new(rated::RatedExecutor::new(self, RateLimit { starts, per }))
    }
}

/// A bounded pool of work.
#[async_trait]
pub trait ConsumerExecutor: Send + Sync + 'static {
    /// What handlers call it.
    fn name(&self) -> &str;

    /// Handlers that may run at once, over all consumers; `None`: unbounded.
    fn capacity(&self) -> Option<usize>;

    /// Whether deliveries of one key of one consumer run one after the other, in order.
    fn keeps_key_order(&self) -> bool;

    /// How often work may start, if that is limited; see [`rate`](#method.rate).
    fn rate_limit(&self) -> Option<RateLimit> {
        None
    }

    /// Whether others than this consumer have permits, or wait for some: then it waits for as many as it could use, and
    /// has one ticket otherwise.
    fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        let _ = consumer;
        false
    }

    /// Waits for a permit. `None` after `admission.wait`, or once closed: then nothing ran and nothing will.
    /// Cancel-safe: a dropped future leaves no ticket behind.
    async fn admit(&self, admission: Admission) -> Option<Permit>;

    /// Runs `work` and drops `permit` when it ends. Returns at once.
    fn run(&self, permit: Permit, work: Work);

    /// Figures so far.
    fn stats(&self) -> ExecutorStats;

    /// The same with another capacity, for a [`Config`](crate::bundle::Config) to ask for before anything runs. `None`,
    /// the default: it cannot be given one.
    fn with_capacity(&self, capacity: usize) -> Option<Arc<dyn ConsumerExecutor>> {
        let _ = capacity;
        None
    }

    /// Refuses new work, then waits until nothing runs. Cancel-safe; any number of times.
    async fn close(&self);
}

/// A shared executor is one.
impl<T: ConsumerExecutor + ?Sized> ConsumerExecutor for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn capacity(&self) -> Option<usize> {
        (**self).capacity()
    }

    fn keeps_key_order(&self) -> bool {
        (**self).keeps_key_order()
    }

    fn rate_limit(&self) -> Option<RateLimit> {
        (**self).rate_limit()
    }

    fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        (**self).is_shared(consumer)
    }

    // Written out instead of `async fn`: forwarding needs no second box.
    fn admit<'a, 'b>(&'a self, admission: Admission) -> BoxFuture<'b, Option<Permit>>
    where
        'a: 'b,
        Self: 'b,
    {
        (**self).admit(admission)
    }

    fn run(&self, permit: Permit, work: Work) {
        (**self).run(permit, work);
    }

    fn stats(&self) -> ExecutorStats {
        (**self).stats()
    }

    fn with_capacity(&self, capacity: usize) -> Option<Arc<dyn ConsumerExecutor>> {
        (**self).with_capacity(capacity)
    }

    fn close<'a, 'b>(&'a self) -> BoxFuture<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        (**self).close()
    }
}
