//! Events.
use evento_runtime::Event;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
pub struct Plain {}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "OrderPlaced", alias = "Placed", context = "shop", key = order_id)]
pub struct Full {
    pub order_id: String,
    #[event(sensitive)]
    #[serde(default, rename = "mail")]
    pub email: String,
}
