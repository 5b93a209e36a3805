//! Handlers that take many events at once.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}
#[derive(Event, Serialize, Deserialize)]
struct B {}
#[derive(Event, Serialize, Deserialize)]
struct C {}
#[derive(Event, Serialize, Deserialize)]
struct D {}
#[derive(Event, Serialize, Deserialize)]
struct Placed {
    order_id: u64,
}
#[derive(Default, Serialize, Deserialize)]
struct Fulfilment {}

mod need_each_other {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(batch = 500)]
        async fn one(&self, _event: A) {}
//~                                 ^ `one` must take `Vec<A>`: with `batch` it is called for many events at once
        #[event_handler]
        async fn many(&self, _events: Vec<B>, _attempt: Attempt) {}
//~                                   ^^^^^^ `many` must say `batch` to take `Vec<B>`, as in `#[event_handler(batch = 500)]`, or take `B`
        #[event_handler(batch = 500)]
        async fn slice(&self, _events: &[C]) {}
//~                                    ^^^^ `slice` must take its event by value: `Vec<C>`
        #[event_handler(bacth = 500)]
//~                     ^^^^^ `bacth` is not an option of `#[event_handler]`; did you mean `batch`?
        async fn misspelt(&self, _events: Vec<D>) {}
        #[event_handler(batch = 2)]
        async fn nothing(&self) {}
//~              ^^^^^^^ `nothing` must take its event
    }
}

mod values {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(batch = 0)]
//~                             ^ `batch` must be a whole number from 1: `batch = 500`
        async fn zero(&self, _events: Vec<A>) {}
        #[event_handler(batch = "500", linger = 5)]
//~                             ^^^^^ `batch` must be a whole number from 1: `batch = 500`
//~                                             ^ `linger` must be a string with a number and a unit: `linger = "5ms"`
        async fn text(&self, _events: Vec<B>) {}
        #[event_handler(linger = "5ms")]
//~                     ^^^^^^ `linger` must have a `batch` beside it: `batch = 500`
        async fn alone(&self, _event: C) {}
        #[event_handler(batch = 5, timeout = "30s")]
//~                                ^^^^^^^ `timeout` must not stand beside `batch`: the time of an attempt is limited for one event
        async fn timed(&self, _events: Vec<D>) {}
    }
}

mod extractors {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(batch = 5)]
        async fn of_one(&self, _events: Vec<A>, _meta: Metadata, _position: Position, _id: EventId) {}
//~                                                    ^^^^^^^^ `of_one` must do without `Metadata`: it is one event's, and a batch has many; `Vec<RawEvent>` has those of each
//~                                                                         ^^^^^^^^ `of_one` must do without `Position`: it is one event's, and a batch has many; `Vec<RawEvent>` has those of each
//~                                                                                        ^^^^^^^ `of_one` must do without `EventId`: it is one event's, and a batch has many; `Vec<RawEvent>` has those of each
        #[event_handler(batch = 5)]
        fn loose(&self, _events: Vec<B>, _outbox: Outbox) {}
//~                                               ^^^^^^ `loose` must take `&mut Tx<..>` beside `Outbox`: what a batch emits is stored in the transaction that handles all of its events
    }
}

mod bounds {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(batch = 5)]
        async fn of_text(&self, _events: Vec<String>) {}
//~                                          ^^^^^^ `String` is not an event
    }
}

mod saga {
    use super::*;
    #[derive(Default)]
    struct Fulfil;
    #[saga(version = 1)]
    impl Fulfil {
        #[saga_event_handler(init, association = order_id, batch = 5, linger = "5ms")]
//~                                                        ^^^^^ `batch` must be left out: each event of an instance is handled with the state that the one before it left
//~                                                                   ^^^^^^ `linger` must be left out: it belongs to a `batch`, and events of a saga are handled one by one
        async fn placed(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
}

mod observers {
    use super::*;
    #[derive(Default)]
    struct Mails;
    #[observer(version = 1)]
    impl Mails {
        #[event_handler(batch = 5)]
//~                     ^^^^^ `batch` must be left out: an observer claims each event before it is handled; a projector takes many at once
        async fn placed(&self, _events: Vec<Placed>) {}
    }
    #[observer(version = 1)]
    struct Receipts;
    #[event_handler(observer = Receipts, batch = 5)]
//~                                      ^^^^^ `batch` must be left out: an observer claims each event before it is handled; a projector takes many at once
    async fn placed(_events: Vec<Placed>) {}
}

mod fine {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(batch = 500, linger = "5ms", retry = 3)]
        async fn placed(&self, _events: Vec<Placed>, _attempt: Attempt, _stop: Stop) -> Result<(), BoxError> {
            Ok(())
        }
        #[event_handler(executor = "pool", batch = 1)]
        fn rest(&self, _events: std::vec::Vec<RawEvent>) -> Flow {
            Flow::Continue
        }
    }
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(projector = Totals, batch = 10, executor = "pool")]
    async fn any(_events: Vec<RawEvent>, _progress: Progress) {}
}
