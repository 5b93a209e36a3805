//! What a handler may ask for, beside its event.

mod outbox;
mod progress;
mod saga;

pub use outbox::Outbox;
pub use progress::Progress;
pub(crate) use progress::ProgressCell;
pub(crate) use saga::SagaSlot;
pub use saga::{Associations, SagaState};

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use tokio::sync::{oneshot, watch};

use crate::deps::{Deps, Need, Provided};
use crate::event::{EventId, Metadata, Position, StoredEvent};
use crate::identity::{ConsumerId, ContextPattern};
use crate::store::OpenTransaction;
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
    pub(crate) progress: ProgressCell,
}

impl ConsumerScope {
    /// For a component's value and what it may ask for.
    #[must_use]
    pub fn new(consumer: Arc<ConsumerId>, component: Arc<dyn Any + Send + Sync>, deps: Deps, stop: Stop) -> Self {
        Self { consumer, component, deps, stop, progress: ProgressCell::default() }
    }

    pub(crate) fn with_progress(mut self, progress: ProgressCell) -> Self {
        self.progress = progress;
        self
    }
}

/// One attempt of one event: what extractors read. Cheap to clone.
#[derive(Clone)]
pub struct HandlerContext(Arc<Call>);

struct Call {
    scope: Arc<ConsumerScope>,
    event: Arc<StoredEvent>,
    attempt: u32,
    redriven: bool,
    /// Its own, where the time of the attempt is limited.
    stop: OnceLock<Stop>,
    /// Fires when the handler is to be dropped.
    abandon: Mutex<Option<oneshot::Receiver<()>>>,
    emitted: Mutex<outbox::Emitted>,
    /// What interceptors put; without any it costs nothing.
    locals: Mutex<HashMap<TypeId, Box<dyn Any + Send + Sync>>>,
    saga: Mutex<Option<SagaSlot>>,
    transaction: Mutex<Option<Box<dyn OpenTransaction>>>,
    /// All events of the call, where it is one for many.
    batch: Vec<Arc<StoredEvent>>,
    /// Which of them could not be decoded.
    undecodable: OnceLock<usize>,
}

impl HandlerContext {
    /// For attempt number `attempt`, from 1.
    #[must_use]
    pub fn new(scope: Arc<ConsumerScope>, event: Arc<StoredEvent>, attempt: u32) -> Self {
        Self::of_delivery(scope, event, attempt, false)
    }

    /// `redriven`: the event was a dead letter and comes again.
    pub(crate) fn of_delivery(
        scope: Arc<ConsumerScope>,
        event: Arc<StoredEvent>,
        attempt: u32,
        redriven: bool,
    ) -> Self {
        Self::of_call(scope, event, Vec::new(), attempt, redriven)
    }

    /// One call for many events; there is at least one.
    pub(crate) fn of_batch(scope: Arc<ConsumerScope>, events: Vec<Arc<StoredEvent>>, attempt: u32) -> Self {
        let first = Arc::clone(&events[0]);
        Self::of_call(scope, first, events, attempt, false)
    }

    fn of_call(
        scope: Arc<ConsumerScope>,
        event: Arc<StoredEvent>,
        batch: Vec<Arc<StoredEvent>>,
        attempt: u32,
        redriven: bool,
    ) -> Self {
        Self(Arc::new(Call {
            scope,
            event,
            attempt,
            redriven,
            stop: OnceLock::new(),
            abandon: Mutex::default(),
            emitted: Mutex::default(),
            locals: Mutex::default(),
            saga: Mutex::default(),
            transaction: Mutex::default(),
            batch,
            undecodable: OnceLock::new(),
        }))
    }

    /// The recorded event; of a batch, the first.
    #[must_use]
    pub fn event(&self) -> &Arc<StoredEvent> {
        &self.0.event
    }

    /// The recorded events of the call: one, unless the handler takes a batch.
    #[must_use]
    pub fn events(&self) -> &[Arc<StoredEvent>] {
        if self.0.batch.is_empty() { std::slice::from_ref(&self.0.event) } else { &self.0.batch }
    }

    /// The one of this place could not be decoded.
    pub(crate) fn note_undecodable(&self, place: usize) {
        // The first is enough: without it the others are decoded again.
        let _ = self.0.undecodable.set(place);
    }

    pub(crate) fn undecodable(&self) -> Option<usize> {
        self.0.undecodable.get().copied()
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

    /// With signals of its own: to end early, instead of the consumer's, and to be dropped.
    pub(crate) fn limited(self, stop: Option<Stop>, abandon: Option<oneshot::Receiver<()>>) -> Self {
        if let Some(stop) = stop {
            // A context is made once.
            let _ = self.0.stop.set(stop);
        }
        *lock(&self.0.abandon) = abandon;
        self
    }

    pub(crate) fn take_abandon(&self) -> Option<oneshot::Receiver<()>> {
        lock(&self.0.abandon).take()
    }

    /// Fires when the handler is to end early.
    pub(crate) fn stop(&self) -> Stop {
        self.0.stop.get().unwrap_or(&self.0.scope.stop).clone()
    }

    /// Gives the attempt an open transaction, or gives it back.
    pub(crate) fn put_transaction(&self, open: Box<dyn OpenTransaction>) {
        *lock(&self.0.transaction) = Some(open);
    }

    /// The open transaction. `None`: there is none, or it went with a future that was dropped.
    pub(crate) fn take_transaction(&self) -> Option<Box<dyn OpenTransaction>> {
        lock(&self.0.transaction).take()
    }

    pub(crate) fn is_redriven(&self) -> bool {
        self.0.redriven
    }

    pub(crate) fn put_local<T: Send + Sync + 'static>(&self, value: T) {
        lock(&self.0.locals).insert(TypeId::of::<T>(), Box::new(value));
    }
}

/// Anything a handler may take after its event.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be extracted from an event",
    label = "not something a handler can ask for",
    note = "a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Stop`, `Dep<T>`, `Local<T>`, `&mut Tx<..>` and, in a saga, `Associations`"
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

/// Anything an `#[on_start]` or `#[on_reset]` hook may take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be extracted for a hook",
    label = "not something `#[on_start]` or `#[on_reset]` can ask for",
    note = "a hook may ask for `Dep<T>`, `ContextPattern` or `ConsumerId`"
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

/// The consumer whose hook it is: a component that reads several contexts is a consumer for each of them.
impl FromStart for ConsumerId {
    fn from_start(scope: &ConsumerScope) -> Result<Self, MissingDependency> {
        Ok((*scope.consumer).clone())
    }
}

/// The contexts whose events are about to be handled, or handled again: what an `#[on_reset]` hook clears.
impl FromStart for ContextPattern {
    fn from_start(scope: &ConsumerScope) -> Result<Self, MissingDependency> {
        Ok(scope.consumer.context.clone())
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

/// Fires when the bundle stops, or when the handler has taken longer than its `timeout`, so that a long handler can end
/// early. What it returns still counts.
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
        Ok(context.stop())
    }
}
