//! What happens to an order.

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

/// A customer opened an order.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub struct OrderPlaced {
    /// Key of the stream.
    pub order_id: String,
    /// Who.
    pub customer: String,
}

/// An article was put into it.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub struct LineAdded {
    /// Key of the stream.
    pub order_id: String,
    /// Which article.
    pub article: String,
    /// Price of the line.
    pub cents: i64,
}

/// It was paid in full.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(key = order_id)]
pub struct OrderPaid {
    /// Key of the stream.
    pub order_id: String,
    /// Who.
    pub customer: String,
    /// How much.
    pub cents: i64,
}
