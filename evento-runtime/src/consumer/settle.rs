//! The consumer's only way to write: at most one settlement under way, newer values overtake older ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::delivery::{DeliveryNo, Mark};
use crate::error::{StoreError, StoreErrorKind};
use crate::policy::RetryPolicy;
use crate::store::{Checkpoint, ConsumerStateStore, DeadLetter, ErrorHistory, Lease, Settlement};
use crate::task::Tasks;

/// Pauses after failed writes: 50 ms, doubling, at most 5 s.
const WRITE_RETRY: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(50), max_delay: Duration::from_secs(5) };

/// A write under way, and what it settles once it is there.
struct Write {
    task: JoinHandle<Result<(), StoreError>>,
    mark: Mark,
    checkpoint: Checkpoint,
    letters: Vec<(DeliveryNo, DeadLetter)>,
}

/// What a finished write means.
#[derive(Debug)]
pub(crate) enum Settled {
    /// Stored: the checkpoint of `mark`, and the dead letters of these deliveries.
    Stored { mark: Mark, letters: Vec<DeliveryNo> },
    /// Refused, or its outcome is unknown. What it held is kept and written again after a pause.
    Failed(StoreError),
    /// A later ownership exists.
    Fenced(StoreError),
}

/// Writes for one ownership of one consumer.
pub(crate) struct Settler {
    store: Arc<dyn ConsumerStateStore>,
    lease: Lease,
    tasks: Tasks,
    write: Option<Write>,
    letters: Vec<(DeliveryNo, DeadLetter)>,
    stored: Checkpoint,
    failures: u32,
    not_before: Option<Instant>,
    last_write: Instant,
}

impl Settler {
    pub(crate) fn new(store: Arc<dyn ConsumerStateStore>, lease: Lease, tasks: Tasks, stored: Checkpoint) -> Self {
        Self {
            store,
            lease,
            tasks,
            write: None,
            letters: Vec::new(),
            stored,
            failures: 0,
            not_before: None,
            last_write: Instant::now(),
        }
    }

    /// The event of this delivery is given up; it is settled once this row is stored.
    pub(crate) fn dead_letter(&mut self, number: DeliveryNo, letter: DeadLetter) {
        self.letters.push((number, letter));
    }

    /// Whether a write may begin now.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.write.is_none() && self.not_before.is_none_or(|instant| now >= instant)
    }

    pub(crate) const fn is_writing(&self) -> bool {
        self.write.is_some()
    }

    pub(crate) const fn has_letters(&self) -> bool {
        !self.letters.is_empty()
    }

    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// When a failed write may be repeated.
    pub(crate) const fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    pub(crate) const fn last_write(&self) -> Instant {
        self.last_write
    }

    /// What the store holds, as far as this ownership knows.
    pub(crate) const fn stored(&self) -> &Checkpoint {
        &self.stored
    }

    /// Begins to write everything there is; `errors`: the failures to show, if they have changed.
    pub(crate) fn begin(&mut self, (checkpoint, mark): (Checkpoint, Mark), errors: Option<ErrorHistory>) {
        let letters = std::mem::take(&mut self.letters);
        let settlement = Settlement {
            dead_letters: letters.iter().map(|(_, letter)| letter.clone()).collect(),
            errors,
            started: false,
            checkpoint: Some(checkpoint.clone()),
        };
        let (store, lease) = (Arc::clone(&self.store), self.lease.clone());
        let task = self.tasks.spawn(async move { store.settle(&lease, settlement).await });
        self.last_write = Instant::now();
        self.write = Some(Write { task, mark, checkpoint, letters });
    }

    /// The end of the write under way. Cancel-safe: the write itself goes on, and its result stays here.
    pub(crate) async fn finished(&mut self) -> Settled {
        let Some(write) = &mut self.write else { return std::future::pending().await };
        let result = (&mut write.task).await;
        let result =
            result.unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Other, "settle").caused_by(error)));
        let Some(write) = self.write.take() else { return std::future::pending().await };
        match result {
            Ok(()) => {
                self.failures = 0;
                self.not_before = None;
                self.stored = write.checkpoint;
                let letters = write.letters.into_iter().map(|(number, _)| number).collect();
                Settled::Stored { mark: write.mark, letters }
            }
            Err(error) if error.kind() == StoreErrorKind::Fenced => Settled::Fenced(error),
            Err(error) => {
                // Every part is idempotent under its epoch, so an unknown outcome is repeated, not assumed.
                self.letters.splice(0..0, write.letters);
                self.failures = self.failures.saturating_add(1);
                self.not_before = Some(Instant::now() + WRITE_RETRY.backoff(self.failures, fastrand::f64()));
                Settled::Failed(error)
            }
        }
    }
}
