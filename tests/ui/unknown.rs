//! Names that are not there: the compiler says it, where the name stands.
#![allow(dead_code, unused_imports)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}

// Inside of `<..>` it says it twice, the first time with a proposal that only makes sense in a signature: what is
// generated names the type as well, and the compiler drops only what is the same to the letter.
mod names {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn event(&self, _event: Missing) {}
//~                                   ^^^^^^^ rustc
        #[event_handler]
        async fn argument(&self, _event: A, _missing: Missing) {}
//~                                                   ^^^^^^^ rustc
        #[event_handler]
        async fn dependency(&self, _event: RawEvent, Dep(_missing): Dep<Missing>) {}
//~                                                                     ^^^^^^^ rustc
//~                                                                     ^^^^^^^ rustc
        #[on_start]
        async fn hook(&self, Dep(_missing): Dep<Missing>) {}
//~                                             ^^^^^^^ rustc
//~                                             ^^^^^^^ rustc
    }
}

mod outputs {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn output(&self, _event: A) -> Result<(), Missing> {
//~                                                     ^^^^^^^ rustc
//~                                                     ^^^^^^^ rustc
            Ok(())
        }
    }
    struct Needy;
    #[projector(version = 1)]
    impl Needy {
        #[inject]
        fn new(_missing: Missing) -> Self { Self }
//~                      ^^^^^^^ rustc
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[projector(version = 1)]
    impl Nobody {
//~      ^^^^^^ rustc
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[projector(version = 1, crate = ::no_such_crate)]
//~                                    ^^^^^^^^^^^^^ rustc
    struct Elsewhere;
}

mod free {
    use super::*;
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(projector = Totals)]
    async fn event(_event: Missing, _other: Missing) {}
//~                        ^^^^^^^ rustc
//~                                         ^^^^^^^ rustc
}
