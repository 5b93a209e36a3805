//! Starts that are spread over time, around any executor.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::permits::Permits;
use super::{Admission, ConsumerExecutor, ExecutorStats, Permit, RateLimit, Work};
use crate::clock::later;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// A start that comes this late is made up for: timers know milliseconds.
const LATE: Duration = Duration::from_millis(2);

/// How long a turn is waited for: waiting for the rate is no rejection. 100 years.
const PATIENCE: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

pub(super) struct RatedExecutor {
    inner: Arc<dyn ConsumerExecutor>,
    limit: RateLimit,
    /// One permit: whoever has it starts next. Consumers take turns.
    turn: Arc<Permits>,
    /// When the next start is due; `None` before the first.
    due: Mutex<Option<Instant>>,
    paced: AtomicU64,
}

impl RatedExecutor {
    pub(super) fn new(inner: Arc<dyn ConsumerExecutor>, limit: RateLimit) -> Self {
        Self { inner, limit, turn: Permits::new(1), due: Mutex::new(None), paced: AtomicU64::new(0) }
    }

    /// Nobody else starts meanwhile, so nobody is kept from a permit by who waits for the time.
    async fn wait_until_due(&self) {
        let due = *lock(&self.due);
        if let Some(due) = due.filter(|due| *due > Instant::now()) {
            tokio::time::sleep_until(due).await;
            self.paced.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn note_start(&self) {
        // What is not usable was refused at the launch.
        let every = self.limit.per / self.limit.starts.max(1);
        let now = Instant::now();
        let mut due = lock(&self.due);
        let on_time = due.filter(|due| now.saturating_duration_since(*due) <= every.max(LATE));
        *due = Some(on_time.and_then(|due| due.checked_add(every)).unwrap_or_else(|| later(every)));
    }
}

#[async_trait]
impl ConsumerExecutor for RatedExecutor {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capacity(&self) -> Option<usize> {
        self.inner.capacity()
    }

    fn keeps_key_order(&self) -> bool {
        self.inner.keeps_key_order()
    }

    fn rate_limit(&self) -> Option<RateLimit> {
        Some(self.limit)
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        let _turn = self.turn.admit(Admission { wait: PATIENCE, ..admission.clone() }).await?;
        self.wait_until_due().await;
        let permit = self.inner.admit(admission).await?;
        self.note_start();
        Some(permit)
    }

    fn run(&self, permit: Permit, work: Work) {
        self.inner.run(permit, work);
    }

    fn with_capacity(&self, capacity: usize) -> Option<Arc<dyn ConsumerExecutor>> {
        Some(Arc::new(Self::new(self.inner.with_capacity(capacity)?, self.limit)))
    }

    fn stats(&self) -> ExecutorStats {
        let stats = self.inner.stats();
        let early = lock(&self.due).is_some_and(|due| due > Instant::now());
        let has_room = self.capacity().is_none_or(|capacity| stats.in_flight < capacity);
        ExecutorStats { paced: self.paced.load(Ordering::Relaxed), waits_for_rate: early && has_room, ..stats }
    }

    async fn close(&self) {
        self.turn.refuse();
        self.inner.close().await;
    }
}
