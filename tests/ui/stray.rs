//! Attributes where nobody reads them.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use evento_runtime::inject;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}

struct View;
impl View {
    #[inject]
//~ ^^^^^^^^^ `#[inject]` must be inside an `impl` block with `#[projector(version = 1)]`, `#[saga(version = 1)]` or `#[observer(version = 1)]`
    fn new() -> Self { Self }
    #[on_start]
//~ ^^^^^^^^^^^ `#[on_start]` must be inside an `impl` block with `#[projector(version = 1)]`, `#[saga(version = 1)]` or `#[observer(version = 1)]`
    async fn start(&self) {}
    #[event_handler]
//~ ^^^^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
    async fn on(&self, _event: A) {}
    #[event_handler(projector = View)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
    async fn joins(&self, _event: A) {}
}

#[derive(Default)]
struct Hidden;
#[projector(version = 1)]
impl Hidden {
    #[event_handler]
    async fn on(&self, _event: A) {}
    // Trap 6: nobody but the compiler can look behind `cfg_attr`.
    #[cfg_attr(all(), event_handler)]
//~                   ^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
    async fn behind(&self, _event: A) {}
}

evento_runtime::link!(some-crate);
//~@1+33 `link!` must name crates as in code, separated by commas: `link!(orders_handlers, billing_handlers)`
evento_runtime::link!();
//~@1+23 `link!` must name crates as in code, separated by commas: `link!(orders_handlers, billing_handlers)`

/// Trap 7, B118.
mod two_blocks {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[projector(version = 2)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
    impl View {
        #[event_handler]
        async fn other(&self, _event: A) {}
    }
}
