//! Function style: unit structs and free functions.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}

#[projector(version = 1)]
struct Totals;

mod structs {
    use super::*;
    #[projector(version = 1)]
    struct WithData {
//~                 ^ `WithData` must be a unit struct; for one with data put `#[projector]` on `impl WithData`
        count: u32,
    }
    #[projector(version = 1)]
    struct Tuple(u32);
//~             ^^^^^ `Tuple` must be a unit struct; for one with data put `#[projector]` on `impl Tuple`
    #[projector(version = 1)]
    struct Braces {}
//~               ^^ `Braces` must be a unit struct; for one with data put `#[projector]` on `impl Braces`
    #[projector(version = 1)]
    struct Generic<T>(std::marker::PhantomData<T>);
//~               ^^^ `Generic` must not be generic: it is registered once, as a concrete type
    #[projector(name = "x y")]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must have a version: `#[projector(version = 1)]`
//~                    ^^^^^ `name` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
    struct Named;
    #[projector(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must be on an `impl` block, or on a unit struct that free functions join
    enum Enumeration {}
    #[projector(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must be on an `impl` block, or on a unit struct that free functions join
    fn function() {}
    #[projector(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must be on an `impl` block, or on a unit struct that free functions join
    mod module {}
    #[projector(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must be on an `impl` block, or on a unit struct that free functions join
    trait Trait {}
    #[projector(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must be on an `impl` block, or on a unit struct that free functions join
    const CONSTANT: u32 = 1;
}

mod functions {
    use super::*;
    #[event_handler]
//~ ^^^^^^^^^^^^^^^^ `#[event_handler]` on a free function must name the component it joins: `projector = OrderTotals` or `observer = Receipts`
    async fn without_projector(_event: A) {}
    #[event_handler(retry = 3)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[event_handler]` on a free function must name the component it joins: `projector = OrderTotals` or `observer = Receipts`
    async fn without_projector_too(_event: A) {}
    #[event_handler(projector = Totals, projector = Totals)]
//~                                     ^^^^^^^^^ `projector` must be given only once
    async fn twice(_event: A) {}
    #[event_handler(projector = "Totals")]
//~                             ^^^^^^^^ `projector` must be the path of a unit struct with `#[projector]`: `projector = OrderTotals`
    async fn text(_event: A) {}
    #[event_handler(projektor = Totals, excutor = "a")]
//~                 ^^^^^^^^^ `projektor` is not an option of `#[event_handler]`; did you mean `projector`?
//~                                     ^^^^^^^ `excutor` is not an option of `#[event_handler]`; did you mean `executor`?
    async fn unknown(_event: A) {}
    #[event_handler(projector = Totals)]
    async fn no_event() {}
//~          ^^^^^^^^ `no_event` must take its event
    #[event_handler(projector = Totals)]
    async fn generic<T>(_event: A) {}
//~                  ^ `generic` must not have generic types: it is registered once, as a concrete function
    #[event_handler(projector = Totals)]
    async fn borrowed(_event: &A) {}
//~                           ^^ `borrowed` must take its event by value: `A`
    #[event_handler(projector = Totals)]
    async fn meta_first(_meta: Metadata, _event: A) {}
//~                            ^^^^^^^^ the event must come first, before `Metadata`
    #[event_handler(projector = Totals)]
    async fn by_reference(_event: A, _meta: &Metadata) {}
//~                                         ^^^^^^^^^ `by_reference` must take `Metadata` by value: a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Stop`, `Dep<T>` or `Local<T>`
    #[event_handler(projector = Totals, crate = evento_runtime)]
//~                                             ^^^^^^^^^^^^^^ `crate` must be a path from the root, such as `::evento_runtime` or `crate::evento_runtime`
    async fn relative(_event: A) {}
    #[event_handler(projector = Totals)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[event_handler]` must be on a function
    struct Structure;
    #[event_handler(projector = Totals)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[event_handler]` must be on a function
    const CONSTANT: u32 = 1;
}

mod hooks {
    use super::*;
    #[on_start]
//~ ^^^^^^^^^^^ `#[on_start]` on a free function must name the component it joins: `projector = OrderTotals`, `saga = FulfilOrder` or `observer = Receipts`
    async fn without_projector() {}
    #[on_start(projektor = Totals, retry = 3)]
//~            ^^^^^^^^^ `projektor` is not an option of `#[on_start]`; did you mean `projector`?
//~                                ^^^^^ `retry` is not an option of `#[on_start]`
    async fn unknown() {}
    #[on_start(projector = Totals)]
    fn blocking() {}
//~ ^^ `blocking` must be an `async fn`
    #[on_start(projector = Totals)]
    async fn generic<T>(_db: Dep<u32>) {}
//~                  ^ `generic` must not have generic types: it is registered once, as a concrete function
    #[on_start(projector = Totals)]
    async fn borrowed(_db: &Dep<u32>) {}
//~                        ^^^^^^^^^ `borrowed` must take `Dep<u32>` by value: the hook may ask for `Dep<T>`, `ContextPattern` or `ConsumerId`
}

mod a_mistake_in_the_struct_is_told_once {
    use super::*;
    #[projector(version = 1, checkpoint = "never")]
//~                                       ^^^^^^^ `checkpoint` must be "on-start" or "watermark"
    struct Broken;
    #[event_handler(projector = Broken)]
    async fn joins(_event: A) {}
}
