//! Tells customers what became of their orders.

use evento_runtime::prelude::*;

use crate::events::{OrderCancelled, OrderShipped};
use crate::world::World;

pub(crate) struct Mailer {
    world: World,
}

#[observer(version = 1, start = "beginning")]
impl Mailer {
    #[inject]
    fn new(world: World) -> Self {
        Self { world }
    }

    #[event_handler(executor = "mail", retry = 5)]
    async fn shipped(&self, event: OrderShipped, id: EventId) -> Result<(), std::io::Error> {
        self.world.act("shipped", id, &format!("{} {}", event.customer, event.order_id)).await
    }

    #[event_handler(executor = "mail", retry = 5)]
    async fn cancelled(&self, event: OrderCancelled, id: EventId) -> Result<(), std::io::Error> {
        self.world.act("cancelled", id, &format!("{} {}", event.customer, event.order_id)).await
    }
}
