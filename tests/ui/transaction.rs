//! The framework's transaction in the arguments of handlers.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use evento_runtime::store::{Lease, OpenTransaction, Settlement};
use evento_runtime::{StoreError, store};
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
struct E {}
#[derive(Event, Serialize, Deserialize)]
struct F {}
#[derive(Event, Serialize, Deserialize)]
struct Placed {
    order_id: u64,
}
#[derive(Event, Serialize, Deserialize)]
struct Paid {
    order_id: u64,
}
#[derive(Event, Serialize, Deserialize)]
struct Shipped {
    order_id: u64,
}
#[derive(Default, Serialize, Deserialize)]
struct Fulfilment {}

struct Sqlite;
struct Open(u32);
impl store::Database for Sqlite {
    type Connection = u32;
    type Transaction = Open;
    fn connection(open: &Open) -> &u32 {
        &open.0
    }
    fn connection_mut(open: &mut Open) -> &mut u32 {
        &mut open.0
    }
}
#[evento_runtime::async_trait]
impl OpenTransaction for Open {
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any + Send> {
        self
    }
    async fn settle(&mut self, _: &Lease, _: Settlement) -> Result<(), StoreError> {
        Ok(())
    }
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
    async fn roll_back(self: Box<Self>) {}
}

mod forms {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn by_value(&self, _event: A, _tx: Tx<Sqlite>) {}
//~                                              ^^^^^^^^^^ `by_value` must take its transaction as `&mut Tx<Sqlite>`: it is lent, and committed once the handler has succeeded
        #[event_handler]
        async fn shared(&self, _event: B, _tx: &Tx<Sqlite>) {}
//~                                            ^^^^^^^^^^^ `shared` must take its transaction as `&mut Tx<Sqlite>`: it is lent, and committed once the handler has succeeded
        #[event_handler]
        async fn two(&self, _event: C, _tx: &mut Tx<Sqlite>, _meta: Metadata, _other: &mut store::Tx<Sqlite>) {}
//~                                                                                   ^^^^^^^^^^^^^^^^^^^^^^ `two` must take one transaction; an event is handled in one
        #[event_handler]
        async fn of_none(&self, _event: D, _tx: &mut Tx) {}
//~                                             ^^^^^^^ `of_none` must say whose transaction it takes: `&mut Tx<Sqlite>`, `&mut Tx<Postgres>` or `&mut Tx<MySql>`
//~                                                  ^^ rustc
        #[event_handler]
        async fn first(&self, _tx: &mut Tx<Sqlite>, _event: E) {}
//~                                ^^^^^^^^^^^^^^^ the event must come first, before `&mut Tx<Sqlite>`
        #[event_handler]
        fn blocking(&self, _event: F, _tx: &mut Tx<Sqlite>) {}
//~     ^^ `blocking` must be an `async fn`: a plain `fn` cannot await what it does in its transaction
        #[event_handler]
        async fn without_event(&self, _tx: &mut Tx<Sqlite>) {}
//~                                        ^^^^^^^^^^^^^^^ the event must come first, before `&mut Tx<Sqlite>`
        #[event_handler]
        async fn lifetime(&self, _event: Placed, _tx: &'static mut Tx<Sqlite>, _meta: &Metadata) {}
//~                                                    ^^^^^^^ `lifetime` must take its transaction without a lifetime
//~                                                                                   ^^^^^^^^^ `lifetime` must take `Metadata` by value: a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Stop`, `Dep<T>` or `Local<T>`
        #[on_start]
        async fn start(&self, _tx: &mut Tx<Sqlite>) {}
//~                                ^^^^^^^^^^^^^^^ `start` must do without `&mut Tx<Sqlite>`: only a handler has a transaction
        #[on_reset]
        async fn reset(&self, _tx: Tx<Sqlite>) {}
//~                                ^^^^^^^^^^ `reset` must do without `Tx<Sqlite>`: only a handler has a transaction
        #[inject]
        fn new(_tx: &mut Tx<Sqlite>) -> Self {
//~                 ^^^^^^^^^^^^^^^ `new` must do without `&mut Tx<Sqlite>`: only a handler has a transaction
            Self
        }
    }
}

mod bounds {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn of_text(&self, _event: A, _tx: &mut Tx<String>) {}
//~                                                  ^^^^^^^^^^ `String` is not a database
//~                                                     ^^^^^^ `String` is not a database
//~                                                     ^^^^^^ `String` is not a database
//~                                                     ^^^^^^ `String` is not a database
//~                                                     ^^^^^^ `String` is not a database
//~                                                             ^ `String` is not a database
    }
}

mod functions {
    use super::*;
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(projector = Totals)]
    async fn by_value(_event: A, _tx: evento_runtime::Tx<Sqlite>) {}
//~                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^ `by_value` must take its transaction as `&mut Tx<Sqlite>`: it is lent, and committed once the handler has succeeded
    #[event_handler(projector = Totals)]
    fn blocking(_event: B, _tx: &mut Tx<Sqlite>) {}
//~ ^^ `blocking` must be an `async fn`: a plain `fn` cannot await what it does in its transaction
    #[on_start(projector = Totals)]
    async fn start(_tx: &mut Tx<Sqlite>) {}
//~                     ^^^^^^^^^^^^^^^ `start` must do without `&mut Tx<Sqlite>`: only a handler has a transaction
    #[on_reset(projector = Totals)]
    async fn reset(_tx: &Tx<Sqlite>, _db: &u8) {}
//~                     ^^^^^^^^^^^ `reset` must do without `&Tx<Sqlite>`: only a handler has a transaction
//~                                       ^^^ `reset` must take `u8` by value: the hook may ask for `Dep<T>`, `ContextPattern` or `ConsumerId`
}

mod functions_of_types {
    use super::*;
    #[observer(version = 1)]
    struct Receipts;
    #[event_handler(observer = Receipts)]
    async fn of_text(_event: A, _tx: &mut Tx<String>) -> Result<(), BoxError> {
//~                                       ^^^^^^^^^^ `String` is not a database
//~                                          ^^^^^^ `String` is not a database
//~                                          ^^^^^^ `String` is not a database
//~                                          ^^^^^^ `String` is not a database
//~                                          ^^^^^^ `String` is not a database
//~                                                      ^^^^^^^^^^^^^^^^^^^^ `String` is not a database
        Ok(())
    }
}

mod sagas {
    use super::*;
    #[derive(Default)]
    struct Fulfil;
    #[saga(version = 1)]
    impl Fulfil {
        #[saga_event_handler(init, association = order_id)]
        async fn before_state(&self, _event: Placed, _tx: &mut Tx<Sqlite>, _state: &mut Fulfilment) {}
//~                                                                                ^^^^^^^^^^^^^^^ `before_state` must take the state of its saga right after the event, before `&mut Tx<Sqlite>`
        #[saga_event_handler(association = order_id)]
        async fn without_state(&self, _event: Paid, _tx: &mut Tx<Sqlite>) {}
//~                                                      ^^^^^^^^^^^^^^^ `without_state` must take the state of its saga right after the event, before `&mut Tx<Sqlite>`
        #[saga_event_handler(association = order_id)]
        async fn before_event(&self, _tx: &mut Tx<Sqlite>, _event: Shipped, _state: &Fulfilment) {}
//~                                       ^^^^^^^^^^^^^^^ the event must come first, before `&mut Tx<Sqlite>`
//~                                                                                 ^^^^^^^^^^^ `before_event` must take the state of its saga as `&mut Fulfilment`: it is stored as the handler left it
    }
    #[derive(Default)]
    struct Types;
    #[saga(version = 1)]
    impl Types {
        #[saga_event_handler(init, association = order_id)]
        async fn of_text(&self, _event: Placed, _state: &mut Fulfilment, _tx: &mut Tx<String>) {}
//~                                                                                ^^^^^^^^^^ `String` is not a database
//~                                                                                   ^^^^^^ `String` is not a database
//~                                                                                   ^^^^^^ `String` is not a database
//~                                                                                   ^^^^^^ `String` is not a database
//~                                                                                   ^^^^^^ `String` is not a database
//~                                                                                           ^ `String` is not a database
    }
}

mod over_time {
    use super::*;
    #[derive(Default)]
    struct View;
    #[observer(version = 1)]
    impl View {
        #[event_handler(timeout = "30", on_timeout = "abandom")]
//~                               ^^^^ `timeout` must have one of the units `us`, `ms`, `s`, `m` or `h`: `timeout = "30s"`
//~                                                  ^^^^^^^^^ `on_timeout` must be "abandon"; did you mean `abandon`?
        async fn misspelt(&self, _event: A) {}
        #[event_handler(timeout = "0s", on_timeout = 5)]
//~                               ^^^^ `timeout` must be longer than zero: `timeout = "30s"`
//~                                                  ^ `on_timeout` must be "abandon": `on_timeout = "abandon"`
        async fn none(&self, _event: B) {}
        #[event_handler(on_timeout = "abandon")]
//~                     ^^^^^^^^^^ `on_timeout` must have a `timeout` beside it: `timeout = "30s"`
        async fn no_time(&self, _event: C) {}
        #[event_handler(timeout = 30, on_timeout = "abandon")]
//~                               ^^ `timeout` must be a string with a number and a unit: `timeout = "30s"`
//~                                   ^^^^^^^^^^ `on_timeout` must be left out: `blocking` is a plain `fn`, and a running thread cannot be ended
        fn blocking(&self, _event: D) {}
        #[event_handler(timeot = "30s", on_timeout = "abandon")]
//~                     ^^^^^^ `timeot` is not an option of `#[event_handler]`; did you mean `timeout`?
        async fn meant(&self, _event: E) {}
    }
    #[observer(version = 1)]
    struct Receipts;
    #[event_handler(observer = Receipts, timeout = "5 parsecs", on_timeout = "abandon")]
//~                                                ^^^^^^^^^^^ `timeout` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `timeout = "30s"`
//~                                                             ^^^^^^^^^^ `on_timeout` must be left out: `blocking` is a plain `fn`, and a running thread cannot be ended
    fn blocking(_event: A) {}
    #[derive(Default)]
    struct Fulfil;
    #[saga(version = 1)]
    impl Fulfil {
        #[saga_event_handler(init, association = order_id, timeout = "1ns", on_timeout = "abandon")]
//~                                                                  ^^^^^ `timeout` must not be finer than a microsecond, `us`: `timeout = "30s"`
//~                                                                         ^^^^^^^^^^ `on_timeout` must be left out: the next event of an instance needs the state that this one leaves, so it is waited for
        async fn placed(&self, _event: Placed, _state: &mut Fulfilment) {}
    }
}
