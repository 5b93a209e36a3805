//! What happens.

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

/// A customer has ordered.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub(crate) struct OrderPlaced {
    pub(crate) order_id: String,
    pub(crate) customer: String,
    pub(crate) cents: u64,
}

/// The customer is to pay.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = payment_id)]
pub(crate) struct PaymentRequested {
    pub(crate) payment_id: String,
    pub(crate) customer: String,
    pub(crate) cents: u64,
}

/// The customer has paid. The provider knows nothing of orders.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = payment_id)]
pub(crate) struct PaymentReceived {
    pub(crate) payment_id: String,
}

/// Nobody has paid in time.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub(crate) struct PaymentOverdue {
    pub(crate) order_id: String,
}

/// The goods are on their way.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub(crate) struct OrderShipped {
    pub(crate) order_id: String,
    pub(crate) customer: String,
}

/// Nothing will come.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub(crate) struct OrderCancelled {
    pub(crate) order_id: String,
    pub(crate) customer: String,
}
