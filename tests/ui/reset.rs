//! `#[on_reset]`, the hook of projectors that go back.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}

mod blocks {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[on_reset]
        async fn first(&self) {}
        #[on_reset(now)]
//~     ^^^^^^^^^^^^^^^^ `#[on_reset]` must stand without options
        fn second(&self, _event: &A) {}
//~     ^^ `second` must be an `async fn`
//~        ^^^^^^ `#[on_reset]` must be on one method; it is on `first` already
//~                              ^^ `second` must take `A` by value: the hook may ask for `Dep<T>`, `ContextPattern` or `ConsumerId`
        #[on_reset]
        #[on_start]
//~     ^^^^^^^^^^^ `both` must not have both `#[on_reset]` and `#[on_start]`
        async fn both(&self) {}
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Types;
    #[projector(version = 1)]
    impl Types {
        #[on_reset]
        async fn clear(&self, _path: std::path::PathBuf) -> bool {
//~                                  ^^^^^^^^^^^^^^^^^^ `PathBuf` cannot be extracted for a hook
//~                                                         ^^^^ a hook cannot return `bool`
            true
        }
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Plain;
    impl Plain {
        #[on_reset]
//~     ^^^^^^^^^^^ `#[on_reset]` must be inside an `impl` block with `#[projector(version = 1)]`
        async fn stray(&self) {}
    }
}

mod functions {
    use super::*;
    #[projector(version = 1)]
    struct Totals;
    #[on_reset]
//~ ^^^^^^^^^^^ `#[on_reset]` on a free function must name the component it joins: `projector = OrderTotals`
    async fn joins_nothing() {}
    #[on_reset(projector = Totals, retry = 1)]
//~                                ^^^^^ `retry` is not an option of `#[on_reset]`
    fn blocking() {}
//~ ^^ `blocking` must be an `async fn`
    #[on_reset(projector = Plain)]
//~                        ^^^^^ free functions cannot join `functions::Plain` as a projector
    async fn to_none() {}
    struct Plain;
}
