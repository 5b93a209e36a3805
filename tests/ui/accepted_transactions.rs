//! The framework's transaction: every place it may have, and every way its name may be written. Nothing is said about
//! any of it.
#![deny(warnings)]
#![allow(dead_code)]

use evento_runtime::prelude::*;
use evento_runtime::store::{self, Lease, OpenTransaction, Settlement};
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}
#[derive(Event, Serialize, Deserialize)]
struct B {}
#[derive(Clone)]
struct Db;

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
    async fn settle(&mut self, _: &Lease, _: Settlement) -> Result<(), evento_runtime::StoreError> {
        Ok(())
    }
    async fn commit(self: Box<Self>) -> Result<(), evento_runtime::StoreError> {
        Ok(())
    }
    async fn roll_back(self: Box<Self>) {}
}
#[derive(Event, Serialize, Deserialize)]
struct C {}
#[derive(Event, Serialize, Deserialize)]
struct Placed {
    id: u32,
}
/// An event may be called so.
#[derive(Event, Serialize, Deserialize)]
struct Paid {}
mod payments {
    use super::{Deserialize, Event, Serialize};
    #[derive(Event, Serialize, Deserialize)]
    pub(super) struct Tx {}
}
#[derive(Default)]
struct View;
#[projector(version = 1, checkpoint = "watermark")]
impl View {
    #[event_handler(executor = "read-model", retry = 1, timeout = "30s", on_timeout = "abandon")]
    async fn first(&self, _event: A, tx: &mut Tx<Sqlite>) -> Result<(), std::io::Error> {
        **tx += 1;
        std::future::ready(()).await;
        **tx += 1;
        Ok(())
    }
    #[event_handler(timeout = "2 h")]
    #[tracing::instrument(skip_all)]
    async fn between(&self, _: B, _meta: Metadata, _: &mut store::Tx<self::Sqlite>, Dep(_db): Dep<Db>) {
        std::future::ready(()).await;
    }
    #[event_handler]
    async fn last(&self, _event: C, Dep(_db): Dep<Db>, _tx: &'_ mut evento_runtime::Tx<Sqlite>) -> Flow {
        Flow::Continue
    }
    #[event_handler]
    async fn of_an_event(&self, _event: payments::Tx, _tx: &mut Tx<Sqlite>) {}
    #[event_handler(timeout = "500ms")]
    fn blocking(&self, _event: RawEvent) {}
}
#[observer(version = 1)]
struct Receipts;
#[event_handler(observer = Receipts, timeout = "5s", on_timeout = "abandon")]
async fn sent(_event: Paid, _tx: &mut Tx<Sqlite>) {}
#[derive(Default, Serialize, Deserialize)]
struct Steps {
    taken: u32,
}
#[derive(Default)]
struct Fulfil;
#[saga(version = 1)]
impl Fulfil {
    #[saga_event_handler(init, association = id, timeout = "30s")]
    async fn placed(&self, event: Placed, state: &mut Steps, _: Associations, tx: &mut Tx<Sqlite>) -> Flow {
        state.taken = event.id + **tx;
        Flow::Complete
    }
}
macro_rules! views {
    ($($name:ident: $event:ty, $tx:ty, $database:ty;)*) => {$(
        #[derive(Default)]
        struct $name;
        #[projector(version = 1)]
        impl $name {
            #[event_handler]
            async fn whole(&self, _event: $event, tx: $tx) {
                **tx += 1;
            }
            #[event_handler]
            async fn part(&self, _event: C, tx: &mut Tx<$database>) {
                **tx += 1;
            }
        }
    )*};
}
views! {
    First: A, &mut Tx<Sqlite>, Sqlite;
    Second: B, &mut store::Tx<Sqlite>, crate::Sqlite;
}
/// A provided value may have the name.
#[derive(Clone)]
struct Sender;
mod channel {
    pub(super) type Tx = super::Sender;
}
struct Sending;
#[projector(version = 1)]
impl Sending {
    #[inject]
    fn new(_tx: channel::Tx) -> Self {
        Self
    }
    #[event_handler]
    async fn on(&self, _event: A) {}
}
