//! With a mistake: the user's items are all there, and a stand-in for the component.
use evento_runtime::prelude::*;

pub struct View;

#[projector(version = 1)]
impl View {
    #[event_handler(retyr = 1)]
    async fn rest(&self, _event: RawEvent) {}
}
