//! One instance an order: waits for the payment, but not for ever.

use std::time::Duration;

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::events::{OrderCancelled, OrderPlaced, OrderShipped, PaymentOverdue, PaymentReceived, PaymentRequested};

/// How long it waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(pub(crate) Duration);

/// What it knows of its order.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Order {
    order_id: String,
    customer: String,
}

pub(crate) struct Fulfilment {
    patience: Patience,
}

#[saga(version = 1)]
impl Fulfilment {
    #[inject]
    fn new(patience: Patience) -> Self {
        Self { patience }
    }

    /// State, the request, the timer and the second way to find the order are stored together, or not at all.
    #[saga_event_handler(init, association = order_id)]
    async fn placed(
        &self,
        event: OrderPlaced,
        order: &mut Order,
        associations: Associations,
        outbox: Outbox,
    ) -> Result<(), HandlerError> {
        let payment_id = format!("payment-of-{}", event.order_id);
        associations.add("payment_id", &*payment_id)?;
        outbox.schedule(self.patience.0, PaymentOverdue { order_id: event.order_id.clone() });
        outbox.emit(PaymentRequested { payment_id, customer: event.customer.clone(), cents: event.cents });
        *order = Order { order_id: event.order_id, customer: event.customer };
        Ok(())
    }

    /// The end of the instance takes its timer along.
    #[saga_event_handler(association = payment_id)]
    async fn paid(&self, _event: PaymentReceived, order: &mut Order, outbox: Outbox) -> Flow {
        let Order { order_id, customer } = std::mem::take(order);
        outbox.emit(OrderShipped { order_id, customer });
        Flow::Complete
    }

    #[saga_event_handler(association = order_id)]
    async fn overdue(&self, _event: PaymentOverdue, order: &mut Order, outbox: Outbox) -> Flow {
        let Order { order_id, customer } = std::mem::take(order);
        outbox.emit(OrderCancelled { order_id, customer });
        Flow::Complete
    }
}
