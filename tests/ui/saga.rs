//! Sagas: their options, their handlers, and the state.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct Placed {
    order_id: String,
    tags: Vec<String>,
    customer: Customer,
    coupon: Option<Vec<String>>,
}
#[derive(Event, Serialize, Deserialize)]
struct Paid {
    order_id: u64,
}
#[derive(Event, Serialize, Deserialize)]
struct Shipped(String);
#[derive(Serialize, Deserialize)]
struct Customer {
    name: Option<String>,
}
#[derive(Default, Serialize, Deserialize)]
struct Fulfilment {}
#[derive(Default, Serialize, Deserialize)]
struct Other {}

mod options {
    use super::*;
    #[derive(Default)]
    struct Unversioned;
    #[saga]
//~ ^^^^^^^ `#[saga]` must have a version: `#[saga(version = 1)]`
    impl Unversioned {
        #[saga_event_handler(init, association = order_id)]
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Wrong;
    #[saga(version = 0, start = "haed", wait_for_head = 1, contexts = [], checkpoint = "watermark", nmae = "x")]
//~                  ^ `version` must be a whole number from 1: `version = 1`
//~                             ^^^^^^ `start` must be "beginning" or "head"; did you mean `head`?
//~                                                     ^ `wait_for_head` must be `true` or `false`: `wait_for_head = true`
//~                                                                   ^^ `contexts` must name at least one context; leave it out to listen to all
//~                                                                       ^^^^^^^^^^ `checkpoint` must be left out: events of a saga are covered only once they are settled
//~                                                                                                 ^^^^ `nmae` is not an option of `#[saga]`; did you mean `name`?
    impl Wrong {
        #[saga_event_handler(init = 1, association = "order_id", property = 5, executor = "mail", retry = -2)]
//~                                 ^ `init` must be `true` or `false`: `init = true`
//~                                                  ^^^^^^^^^^ `association` must be a field of the event: `association = order_id`
//~                                                                         ^ `property` must be a string: `property = "order_id"`
//~                                                                            ^^^^^^^^ `executor` must be left out: events of a saga change one state in order, so they run one after the other in the consumer's own loop
//~                                                                                                       ^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
        #[saga_event_handler(init = false, association = order.id(), property = "", retyr = 1, retry_delay = "5")]
//~                                                      ^^^^^^^^^^ `association` must be a field of the event: `association = order_id`
//~                                                                             ^^ `property` must have 1 to 255 bytes, and no NUL
//~                                                                                 ^^^^^ `retyr` is not an option of `#[saga_event_handler]`; did you mean `retry`?
//~                                                                                                          ^^^ `retry_delay` must have one of the units `us`, `ms`, `s`, `m` or `h`: `retry_delay = "500ms"`
        async fn other(&self, _event: Paid, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Outside;
    #[saga(version = 1, start = 5)]
//~                             ^ `start` must be "beginning" or "head": `start = "head"`
    impl Outside {
        #[saga_event_handler(init, association = order_id, saga = Outside, crate = ::evento_runtime)]
//~                                                        ^^^^ `saga` must be left out: the handler belongs to the block it stands in
//~                                                                        ^^^^^ `crate` must be given on `#[saga]`, for the whole block
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
        #[saga_event_handler(association = 0, projector = Outside)]
//~                                        ^ `association` must have a `property` beside it where the field has no name: `property = "order_id"`
//~                                           ^^^^^^^^^ `projector` must be an option of `#[event_handler]`, which handlers of a projector have
        async fn number(&self, _event: Shipped, _state: &mut Fulfilment) {}
        #[saga_event_handler = "x"]
//~       ^^^^^^^^^^^^^^^^^^^^^^^^ options must stand in parentheses: `#[saga_event_handler(association = order_id)]`
        async fn named(&self, _event: Paid, _state: &mut Fulfilment) {}
    }
}

mod associations {
    use super::*;
    #[derive(Default)]
    struct Missing;
    #[saga(version = 1)]
    impl Missing {
        #[saga_event_handler(init)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must have an association, the field of the event that instances are found by: `#[saga_event_handler(association = order_id)]`
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
        #[saga_event_handler]
//~     ^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must have an association, the field of the event that instances are found by: `#[saga_event_handler(association = order_id)]`
        async fn other(&self, _event: Paid, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Misspelt;
    #[saga(version = 1)]
    impl Misspelt {
        #[saga_event_handler(init, association = order_idd)]
//~                                              ^^^^^^^^^ rustc
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Deeper;
    #[saga(version = 1)]
    impl Deeper {
        #[saga_event_handler(init, association = customer.nmae)]
//~                                                       ^^^^ rustc
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Shapeless;
    #[saga(version = 1)]
    impl Shapeless {
        #[saga_event_handler(init, association = tags)]
//~                                              ^^^^ `Vec<String>` can be neither an association nor a key
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Absent;
    #[saga(version = 1)]
    impl Absent {
        #[saga_event_handler(init, association = coupon)]
//~                                              ^^^^^^ `Vec<String>` can be neither an association nor a key
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
}

mod nothing_begins {
    use super::*;
    #[derive(Default)]
    struct Never;
    #[saga(version = 1)]
    impl Never {
//~      ^^^^^ `Never` must have a handler with `init`: without one no instance would ever begin
        #[saga_event_handler(association = order_id)]
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
        #[saga_event_handler(init = false, association = order_id)]
        async fn other(&self, _event: Paid, _state: &mut Fulfilment) {}
    }
    #[derive(Default)]
    struct Empty;
    #[saga(version = 1)]
    impl Empty {
//~      ^^^^^ `Empty` must have a method with `#[saga_event_handler]` in this block
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
}

mod signatures {
    use super::*;
    #[derive(Default)]
    struct Nothing;
    #[saga(version = 1)]
    impl Nothing {
        #[saga_event_handler(init, association = order_id)]
        async fn nothing(&self) {}
//~              ^^^^^^^ `nothing` must take its event, and the state of its saga after it
        #[saga_event_handler(init, association = order_id)]
        async fn no_state(&self, _event: Placed) {}
//~              ^^^^^^^^ `no_state` must take the state of its saga right after the event: `state: &mut S`
        #[saga_event_handler(init, association = order_id)]
        async fn no_self(_event: Paid, _state: &mut Fulfilment) {}
//~              ^^^^^^^ `no_self` must take `&self`
        #[saga_event_handler(init, association = name)]
        async fn raw(&self, _event: RawEvent, _state: &mut Fulfilment) {}
//~                                 ^^^^^^^^ `raw` must take an event of its own type: `RawEvent` has no field to find an instance by
        #[saga_event_handler(init, association = name)]
        async fn raw_by_path(&self, _event: evento_runtime::RawEvent, _state: &mut Fulfilment) {}
//~                                         ^^^^^^^^^^^^^^^^^^^^^^^^ `raw_by_path` must take an event of its own type: `RawEvent` has no field to find an instance by
    }
    #[derive(Default)]
    struct States;
    #[saga(version = 1)]
    impl States {
        #[saga_event_handler(init, association = order_id)]
        async fn shared(&self, _event: Placed, _state: &Fulfilment) {}
//~                                                    ^^^^^^^^^^^ `shared` must take the state of its saga as `&mut Fulfilment`: it is stored as the handler left it
        #[saga_event_handler(init, association = order_id)]
        async fn owned(&self, _event: Paid, _state: Fulfilment) {}
//~                                                 ^^^^^^^^^^ `owned` must take the state of its saga right after the event, as `&mut Fulfilment`
        #[saga_event_handler(init, association = order_id)]
        async fn late(&self, _event: Shipped, _meta: Metadata, _state: &mut Fulfilment) {}
//~                                                                    ^^^^^^^^^^^^^^^ `late` must take the state of its saga right after the event, before `Metadata`
        #[saga_event_handler(init, association = order_id)]
        async fn early(&self, _state: &mut Fulfilment, _event: A) {}
//~                                   ^^^^^^^^^^^^^^^ the event must come first, before `&mut Fulfilment`
        #[saga_event_handler(init, association = order_id)]
        async fn only_meta(&self, _event: B, _meta: Metadata) {}
//~                                                 ^^^^^^^^ `only_meta` must take the state of its saga right after the event, as `&mut S`
        #[saga_event_handler(init, association = order_id)]
        async fn borrowed(&self, _event: &C, _state: &mut impl Sized, _meta: &Metadata) {}
//~                                      ^^ `borrowed` must take its event by value: `C`
//~                                                       ^^^^^^^^^^ an argument of `borrowed` must have a concrete type, not `impl Trait`
//~                                                                          ^^^^^^^^^ `borrowed` must take `Metadata` by value: a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Associations`, `Stop`, `Dep<T>` or `Local<T>`
        #[saga_event_handler(init, association = order_id)]
        async fn forever(&self, _event: D, _state: &'static mut Fulfilment) {}
//~                                                 ^^^^^^^ `forever` must take its state without a lifetime
    }
    struct A {}
    struct B {}
    struct C {}
    struct D {}
    #[derive(Default)]
    struct Two;
    #[saga(version = 1)]
    impl Two {
        #[saga_event_handler(init, association = order_id)]
        async fn first(&self, _event: Placed, _state: &mut Fulfilment) {}
        #[saga_event_handler(association = order_id)]
        async fn same(&self, _event: Paid, _state: &mut super::Fulfilment) {}
        #[saga_event_handler(association = 0, property = "order_id")]
        async fn second(&self, _event: Shipped, _state: &mut Other) {}
//~                                                          ^^^^^ `second` must take `&mut Fulfilment`, as `first` does: a saga has one state
        #[saga_event_handler(association = order_id)]
        async fn again(&self, _event: Paid, _state: &mut Fulfilment) {}
//~                                   ^^^^ `Paid` must have one handler; `same` takes it already
    }
}

mod handlers_of_other_kinds {
    use super::*;
    #[derive(Default)]
    struct Saga;
    #[saga(version = 1)]
    impl Saga {
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `#[event_handler]` must be `#[saga_event_handler]` in a `#[saga]` block: an event finds its instance by an association
        async fn on(&self, _event: Placed) {}
        #[saga_event_handler(association = order_id)]
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `both` must not have both `#[saga_event_handler]` and `#[event_handler]`
        async fn both(&self, _event: Paid, _state: &mut Fulfilment) {}
        #[on_reset]
//~     ^^^^^^^^^^^ `#[on_reset]` must belong to a projector: a saga applies no event twice, so it has nothing to clear
        async fn clear(&self) {}
    }
    #[derive(Default)]
    struct Projector;
    #[projector(version = 1)]
    impl Projector {
        #[saga_event_handler(init, association = order_id)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must be `#[event_handler]` in a `#[projector]` block: only sagas have instances
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    struct Plain;
    impl Plain {
        #[saga_event_handler(init, association = order_id)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` on a method must be inside an `impl` block with `#[saga(version = 1)]`
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
    #[saga_event_handler]
//~ ^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must be on a function
    struct Structure;
}

mod types {
    use super::*;
    #[derive(Default)]
    struct Stateless;
    #[saga(version = 1)]
    impl Stateless {
        #[saga_event_handler(init, association = order_id)]
        async fn on(&self, _event: Placed, _state: &mut Customer) {}
//~                                                     ^^^^^^^^ `Customer` cannot be the state of a saga
        #[saga_event_handler(association = order_id)]
        fn blocking(&self, _event: Paid, _state: &mut Customer) {}
//~                                                   ^^^^^^^^ `Customer` cannot be the state of a saga
    }
    #[derive(Default)]
    struct Asks;
    #[saga(version = 1)]
    impl Asks {
        #[saga_event_handler(init, association = order_id)]
        async fn flag(&self, _event: Placed, _state: &mut Fulfilment, _flag: bool) {}
//~                                                                          ^^^^ `bool` cannot be extracted from an event
        #[saga_event_handler(association = order_id)]
        async fn number(&self, _event: Paid, _state: &mut Fulfilment) -> u32 {
//~                                                                      ^^^ a handler cannot return `u32`
            5
        }
    }
    #[derive(Default)]
    struct Texts;
    #[saga(version = 1)]
    impl Texts {
        #[saga_event_handler(init, association = order_id)]
//~                                              ^^^^^^^^ rustc
        async fn text(&self, _event: String, _state: &mut Fulfilment) {}
//~                                  ^^^^^^ `String` is not an event
    }
    #[derive(Default)]
    struct Unknown;
    #[saga(version = 1)]
    impl Unknown {
        #[saga_event_handler(init, association = order_id)]
        async fn state(&self, _event: Placed, _state: &mut Missing) {}
//~                                                        ^^^^^^^ rustc
    }
    #[derive(Default)]
    struct Futures;
    #[saga(version = 1)]
    impl Futures {
        #[saga_event_handler(init, association = order_id)]
        async fn not_send(&self, _event: Placed, _state: &mut Fulfilment) {
//~              ^^^^^^^^ future cannot be sent between threads safely
            let kept = std::rc::Rc::new(1);
            std::future::ready(()).await;
            drop(kept);
        }
    }
}

mod structs {
    use super::*;
    #[saga(version = 1)]
    struct WithData {
//~                 ^ `WithData` must be a unit struct; for one with data put `#[saga]` on `impl WithData`
        count: u32,
    }
    #[saga(version = 1)]
//~ ^^^^^^^^^^^^^^^^^^^^ `#[saga]` must be on an `impl` block, or on a unit struct that free functions join
    fn function() {}
    #[saga(version = 1)]
    impl Clone for Other {
//~      ^^^^^ `#[saga]` must be on an inherent block: `impl Other { .. }`
        fn clone(&self) -> Self { Self {} }
    }
}

mod functions {
    use super::*;
    #[saga(version = 1)]
    struct Open;
    #[projector(version = 1)]
    struct Totals;
    #[observer(version = 1)]
    struct Receipts;
    #[saga_event_handler(init, association = order_id)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` on a free function must name the component it joins: `saga = FulfilOrder`
    async fn joins_nothing(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = Open)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[saga_event_handler]` must have an association, the field of the event that instances are found by: `#[saga_event_handler(association = order_id)]`
    async fn no_association(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = "Open", association = order_id)]
//~                             ^^^^^^ `saga` must be the path of a unit struct with `#[saga]`: `saga = FulfilOrder`
    async fn text(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = Open, association = order_id, executor = "mail", projector = Totals)]
//~                                                           ^^^^^^^^ `executor` must be left out: events of a saga change one state in order, so they run one after the other in the consumer's own loop
//~                                                                              ^^^^^^^^^ `projector` must be an option of `#[event_handler]`, which handlers of a projector have
    async fn executor(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = Open, association = order_id)]
    async fn no_state(_event: Placed, _meta: Metadata) {}
//~                                          ^^^^^^^^ `no_state` must take the state of its saga right after the event, as `&mut S`
    #[saga_event_handler(saga = Totals, association = order_id)]
//~                             ^^^^^^ free functions cannot join `Totals` as a saga
    async fn to_a_projector(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = Receipts, association = order_id)]
//~                             ^^^^^^^^ free functions cannot join `Receipts` as a saga
    async fn to_an_observer(_event: Placed, _state: &mut Fulfilment) {}
    #[event_handler(saga = Open)]
//~                 ^^^^ `saga` must be an option of `#[saga_event_handler]`, which handlers of a saga have
    async fn without_state(_event: Placed) {}
    #[event_handler(projector = Open)]
//~                             ^^^^ free functions cannot join `Open` as a projector
    async fn to_a_saga(_event: Placed) {}
    #[saga_event_handler(saga = Open, association = order_idd)]
//~                                                 ^^^^^^^^^ rustc
    async fn misspelt(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = Open, association = order_id)]
    async fn not_a_state(_event: Paid, _state: &mut Customer) {}
//~                                                 ^^^^^^^^ `Customer` cannot be the state of a saga
    #[on_start(saga = Totals)]
//~                   ^^^^^^ free functions cannot join `Totals` as a saga
    async fn hook() {}
    #[on_reset(saga = Open)]
//~            ^^^^ `#[on_reset]` must belong to a projector: a saga applies no event twice, so it has nothing to clear
    async fn reset() {}
}

mod ordered_by_their_instance {
    use super::*;
    #[derive(Default)]
    struct Keyed;
    #[saga(version = 1)]
    impl Keyed {
        #[saga_event_handler(init, association = order_id, key = order_id)]
//~                                                        ^^^ `key` must be left out: events of a saga are in the order of their instance, which `association` finds
        async fn on(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
}
