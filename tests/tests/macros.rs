//! What the macros register, and what the registered shims do.
#![allow(missing_docs)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(key = order_id)]
struct OrderPlaced {
    order_id: String,
    cents: u64,
}

struct View;

/// Read model.
#[projector(version = 1)]
impl View {
    #[inject]
    fn new(_x: String) -> Self {
        Self
    }

    /// Doc.
    #[event_handler(executor = "read-model", retry = 3)]
    async fn placed(&self, event: OrderPlaced, meta: Metadata, Dep(s): Dep<String>) -> Result<(), std::io::Error> {
        let _ = (event.cents, meta, s);
        Ok(())
    }

    #[on_start]
    async fn start(&self, _d: Dep<String>) {}
}

#[projector(version = 2)]
struct Totals;

#[event_handler(projector = Totals)]
fn totals(_e: OrderPlaced, _x: Position) {}

#[test]
fn x() {}
