//! Handlers that take the framework's transaction: of a projector, of a saga, and a free one.
use evento_runtime::prelude::*;
use evento_runtime::store::{Database, Lease, OpenTransaction, Settlement};
use evento_runtime::{StoreError, async_trait};
use serde::{Deserialize, Serialize};

pub struct Sqlite;
pub struct Open(u32);
impl Database for Sqlite {
    type Connection = u32;
    type Transaction = Open;
    fn connection(open: &Open) -> &u32 {
        &open.0
    }
    fn connection_mut(open: &mut Open) -> &mut u32 {
        &mut open.0
    }
}
#[async_trait]
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

#[derive(Serialize, Deserialize)]
pub struct Placed {
    pub order_id: String,
}
impl Event for Placed {
    const NAME: &'static str = "Placed";
}

#[derive(Default, Serialize, Deserialize)]
pub struct Fulfilment {}

#[derive(Default)]
pub struct OrderView;

#[projector(version = 1)]
impl OrderView {
    #[event_handler(executor = "read-model", retry = 3, timeout = "30s", on_timeout = "abandon")]
    async fn placed(&self, _event: Placed, tx: &mut Tx<Sqlite>, _meta: Metadata) -> Result<(), std::io::Error> {
        **tx += 1;
        Ok(())
    }
}

#[derive(Default)]
pub struct FulfilOrder;

#[saga(version = 1)]
impl FulfilOrder {
    #[saga_event_handler(init, association = order_id, timeout = "1m")]
    async fn placed(&self, _event: Placed, _state: &mut Fulfilment, _tx: &mut Tx<Sqlite>) {}
}

#[observer(version = 1)]
pub struct Receipts;

#[event_handler(observer = Receipts)]
async fn sent(_event: Placed, _tx: &mut Tx<Sqlite>) {}
