//! What makes a consumer a projector, a saga or an observer: a value given to the processor, which is the same for all.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::plan::HandlerPlan;
use super::standing::OrderedBy;
use crate::component::Kind;
use crate::context::HandlerContext;
use crate::error::{BoxError, StoreError};
use crate::identity::OwnerId;
use crate::outcome::Flow;
use crate::store::{DedupeStore, SagaChange, SagaStateStore};

/// One kind of consumer. What is not overridden does nothing and costs nothing.
pub trait ConsumerEngine: Send + Sync + 'static {
    /// Projector, saga or observer.
    fn kind(&self) -> Kind;

    /// What is loaded before a handler runs, and stored with its success.
    fn binding(&self, handler: &HandlerPlan) -> Option<Arc<dyn Binding>> {
        let _ = handler;
        None
    }

    /// Whether what its events have to keep the order of is their key.
    fn orders_by_key(&self) -> bool {
        true
    }

    /// Where its timers are kept, if it has any.
    fn timers(&self) -> Option<Arc<dyn SagaStateStore>> {
        None
    }

    /// How its events are claimed before they start, if they are.
    fn claiming(&self) -> Option<Claiming> {
        None
    }
}

/// Binds stored state to attempts of one handler.
#[async_trait]
pub trait Binding: Send + Sync + 'static {
    /// Before the handler, anew for every attempt.
    ///
    /// # Errors
    /// [`BindError::Store`] is no attempt; [`BindError::Attempt`] is one that failed.
    async fn bind(&self, context: &HandlerContext) -> Result<Bound, BindError>;

    /// What the order of the event is kept in, after [`bind`](Self::bind). `None`: it has none to keep.
    fn ordered_by(&self, context: &HandlerContext) -> Option<OrderedBy> {
        let _ = context;
        None
    }

    /// After a handler that has succeeded: what is to be stored with the checkpoint that passes the event.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    async fn leave(&self, context: &HandlerContext, flow: &Flow) -> Result<Option<SagaChange>, BindError>;
}

/// What an event was bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// State: the handler runs.
    Ready,
    /// It was applied before.
    Applied,
    /// The event means nothing to this component, as far as is known.
    Nothing,
}

/// Why state could not be bound, or cannot be kept.
#[derive(Debug)]
pub enum BindError {
    /// The framework's own work failed: it is tried again, and no attempt was made.
    Store(StoreError),
    /// What was given, or left, cannot be used: the attempt has failed.
    Attempt(BoxError),
}

impl From<StoreError> for BindError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How events are claimed.
#[derive(Clone)]
pub struct Claiming {
    /// What is known of claims.
    pub store: Arc<dyn DedupeStore>,
    /// Who claims.
    pub owner: OwnerId,
    /// How long a claim is believed without being renewed.
    pub expiry: Duration,
}
