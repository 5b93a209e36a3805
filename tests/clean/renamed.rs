//! The crate under another name, and behind a facade.
#![deny(warnings)]
#![forbid(unsafe_code)]

use ev::prelude::*;
use serde::{Deserialize, Serialize};

/// A framework of the user's own, on top.
pub mod facade {
    pub use ev as evento;
}

/// An event.
#[derive(Event, Serialize, Deserialize)]
#[event(crate = ::ev, key = id)]
pub struct Placed {
    /// Its key.
    pub id: u32,
}

/// A component.
#[derive(Default)]
pub struct View;

#[projector(version = 1, crate = ::ev)]
impl View {
    #[ev::on_start]
    async fn start(&self, _text: Dep<String>) {}

    #[ev::event_handler]
    async fn placed(&self, _event: Placed) {}
}

/// Through the facade.
#[facade::evento::projector(version = 1, crate = crate::facade::evento)]
pub struct Totals;

/// Joins.
#[facade::evento::event_handler(projector = Totals, crate = crate::facade::evento)]
pub async fn totals(_event: Placed) {}

/// A state.
#[derive(Default, Serialize, Deserialize)]
pub struct State {
    steps: u32,
}

/// A saga.
#[derive(Default)]
pub struct Process;

#[saga(version = 1, crate = ::ev)]
impl Process {
    #[ev::on_start]
    async fn start(&self) {}

    #[ev::saga_event_handler(init, association = id)]
    async fn placed(&self, _event: Placed, state: &mut State) {
        state.steps += 1;
    }
}

/// Through the facade.
#[facade::evento::saga(version = 1, crate = crate::facade::evento)]
pub struct Processes;

/// Joins.
#[facade::evento::saga_event_handler(saga = Processes, init, association = id, crate = crate::facade::evento)]
pub async fn processes(_event: Placed, _state: &mut State) {}

/// Through the facade.
#[facade::evento::observer(version = 1, crate = crate::facade::evento)]
pub struct Receipts;

/// Joins.
#[facade::evento::event_handler(observer = Receipts, crate = crate::facade::evento)]
pub async fn receipts(_event: Placed) {}

/// Joins.
#[facade::evento::on_reset(projector = Totals, crate = crate::facade::evento)]
pub async fn clear() {}
