//! Observers: what is different from projectors.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {
    id: u32,
}
#[derive(Event, Serialize, Deserialize)]
struct B {}

mod options {
    use super::*;
    #[derive(Default)]
    struct Receipts;
    #[observer(checkpoint = "watermark", start = "beginnning", wait_for_haed = true)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[observer]` must have a version: `#[observer(version = 1)]`
//~            ^^^^^^^^^^ `checkpoint` must be left out: events of an observer are covered only once they are settled
//~                                              ^^^^^^^^^^^^ `start` must be "beginning" or "head"; did you mean `beginning`?
//~                                                            ^^^^^^^^^^^^^ `wait_for_haed` is not an option of `#[observer]`; did you mean `wait_for_head`?
    impl Receipts {
        #[event_handler(exector = "mail", retry = -2)]
//~                     ^^^^^^^ `exector` is not an option of `#[event_handler]`; did you mean `executor`?
//~                                               ^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
        async fn on(&self, _event: A) {}
        #[event_handler(observer = Receipts, crate = ::evento_runtime)]
//~                     ^^^^^^^^ `observer` must be left out: the handler belongs to the block it stands in
//~                                          ^^^^^ `crate` must be given on `#[observer]`, for the whole block
        async fn other(&self, _event: B) {}
    }
    #[derive(Default)]
    struct Other;
    #[observer(version = 1, checkpoint)]
//~                         ^^^^^^^^^^ `checkpoint` must be left out: events of an observer are covered only once they are settled
    impl Other {
        #[event_handler]
        async fn on(&mut self, _event: &A) {}
//~                 ^^^^^^^^^ `on` must take `&self`, not `&mut self`: one value is shared by all events that run at the same time
//~                                    ^^ `on` must take its event by value: `A`
    }
}

mod blocks {
    use super::*;
    #[derive(Default)]
    struct Empty;
    #[observer(version = 1)]
    impl Empty {}
//~      ^^^^^ `Empty` must have a method with `#[event_handler]` in this block
    #[derive(Default)]
    struct Sagas;
    #[observer(version = 1)]
    impl Sagas {
        #[saga_event_handler(init, association = id)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must be `#[event_handler]` in a `#[observer]` block: only sagas have instances
        async fn on(&self, _event: A) {}
        #[on_reset]
//~     ^^^^^^^^^^^ `#[on_reset]` must belong to a projector: what an observer has done elsewhere cannot be taken back
        async fn clear(&self) {}
    }
    #[observer(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^ `#[observer]` must be on an `impl` block, or on a unit struct that free functions join
    enum Enumeration {}
    #[observer(version = 1)]
    struct Data(u32);
//~            ^^^^^ `Data` must be a unit struct; for one with data put `#[observer]` on `impl Data`
}

mod functions {
    use super::*;
    #[observer(version = 1)]
    struct Receipts;
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(observer = Totals)]
//~                            ^^^^^^ free functions cannot join `Totals` as an observer
    async fn to_a_projector(_event: A) {}
    #[event_handler(projector = Receipts)]
//~                             ^^^^^^^^ free functions cannot join `functions::Receipts` as a projector
    async fn to_an_observer(_event: A) {}
    #[event_handler(observer = 5)]
//~                            ^ `observer` must be the path of a unit struct with `#[observer]`: `observer = Receipts`
    async fn number(_event: A) {}
    #[event_handler(observer = Receipts, projector = Totals)]
//~                                      ^^^^^^^^^ `projector` must not stand beside `observer`: a function joins one component
    async fn both(_event: A) {}
    #[event_handler(obsever = Receipts)]
//~                 ^^^^^^^ `obsever` is not an option of `#[event_handler]`; did you mean `observer`?
    async fn misspelt(_event: A) {}
    #[event_handler(observer = Receipts)]
    async fn associations(_event: A, _flag: bool) {}
//~                                         ^^^^ `bool` cannot be extracted from an event
    #[on_start(observer = Totals)]
//~                       ^^^^^^ free functions cannot join `Totals` as an observer
    async fn prepare() {}
    #[on_reset(observer = Receipts)]
//~            ^^^^^^^^ `#[on_reset]` must belong to a projector: what an observer has done elsewhere cannot be taken back
    async fn clear() {}
}
