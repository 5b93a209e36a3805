//! Handlers that take many events at once: of a block, and a free one.
use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Placed {
    pub order_id: String,
}
impl Event for Placed {
    const NAME: &'static str = "Placed";
}

#[derive(Default)]
pub struct OrderView;

#[projector(version = 1)]
impl OrderView {
    #[event_handler(executor = "read-model", batch = 500, linger = "5ms", retry = 3)]
    async fn placed(&self, _events: Vec<Placed>, _attempt: Attempt) -> Result<(), std::io::Error> {
        Ok(())
    }
}

#[projector(version = 1)]
pub struct Totals;

#[event_handler(projector = Totals, batch = 10)]
fn any(_events: Vec<RawEvent>) {}
