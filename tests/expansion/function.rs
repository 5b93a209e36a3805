//! Function style.
use evento_runtime::prelude::*;

#[projector(version = 1)]
pub struct Totals;

#[event_handler(projector = Totals, executor = "read-model")]
async fn rest(_event: RawEvent, _id: EventId) {}

#[on_start(projector = Totals)]
async fn prepare(_text: Dep<String>) {}
