//! An observer, in both styles, and a projector that can go back.
use evento_runtime::prelude::*;

#[derive(Default)]
pub struct Receipts;

#[observer(version = 1)]
impl Receipts {
    #[event_handler(executor = "mail", retry = 5)]
    async fn sent(&self, _event: RawEvent, _id: EventId) {}
}

#[observer(version = 1)]
pub struct Open;

#[event_handler(observer = Open)]
fn rest(_event: RawEvent) {}

#[derive(Default)]
pub struct View;

#[projector(version = 1)]
impl View {
    #[on_reset]
    async fn clear(&self, _text: Dep<String>) {}

    #[event_handler]
    async fn rest(&self, _event: RawEvent) {}
}

#[projector(version = 1)]
pub struct Totals;

#[on_reset(projector = Totals)]
async fn clear_totals() {}
