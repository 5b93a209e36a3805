//! Attempts within a transaction of the store: what the handler writes, what it emits, and that the event is handled
//! are one commit.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{AttemptEnd, Caller, Done, Effects, Failed, panicked};
use super::settle::add;
use crate::clock::later;
use crate::context::HandlerContext;
use crate::error::{BoxError, StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::outcome::{Flow, HandlerError};
use crate::policy::RetryPolicy;
use crate::store::{Lease, OpenTransaction, Settlement, TransactionStore};

/// Pauses between questions what became of a commit: 50 ms, doubling, at most 5 s.
const ASK_AGAIN: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(50), max_delay: Duration::from_secs(5) };

/// What attempts of one handler are made in.
pub(crate) struct Transactions {
    pub(crate) store: Arc<dyn TransactionStore>,
    pub(crate) lease: Lease,
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
        context.put_transaction(open);
        let left = context.clone();
        let Some(result) = self.run_limited(context).await else {
            undo(left.take_transaction()).await;
            return Err(Failed::Attempt(self.abandoned(&left)));
        };
        // A handler that panicked has taken it along: dropped, it is rolled back.
        let open = left.take_transaction();
        match (result, open) {
            (Ok(Ok(flow)), Some(open)) => return self.finish(within, &left, flow, open).await,
            (Ok(Ok(_)), None) => Err(Failed::Attempt(self.explain(lost()))),
            (Ok(Err(error)), open) => {
                undo(open).await;
                Err(Failed::Attempt(self.explain(error)))
            }
            (Err(panic), open) => {
                undo(open).await;
                Err(Failed::Attempt(panicked(panic)))
            }
        }
    }

    async fn finish(
        &self,
        within: &Transactions,
        left: &HandlerContext,
        flow: Flow,
        mut open: Box<dyn OpenTransaction>,
    ) -> AttemptEnd {
        if matches!(flow, Flow::DeadLetter(_) | Flow::RetryAfter(_)) {
            open.roll_back().await;
            return Ok(Done { flow, effects: Effects::default(), committed: false });
        }
        let done = match self.done(left, flow).await {
            Ok(done) => Done { committed: true, ..done },
            Err(failed) => {
                open.roll_back().await;
                return Err(failed);
            }
        };
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
            StoreErrorKind::Aborted => Err(Failed::Attempt(self.explain(Swallowed(error).into()))),
            // An earlier run was committed after all: this one is undone, and the event is handled.
            StoreErrorKind::Conflict if within.became_of(left).await => Ok(done),
            _ => Err(Failed::Store(error)),
        }
    }
}

impl Transactions {
    fn not_begun(&self) -> StoreError {
        let detail = format!("`{}` was told to stop while it waited for a transaction", self.lease.consumer);
        StoreError::new(StoreErrorKind::Busy, "transactions").detail(detail)
    }

    /// Whether the event is known to be handled. Asked until there is an answer: without one, neither a second run
    /// nor a checkpoint would be right.
    async fn became_of(&self, left: &HandlerContext) -> bool {
        let mut failures = 0;
        loop {
            match is_completed(self.store.as_ref(), left.consumer(), &left.event().position).await {
                Ok(completed) => return completed,
                Err(error) => {
                    failures += 1;
                    tracing::warn!(consumer = %left.consumer(), error = &error as &dyn std::error::Error,
                        "what became of a commit is not known yet");
                    tokio::time::sleep_until(later(ASK_AGAIN.backoff(failures, fastrand::f64()))).await;
                }
            }
        }
    }
}

async fn is_completed(
    store: &dyn TransactionStore,
    consumer: &ConsumerId,
    position: &Position,
) -> Result<bool, StoreError> {
    Ok(store.completed(consumer).await?.contains(position))
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
