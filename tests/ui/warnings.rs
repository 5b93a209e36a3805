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
