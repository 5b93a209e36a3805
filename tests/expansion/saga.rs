//! A saga, in both styles.
use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Placed {
    pub order_id: String,
}
impl Event for Placed {
    const NAME: &'static str = "Placed";
}

#[derive(Serialize, Deserialize)]
pub struct Paid {
    pub order: Option<u64>,
}
impl Event for Paid {
    const NAME: &'static str = "Paid";
}

#[derive(Default, Serialize, Deserialize)]
pub struct Fulfilment {}

#[derive(Default)]
pub struct FulfilOrder;

#[saga(version = 1, start = "beginning")]
impl FulfilOrder {
    #[saga_event_handler(init, association = order_id, retry = 3)]
    async fn placed(&self, _event: Placed, _state: &mut Fulfilment, _meta: Metadata) -> Result<(), std::io::Error> {
        Ok(())
    }

    #[saga_event_handler(association = order, property = "order_id")]
    fn paid(&self, _event: Paid, _state: &mut Fulfilment) -> Flow {
        Flow::Complete
    }
}

#[saga(version = 1)]
pub struct Open;

#[saga_event_handler(saga = Open, init, association = order_id)]
async fn begins(_event: Placed, _state: &mut Fulfilment) {}
