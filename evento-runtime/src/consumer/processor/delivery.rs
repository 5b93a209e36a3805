//! What the processor remembers of a delivery.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::AttemptEnd;
use crate::consumer::delivery::DeliveryNo;
use crate::consumer::work::Hold;
use crate::event::{StoredEvent, Timestamp};
use crate::executor::Permit;
use crate::policy::RetryPlan;
use crate::store::ParkedKey;

/// Where a delivery is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not begun.
    Pending,
    /// It has what it needs but its claim, or the record of its attempt, which is being stored.
    Claiming,
    /// Its handler runs.
    Running,
    /// It runs together with one before it, or will.
    Joined,
    /// Its next attempt is due later.
    Waiting,
    /// Given up; its dead letter is being stored.
    GivenUp,
    /// Not begun: its place behind another of its key is being stored.
    Parked,
    /// Not begun: the queue of its key is full.
    Behind,
    /// Handled; what its handler left is being stored.
    Storing,
    /// Ended without an outcome: by the stop, or because its runtime ended.
    Left,
}

/// A delivery that is not settled.
pub(super) struct Delivery {
    pub(super) event: Arc<StoredEvent>,
    /// Index into the plan's handlers.
    pub(super) handler: usize,
    /// Its key, where order matters.
    pub(super) key: Option<Arc<str>>,
    /// Whether that is the field its handler names, and not its stream.
    pub(super) own_key: bool,
    pub(super) retry: RetryPlan,
    /// Never together with others: it may be why the process ended.
    pub(super) alone: bool,
    pub(super) stage: Stage,
    /// Its permit, kept between attempts (`OnStart`).
    pub(super) hold: Option<Hold>,
    pub(super) first_failed_at: Option<Timestamp>,
    pub(super) began: Option<Instant>,
    /// To be settled instead of begun, or begun again.
    pub(super) skip: bool,
    /// Whether its event is claimed, where events are.
    pub(super) claim: Claim,
    /// Another process may be handling it until then.
    pub(super) held_until: Option<Instant>,
    /// Its permit, while its claim is being stored.
    pub(super) admitted: Option<Permit>,
    /// What later events queue behind if it is given up, where that is not for its event to say.
    pub(super) parks: Option<ParkedKey>,
    /// Whether it waits for its turn, or has it.
    pub(super) dispatched: bool,
    /// The earliest timer its handler has scheduled.
    pub(super) timer: Option<Timestamp>,
}

/// How far the claim of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// None.
    Free,
    /// Being stored.
    Asked,
    /// Stored.
    Held,
}

/// The handler that runs in the consumer's own loop, or the first of those that run together.
pub(super) struct Inline {
    pub(super) number: DeliveryNo,
    pub(super) future: BoxFuture<'static, InlineEnd>,
}

/// How the handler in the consumer's own loop ended, or those that ran together.
pub(super) enum InlineEnd {
    One(AttemptEnd),
    Together(Vec<(DeliveryNo, AttemptEnd)>),
}

impl Inline {
    /// The end of the one that runs; never, if none does. Cancel-safe: the future stays where it is.
    pub(super) async fn poll(inline: &mut Option<Self>) -> InlineEnd {
        match inline {
            Some(inline) => (&mut inline.future).await,
            None => std::future::pending().await,
        }
    }

    /// One step. `None`: it waits for something and will wake this task.
    pub(super) async fn step(&mut self) -> Option<InlineEnd> {
        let future = &mut self.future;
        std::future::poll_fn(|cx| {
            std::task::Poll::Ready(match future.as_mut().poll(cx) {
                std::task::Poll::Ready(end) => Some(end),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
