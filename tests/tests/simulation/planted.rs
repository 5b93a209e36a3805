//! Deliberate mistakes, which the history has to give away.
//!
//! None of them is a switch in the runtime: each lives in what the runtime is given (a store that does not fence, an
//! executor that keeps a permit, a settlement rewritten on its way), because that is where the same mistake, made in
//! the engine, would show as well, and it costs production nothing.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use evento_runtime::async_trait;
use evento_runtime::executor::{Admission, ConsumerExecutor, ExecutorStats, Permit, Work};
use evento_runtime::store::{Checkpoint, LetterKind, Settlement};

use crate::instance::Instance;

/// A planted mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// The checkpoint is the highest position started, and nothing below it is open.
    CommitHighest,
    /// Reading goes on after `position + 1`.
    PlusOne,
    /// A handler that panics keeps its permit.
    LeakedPermit,
    /// A stop gives the ownership back before its handlers have ended.
    ReleasedBeforeDrain,
    /// The store takes writes of any epoch.
    ForgottenEpoch,
    /// What a handler has written, what it emits and its dead letters are stored after what says that the event is
    /// settled.
    SettleBeforeCommit,
    /// An event that is to be tried again lets the next one of its key go first.
    RetryLast,
    /// A claim of somebody who is gone never expires.
    ClaimForEver,
    /// What is parked is forgotten with the process.
    ForgottenQueue,
    /// Of a parked key the newest event is tried first.
    NewestFirst,
    /// What queues behind an event that was given up is settled, and not kept.
    DroppedRow,
}

impl Plant {
    pub(crate) const ALL: [Self; 8] = [
        Self::CommitHighest,
        Self::PlusOne,
        Self::LeakedPermit,
        Self::ReleasedBeforeDrain,
        Self::ForgottenEpoch,
        Self::SettleBeforeCommit,
        Self::RetryLast,
        Self::ClaimForEver,
    ];

    /// Those of parked keys, counted on their own.
    pub(crate) const OF_PARKING: [Self; 3] = [Self::ForgottenQueue, Self::NewestFirst, Self::DroppedRow];

    pub(crate) fn named(name: &str) -> Self {
        let plant = Self::ALL.into_iter().chain(Self::OF_PARKING).find(|plant| format!("{plant:?}") == name);
        plant.unwrap_or_else(|| panic!("no such plant: {name}"))
    }

    /// How long what a settlement leaves behind is late.
    pub(crate) const LATE: Duration = Duration::from_millis(200);

    /// What of a settlement is stored now, and what later.
    pub(crate) fn rewrite(self, mut settlement: Settlement) -> (Settlement, Option<Settlement>) {
        match self {
            Self::CommitHighest => {
                if let Some(checkpoint) = &mut settlement.checkpoint {
                    let reach = checkpoint.reach.clone();
                    *checkpoint = Checkpoint { watermark: reach.clone(), reach, open: Vec::new() };
                }
                (settlement, None)
            }
            Self::SettleBeforeCommit if !settlement.dead_letters.is_empty() || !settlement.emitted.is_empty() => {
                let mut late = Settlement::default();
                late.dead_letters = std::mem::take(&mut settlement.dead_letters);
                late.emitted = std::mem::take(&mut settlement.emitted);
                (settlement, Some(late))
            }
            Self::DroppedRow => {
                settlement.dead_letters.retain(|letter| letter.kind != LetterKind::Parked);
                (settlement, None)
            }
            _ => (settlement, None),
        }
    }
}

/// An executor whose permits stay out after a panic: the report of the handler is sent, its work never ends.
pub(crate) struct Leaky {
    pub(crate) inner: Arc<dyn ConsumerExecutor>,
    pub(crate) instance: Arc<Instance>,
}

#[async_trait]
impl ConsumerExecutor for Leaky {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capacity(&self) -> Option<usize> {
        self.inner.capacity()
    }

    fn keeps_key_order(&self) -> bool {
        self.inner.keeps_key_order()
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        self.inner.admit(admission).await
    }

    fn run(&self, permit: Permit, work: Work) {
        let (instance, mut future, mut panicked) = (Arc::clone(&self.instance), work.future, false);
        let future = std::future::poll_fn(move |cx| {
            instance.take_panicked();
            let polled = if panicked { Poll::Pending } else { future.as_mut().poll(cx) };
            panicked |= instance.take_panicked();
            if panicked { Poll::Pending } else { polled }
        });
        self.inner.run(permit, Work { future: Box::pin(future), blocking: work.blocking });
    }

    fn stats(&self) -> ExecutorStats {
        self.inner.stats()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
