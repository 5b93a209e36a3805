//! The macros neither hide nor repeat what the compiler has to say about the user's own code.
#![warn(unused, deprecated, missing_docs)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}
#[deprecated]
#[derive(Serialize, Deserialize)]
struct Old {}
#[allow(deprecated)]
impl Event for Old {
    const NAME: &'static str = "Old";
}

#[derive(Default)]
struct View;
#[projector(version = 1)]
impl View {
    #[event_handler]
    async fn unused(&self, event: A, meta: Metadata) {
//~                        ^^^^^ rustc
//~                                  ^^^^ rustc
        let local = 1;
//~         ^^^^^ rustc
    }
    #[allow(deprecated)]
    #[event_handler]
    async fn allowed(&self, _event: Old) {}
    #[deprecated]
    #[event_handler]
    async fn deprecated(&self, _event: RawEvent) {}
    // Traps 5 and 6 are below, B115 is above: what nobody uses is still told.
    async fn dead(&self) {}
//~          ^^^^ rustc
}

#[projector(version = 1)]
struct Totals;
#[event_handler(projector = Totals)]
fn blocking(mut event: A) -> Result<(), std::io::Error> {
//~         ^^^^^^^^^ rustc
//~         ^^^^^^^^^ rustc
    std::fs::remove_file("x");
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
    Ok(())
}

#[event_handler(projector = Totals)]
async fn free(event: RawEvent, meta: Metadata) {
//~           ^^^^^ rustc
//~                            ^^^^ rustc
    // B122: handlers may be plain functions, so nobody needs an `async` without an `await`.
}

/// Trap 5: `#[projector]` takes the attributes inside of its block away, so that they need no import, and one is unused.
mod imported {
    use super::A;
    use evento_runtime::{event_handler, projector};
//~                      ^^^^^^^^^^^^^ rustc
    #[derive(Default)]
    struct Imported;
    #[projector(version = 1)]
    impl Imported {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

mod sagas {
    use evento_runtime::prelude::*;
    use serde::{Deserialize, Serialize};
    #[derive(Event, Serialize, Deserialize)]
    struct Placed {
        id: u32,
    }
    #[derive(Default, Serialize, Deserialize)]
    struct State {}
    #[derive(Default)]
    struct Process;
    #[saga(version = 1)]
    impl Process {
        #[saga_event_handler(init, association = id)]
        async fn unused(&self, event: Placed, state: &mut State, meta: Metadata) {}
//~                            ^^^^^ rustc
//~                                           ^^^^^ rustc
//~                                                              ^^^^ rustc
        async fn dead(&self) {}
//~              ^^^^ rustc
    }
    #[saga(version = 1)]
    struct Open;
    #[saga_event_handler(saga = Open, init, association = id)]
    fn blocking(event: Placed, mut state: &mut State) {}
//~             ^^^^^ rustc
//~                            ^^^^^^^^^ rustc
//~                            ^^^^^^^^^ rustc
}
