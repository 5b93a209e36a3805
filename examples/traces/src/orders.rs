//! Two steps, each in a component of its own.

use evento_runtime::NewEvent;
use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::linked::traceparent;

/// Somebody wants something.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order)]
pub(crate) struct OrderPlaced {
    /// Which order.
    pub(crate) order: String,
}

/// It was billed.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order)]
pub(crate) struct OrderBilled {
    /// Which order.
    pub(crate) order: String,
}

/// Bills what is placed.
#[derive(Default)]
pub(crate) struct Billing;

#[projector(version = 1)]
impl Billing {
    #[event_handler]
    async fn placed(&self, event: OrderPlaced, outbox: Outbox) {
        // Without metadata of its own it would carry on the `traceparent` of what is handled: in the same trace, as a
        // sibling. This span as its parent shows what followed from what.
        outbox.emit(NewEvent::from(OrderBilled { order: event.order }).metadata("traceparent", traceparent()));
    }
}

/// Ships what is billed.
#[derive(Default)]
pub(crate) struct Shipping;

#[projector(version = 1)]
impl Shipping {
    #[event_handler]
    async fn billed(&self, event: OrderBilled) {
        tracing::info!(order = event.order, "shipped");
    }
}
