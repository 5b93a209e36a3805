//! What a handler may ask for, beside its event.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::watch;

use crate::deps::{Deps, Need, Provided};
use crate::error::AppendError;
use crate::event::{EventId, Metadata, NewEvent, Position, StoredEvent};
use crate::identity::ConsumerId;
use crate::source::{Append, Expected, PreparedEvent};
use crate::sync::{Mutex, lock};

/// What all calls of one consumer have in common.
pub struct ConsumerScope {
    /// Who is called.
    pub consumer: Arc<ConsumerId>,
    /// The component's value; the shims know its type.
    pub component: Arc<dyn Any + Send + Sync>,
    /// The bundle's provided values.
    pub deps: Deps,
    /// Fires when nothing more is to be begun.
    pub stop: Stop,
}

/// One attempt of one event: what extractors read. Cheap to clone.
#[derive(Clone)]
pub struct HandlerContext(Arc<Call>);

struct Call {
    scope: Arc<ConsumerScope>,
    event: Arc<StoredEvent>,
    attempt: u32,
    emitted: Mutex<Vec<NewEvent>>,
    /// What interceptors put; without any it costs nothing.
    locals: Mutex<HashMap<TypeId, Box<dyn Any + Send + Sync>>>,
}

impl HandlerContext {
    /// For attempt number `attempt`, from 1.
    #[must_use]
    pub fn new(scope: Arc<ConsumerScope>, event: Arc<StoredEvent>, attempt: u32) -> Self {
        Self(Arc::new(Call { scope, event, attempt, emitted: Mutex::default(), locals: Mutex::default() }))
    }

    /// The recorded event.
    #[must_use]
    pub fn event(&self) -> &Arc<StoredEvent> {
        &self.0.event
    }

    /// The consumer that is called.
    #[must_use]
    pub fn consumer(&self) -> &ConsumerId {
        &self.0.scope.consumer
    }

    /// The provided values.
    #[must_use]
    pub fn deps(&self) -> &Deps {
        &self.0.scope.deps
    }

    /// The component's value.
    #[must_use]
    pub fn component(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.0.scope.component
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    pub(crate) fn put_local<T: Send + Sync + 'static>(&self, value: T) {
        lock(&self.0.locals).insert(TypeId::of::<T>(), Box::new(value));
    }

    /// What the handler put into its outbox, checked, under ids that are the same on every run of this event.
    pub(crate) fn take_emitted(&self) -> Result<Vec<PreparedEvent>, AppendError> {
        let emitted = std::mem::take(&mut *lock(&self.0.emitted));
        if emitted.is_empty() {
            return Ok(Vec::new());
        }
        let events = (0_u32..)
            .zip(emitted)
            .map(|(ordinal, event)| event.id_unless_given(EventId::emitted(self.consumer(), self.0.event.id, ordinal)));
        Ok(Append::prepare(None::<String>, Expected::Any, events)?.events)
    }
}

/// Events that a handler emits: stored together with the checkpoint that passes the handled event, or before it, and
/// not at all if the handler fails. An extractor.
///
/// Their ids are made of the consumer, the handled event and their order, so a second run of the handler emits the
/// same events and they are known. The key is that of the event type, or the one given with [`NewEvent::key`].
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

impl Outbox {
    /// Emits an event once the handler has succeeded.
    pub fn emit(&self, event: impl Into<NewEvent>) {
        lock(&self.0.0.emitted).push(event.into());
    }
}

impl FromContext for Outbox {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(Self(context.clone()))
    }
}

/// Anything a handler may take after its event.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be extracted from an event",
    label = "not something a handler can ask for",
    note = "a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Stop`, `Dep<T>` and `Local<T>`"
)]
pub trait FromContext: Sized + Send {
    /// Provided types it asks for; a missing one stops the launch.
    const NEEDS: &'static [Need] = &[];

    /// The value for this attempt.
    ///
    /// # Errors
    /// [`MissingDependency`], which a launched bundle has ruled out.
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency>;
}

/// Anything an `#[on_start]` hook may take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be extracted before the first event",
    label = "not something `#[on_start]` can ask for",
    note = "an `#[on_start]` hook may ask for `Dep<T>`"
)]
pub trait FromStart: Sized + Send {
    /// Provided types it asks for; a missing one stops the launch.
    const NEEDS: &'static [Need] = &[];

    /// The value.
    ///
    /// # Errors
    /// [`MissingDependency`], which a launched bundle has ruled out.
    fn from_start(scope: &ConsumerScope) -> Result<Self, MissingDependency>;
}

/// A value that nobody provided.
#[derive(Debug, thiserror::Error)]
#[error("no `{0}` was provided; add `.provide(..)` to the bundle builder")]
pub struct MissingDependency(pub &'static str);

/// A provided value: `Dep(smtp): Dep<Smtp>`.
#[derive(Debug, Clone)]
pub struct Dep<T>(pub T);

impl<T> Deref for Dep<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Provided> FromContext for Dep<T> {
    const NEEDS: &'static [Need] = &[Need::of::<T>()];

    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        context.deps().get().map(Self).ok_or(MissingDependency(std::any::type_name::<T>()))
    }
}

impl<T: Provided> FromStart for Dep<T> {
    const NEEDS: &'static [Need] = &[Need::of::<T>()];

    fn from_start(scope: &ConsumerScope) -> Result<Self, MissingDependency> {
        scope.deps.get().map(Self).ok_or(MissingDependency(std::any::type_name::<T>()))
    }
}

/// A value that an [interceptor](crate::interceptor) has put for this attempt: `Local(tenant): Local<Tenant>`.
#[derive(Debug, Clone)]
pub struct Local<T>(pub T);

impl<T> Deref for Local<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> FromContext for Local<T> {
    const NEEDS: &'static [Need] = &[Need::local::<T>()];

    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        let locals = lock(&context.0.locals);
        let value = locals.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref::<T>()).cloned();
        value.map(Self).ok_or(MissingDependency(std::any::type_name::<T>()))
    }
}

impl FromContext for Metadata {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(Self::new(Arc::clone(context.event())))
    }
}

impl FromContext for Position {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(context.event().position.clone())
    }
}

impl FromContext for EventId {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(context.event().id)
    }
}

/// The number of this attempt of this event, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt(pub u32);

impl FromContext for Attempt {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(Self(context.attempt()))
    }
}

/// Fires when the bundle stops, so that a long handler can end early. What it returns still counts.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Follows a stop signal.
    #[must_use]
    pub const fn new(signal: watch::Receiver<bool>) -> Self {
        Self(signal)
    }

    /// Whether it fired.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it fires. Cancel-safe.
    pub async fn stopped(&mut self) {
        // The sender is gone only when the bundle is gone: that is a stop as well.
        let _ = self.0.wait_for(|stopping| *stopping).await;
    }
}

impl FromContext for Stop {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        Ok(context.0.scope.stop.clone())
    }
}
