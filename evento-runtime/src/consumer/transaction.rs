//! Attempts within a transaction of the store: what the handler writes, what it emits, and that the event is handled
//! are one commit.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument as _;

use super::attempt::{AttemptEnd, AttemptError, Caller, Committed, Done, Effects, Failed, outcome, panicked};
use super::settle::add;
use super::telemetry::AttemptOutcome;
use crate::clock::later;
use crate::context::HandlerContext;
use crate::error::{BoxError, StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::outcome::{Flow, HandlerError};
use crate::policy::RetryPolicy;
use crate::store::{ConsumerStateStore, Lease, OpenTransaction, Settlement, TransactionStore};

/// Pauses between questions what became of a commit: 50 ms, doubling, at most 5 s.
const ASK_AGAIN: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(50), max_delay: Duration::from_secs(5) };

/// What attempts of one handler are made in.
pub(crate) struct Transactions {
    pub(crate) store: Arc<dyn TransactionStore>,
    pub(crate) lease: Lease,
}

/// What became of a call within a transaction.
pub(super) enum Called {
    /// What it left is to be stored, and the transaction is open.
    Passed(Done, Box<dyn OpenTransaction>),
    /// The transaction is undone.
    Failed(AttemptEnd),
}

#[derive(Debug, thiserror::Error)]
#[error("a statement failed within the transaction, and the handler did not return its error")]
struct Swallowed(#[source] StoreError);

impl Caller {
    /// One attempt. Its own statements are never cut short: only the handler decides how long it takes.
    pub(super) async fn call_within(&self, within: &Transactions, context: HandlerContext) -> AttemptEnd {
        let mut stop = context.stop();
        let open = tokio::select! {
            biased;
            // Its handler has not begun: told to stop, it does not.
            () = stop.stopped() => return Err(Failed::Store(within.not_begun())),
            open = within.store.begin() => open.map_err(Failed::Store)?,
        };
        match self.call_in(&context, open).await {
            Called::Passed(done, open) => self.finish(within, &context, done, open).await,
            Called::Failed(end) => end,
        }
    }

    /// The same within a transaction that others share.
    pub(super) async fn call_watched(&self, context: &HandlerContext, open: Box<dyn OpenTransaction>) -> Called {
        let watched = self.watch(context);
        let called = self.call_in(context, open).instrument(watched.span).await;
        let outcome = match &called {
            Called::Passed(Done { flow: Flow::Skip, .. }, _) => AttemptOutcome::Skipped,
            Called::Passed(..) => AttemptOutcome::Handled,
            Called::Failed(end) => outcome(end),
        };
        self.watched(watched.told.as_ref(), outcome);
        called
    }

    /// Calls the handler within an open transaction; unless it passes, nothing of the transaction is left.
    pub(super) async fn call_in(&self, context: &HandlerContext, open: Box<dyn OpenTransaction>) -> Called {
        if let Err(failed) = self.still_begins(context) {
            open.roll_back().await;
            return Called::Failed(Err(failed));
        }
        context.put_transaction(open);
        let result = self.run_limited(context.clone()).await;
        // A handler that panicked has taken it along, and so has one that was dropped: then it is rolled back.
        let open = context.take_transaction();
        let end = match (result, open) {
            (Some(Ok(Ok(flow))), Some(open)) if !matches!(flow, Flow::DeadLetter(_) | Flow::RetryAfter(_)) => {
                match self.done(context, flow).await {
                    Ok(done) => return Called::Passed(done, open),
                    Err(failed) => {
                        open.roll_back().await;
                        return Called::Failed(Err(failed));
                    }
                }
            }
            (Some(Ok(Ok(flow))), Some(open)) => {
                open.roll_back().await;
                return Called::Failed(Ok(Done { flow, effects: Effects::default(), committed: Committed::No }));
            }
            (Some(Ok(Ok(_))), None) => self.explain(lost()),
            (Some(Ok(Err(error))), open) => {
                undo(open).await;
                self.explain(error)
            }
            (Some(Err(panic)), open) => {
                undo(open).await;
                panicked(panic)
            }
            (None, open) => {
                undo(open).await;
                self.abandoned(context)
            }
        };
        Called::Failed(Err(Failed::Attempt(end)))
    }

    async fn finish(
        &self,
        within: &Transactions,
        left: &HandlerContext,
        done: Done,
        mut open: Box<dyn OpenTransaction>,
    ) -> AttemptEnd {
        let done = Done { committed: Committed::Noted, ..done };
        match open.settle(&within.lease, settlement(left, &done.effects)).await {
            Ok(()) => {}
            Err(error) => {
                open.roll_back().await;
                return self.not_settled(within, left, done, error).await;
            }
        }
        match open.commit().await {
            Ok(()) => Ok(done),
            Err(error) if error.kind() == StoreErrorKind::Connection => {
                tracing::warn!(handler = self.label(), position = %left.event().position,
                    error = &error as &dyn std::error::Error, "a commit without an answer; asking what became of it");
                if within.became_of(left).await { Ok(done) } else { Err(Failed::Store(error)) }
            }
            Err(error) if error.kind().is_transient() => Err(Failed::Store(error)),
            // Such as a constraint that is checked at the commit.
            Err(error) if !within.became_of(left).await => Err(Failed::Attempt(self.explain(error.into()))),
            Err(_) => Ok(done),
        }
    }

    async fn not_settled(
        &self,
        within: &Transactions,
        left: &HandlerContext,
        done: Done,
        error: StoreError,
    ) -> AttemptEnd {
        match error.kind() {
            StoreErrorKind::Aborted => Err(Failed::Attempt(self.swallowed(error))),
            // An earlier run was committed after all: this one is undone, and the event is handled.
            StoreErrorKind::Conflict if within.became_of(left).await => Ok(done),
            _ => Err(Failed::Store(error)),
        }
    }

    /// The failure of an attempt whose handler said nothing of a failure.
    pub(super) fn swallowed(&self, error: StoreError) -> AttemptError {
        self.explain(Swallowed(error).into())
    }
}

impl Transactions {
    fn not_begun(&self) -> StoreError {
        let detail = format!("`{}` was told to stop while it waited for a transaction", self.lease.consumer);
        StoreError::new(StoreErrorKind::Busy, "transactions").detail(detail)
    }

    /// Whether the event is known to be handled.
    async fn became_of(&self, left: &HandlerContext) -> bool {
        self.completed().await.contains(&left.event().position)
    }

    /// What is known to be handled. Asked until there is an answer: without one, neither a second run nor a checkpoint
    /// would be right.
    pub(super) async fn completed(&self) -> Vec<Position> {
        let consumer = &self.lease.consumer;
        until_answered(consumer, || self.store.completed(consumer)).await
    }

    /// How far everything is known to be handled, by the checkpoint that a transaction has written itself.
    pub(super) async fn covered(&self, state: &dyn ConsumerStateStore) -> Option<Position> {
        // Waits for a commit that is still under way.
        self.completed().await;
        let stored = until_answered(&self.lease.consumer, || state.load(&self.lease.consumer)).await;
        stored.checkpoint?.watermark
    }
}

async fn until_answered<T, F>(consumer: &ConsumerId, ask: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut failures = 0;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => {
                failures += 1;
                tracing::warn!(%consumer, error = &error as &dyn std::error::Error,
                    "what became of a commit is not known yet");
                tokio::time::sleep_until(later(ASK_AGAIN.backoff(failures, fastrand::f64()))).await;
            }
        }
    }
}

fn settlement(left: &HandlerContext, effects: &Effects) -> Settlement {
    let mut settlement = Settlement::default();
    add(&mut settlement, effects);
    // For a dead letter as well: it tells whether a commit without an answer was one.
    settlement.completed.push(left.event().position.clone());
    if left.is_redriven() {
        settlement.resolved.push(left.event().id);
    }
    settlement
}

async fn undo(open: Option<Box<dyn OpenTransaction>>) {
    if let Some(open) = open {
        open.roll_back().await;
    }
}

fn lost() -> BoxError {
    HandlerError::permanent("the handler did not give its transaction back").into()
}
