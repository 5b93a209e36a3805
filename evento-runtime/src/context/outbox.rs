//! What a handler emits, now or later.

use std::time::Duration;

use super::{FromContext, HandlerContext, MissingDependency};
use crate::deps::Need;
use crate::error::BoxError;
use crate::event::{EventId, NewEvent, Timestamp};
use crate::outcome::HandlerError;
use crate::source::{Append, Expected, PreparedEvent};
use crate::store::Timer;
use crate::sync::lock;

/// Events that a handler emits: stored together with the checkpoint that passes the handled event, or before it, and
/// not at all if the handler fails. An extractor.
///
/// Their ids are made of the consumer, the handled event and their order, so a second run of the handler emits the
/// same events and they are known. The key is that of the event type, or the one given with [`NewEvent::key`]; the
/// context likewise, not that of the handled event: give it with [`NewEvent::context`] where components read by context.
/// A `traceparent` in the metadata of the handled event goes on with what is emitted, unless that has its own.
///
/// ```
/// use evento_runtime::prelude::*;
/// # #[derive(Event, serde::Serialize, serde::Deserialize)]
/// # struct OrderPaid { order_id: String }
/// # #[derive(Event, serde::Serialize, serde::Deserialize)]
/// # struct InvoiceDue { order_id: String }
/// # #[derive(Default)]
/// # struct Invoicing;
/// #[projector(version = 1)]
/// impl Invoicing {
///     #[event_handler]
///     async fn paid(&self, event: OrderPaid, outbox: Outbox) {
///         outbox.emit(InvoiceDue { order_id: event.order_id });
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Outbox(HandlerContext);

/// In the order of the calls; with a delay, it is a timer.
pub(super) type Emitted = Vec<(Option<Duration>, NewEvent)>;

impl Outbox {
    /// Emits an event once the handler has succeeded.
    pub fn emit(&self, event: impl Into<NewEvent>) {
        lock(&self.0.0.emitted).push((None, event.into()));
    }

    /// Emits an event `after` the handler has succeeded, unless the saga instance has ended by then. The timer is
    /// stored with the state and outlives the process. Measured by the clock of the instance that owns the saga; it
    /// fires up to a second late, and after a takeover or a pause once that is over. Only a handler of a saga can schedule; in another component the attempt fails.
    pub fn schedule(&self, after: Duration, event: impl Into<NewEvent>) {
        lock(&self.0.0.emitted).push((Some(after), event.into()));
    }
}

impl FromContext for Outbox {
    const NEEDS: &'static [Need] = &[Need::engine::<Self>()];

    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(Self(context.clone()))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`Outbox::schedule` is for handlers of sagas: a timer ends with its instance, and there is none")]
struct NoSaga;

impl HandlerContext {
    /// What the handler put into its outbox, checked, under ids that are the same on every run of this event.
    pub(crate) fn take_emitted(
        &self,
        now: impl Fn() -> Timestamp,
    ) -> Result<(Vec<PreparedEvent>, Vec<Timer>), BoxError> {
        let emitted = std::mem::take(&mut *lock(&self.0.emitted));
        let traceparent = if emitted.is_empty() { None } else { self.event().traceparent() };
        let (mut at_once, mut later) = (Vec::new(), Vec::new());
        for (ordinal, (after, event)) in (0_u32..).zip(emitted) {
            let event = event.id_unless_given(EventId::emitted(self.consumer(), self.event().id, ordinal));
            let event = event.traceparent_unless_given(traceparent.as_deref());
            // The same event would be refused again.
            let prepared = Append::prepare(None::<String>, Expected::Any, [event]).map_err(HandlerError::permanent)?;
            match after {
                None => at_once.extend(prepared.events),
                Some(after) => {
                    let saga = self.saga_id().ok_or_else(|| HandlerError::permanent(NoSaga))?;
                    let due_at = now().later(after);
                    later.extend(prepared.events.into_iter().map(|event| Timer { event, saga, due_at }));
                }
            }
        }
        Ok((at_once, later))
    }
}
