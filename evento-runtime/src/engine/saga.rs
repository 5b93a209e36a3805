//! Sagas: the instance an event belongs to is loaded before the handler and stored with its success.

use std::sync::Arc;

use async_trait::async_trait;

use crate::component::{Kind, SagaHandlerDef};
use crate::consumer::{BindError, Binding, Bound, ConsumerEngine, HandlerPlan, OrderedBy};
use crate::context::{HandlerContext, SagaSlot};
use crate::error::BoxError;
use crate::outcome::{Flow, HandlerError};
use crate::store::{Association, SagaChange, SagaFound, SagaId, SagaStateStore};

/// Runs sagas.
pub struct SagaEngine(Arc<dyn SagaStateStore>);

impl SagaEngine {
    /// Over a store of instances.
    #[must_use]
    pub const fn new(store: Arc<dyn SagaStateStore>) -> Self {
        Self(store)
    }
}

impl ConsumerEngine for SagaEngine {
    fn kind(&self) -> Kind {
        Kind::Saga
    }

    fn binding(&self, handler: &HandlerPlan) -> Option<Arc<dyn Binding>> {
        let def = handler.saga?;
        Some(Arc::new(Instance { store: Arc::clone(&self.0), def }))
    }

    fn orders_by_key(&self) -> bool {
        false
    }

    fn timers(&self) -> Option<Arc<dyn SagaStateStore>> {
        Some(Arc::clone(&self.0))
    }
}

/// The instance that the events of one handler belong to.
struct Instance {
    store: Arc<dyn SagaStateStore>,
    def: SagaHandlerDef,
}

#[derive(Debug, thiserror::Error)]
#[error("`{association}` already finds another instance, {other}; end that one first, or use another value")]
struct Taken {
    association: Association,
    other: SagaId,
}

#[async_trait]
impl Binding for Instance {
    async fn bind(&self, context: &HandlerContext) -> Result<Bound, BindError> {
        let Some(value) = (self.def.value)(context).map_err(BindError::Attempt)? else { return Ok(Bound::Nothing) };
        let Some(found_by) = Association::new(self.def.property, value).map_err(hopeless)? else {
            return Ok(Bound::Nothing);
        };
        let begun = SagaId::begun_by(context.consumer(), context.event().id);
        let slot = match self.store.find(context.consumer(), &found_by, begun).await? {
            // Once is enough, also after the consumer was told to go back. A dead letter was never applied.
            SagaFound::Live(instance) if !context.is_redriven() && instance.applied >= context.event().position => {
                return Ok(Bound::Applied);
            }
            SagaFound::Live(instance) => SagaSlot::of(instance),
            SagaFound::Unknown if self.def.init => SagaSlot::begun(begun, found_by),
            SagaFound::Begun => return Ok(Bound::Applied),
            SagaFound::Unknown => return Ok(Bound::Nothing),
        };
        context.bind_saga(slot);
        Ok(Bound::Ready)
    }

    fn ordered_by(&self, context: &HandlerContext) -> Option<OrderedBy> {
        let named = |association: &Association| format!("{}={}", association.property(), association.value());
        if let Some((id, begins)) = context.saga_begins() {
            return Some(OrderedBy { instance: Some(id.to_string()), found_by: begins.as_ref().map(named) });
        }
        // It was decoded a moment ago.
        let value = (self.def.value)(context).ok()??;
        let found_by = Association::new(self.def.property, value).ok()??;
        Some(OrderedBy { instance: None, found_by: Some(named(&found_by)) })
    }

    async fn leave(&self, context: &HandlerContext, flow: &Flow) -> Result<Option<SagaChange>, BindError> {
        let Some(slot) = context.take_saga() else { return Ok(None) };
        let position = &context.event().position;
        let applied = slot.applied.filter(|applied| applied > position).unwrap_or_else(|| position.clone());
        if *flow == Flow::Complete {
            return Ok(Some(SagaChange { id: slot.id, state: None, associations: Vec::new(), applied }));
        }
        let Some(state) = slot.left else { return Ok(None) };
        // Only the owner changes instances, one event after the other: what is free now is free when it is stored.
        for added in slot.associations.iter().filter(|association| !slot.found_by.contains(association)) {
            if let SagaFound::Live(other) = self.store.find(context.consumer(), added, slot.id).await?
                && other.id != slot.id
            {
                return Err(hopeless(Taken { association: added.clone(), other: other.id }));
            }
        }
        let mut associations = slot.associations;
        associations.sort();
        Ok(Some(SagaChange { id: slot.id, state: Some(state), associations, applied }))
    }
}

/// No further attempt can help.
fn hopeless(error: impl Into<BoxError>) -> BindError {
    BindError::Attempt(HandlerError::permanent(error).into())
}
