//! Executors: named pools of work that handlers share. A permit in hand is admission; without one nothing runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::identity::ConsumerId;

/// A request to start one delivery.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Who asks. A consumer has one ticket per executor at a time; tickets are served in turn.
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
    /// Waits that ended without one.
    pub rejected: u64,
    /// Works that ended.
    pub completed: u64,
    /// The most permits in use at once.
    pub peak: usize,
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

    /// Waits for a permit. `None` after `admission.wait`, or once closed: then nothing ran and nothing will.
    /// Cancel-safe: a dropped future leaves no ticket behind.
    async fn admit(&self, admission: Admission) -> Option<Permit>;

    /// Runs `work` and drops `permit` when it ends. Returns at once.
    fn run(&self, permit: Permit, work: Work);

    /// Figures so far.
    fn stats(&self) -> ExecutorStats;

    /// Refuses new work, then waits until nothing runs. Cancel-safe; any number of times.
    async fn close(&self);
}
