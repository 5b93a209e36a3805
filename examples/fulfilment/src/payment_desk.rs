//! Charges customers, and tells what came of it.

use evento_runtime::prelude::*;

use crate::events::{PaymentReceived, PaymentRequested};
use crate::world::World;

#[observer(version = 1, start = "beginning")]
pub(crate) struct PaymentDesk;

/// The id of the event is the provider's idempotency key: should the process die after the charge, the second run
/// charges nobody twice.
#[event_handler(observer = PaymentDesk, executor = "payments", retry = 5)]
async fn charge(
    event: PaymentRequested,
    id: EventId,
    Dep(world): Dep<World>,
    outbox: Outbox,
) -> Result<(), std::io::Error> {
    // Every fifth customer never answers.
    if !event.cents.is_multiple_of(5) {
        world.act("charge", id, &format!("{} {}", event.customer, event.cents)).await?;
        outbox.emit(PaymentReceived { payment_id: event.payment_id });
    }
    Ok(())
}
