//! What a handler that takes the framework's transaction registers, and one with a time it may take. What the shim does
//! with the transaction is held beside it, in the runtime: only an engine begins one.

use std::any::{Any, TypeId};
use std::time::Duration;

use evento_runtime::component::{Component, HandlerDef, Invoke};
use evento_runtime::prelude::*;
use evento_runtime::store::{Database, Lease, OpenTransaction, Settlement};
use evento_runtime::{StoreError, async_trait};
use serde::{Deserialize, Serialize};

use super::{OrderPaid, OrderPlaced, call, context, free, scope};

struct Open(u32);

#[async_trait]
impl OpenTransaction for Open {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
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

struct Rows;

impl Database for Rows {
    type Connection = u32;
    type Transaction = Open;

    fn connection(open: &Open) -> &u32 {
        &open.0
    }

    fn connection_mut(open: &mut Open) -> &mut u32 {
        &mut open.0
    }
}

#[derive(Default)]
struct Exact;

#[projector(version = 1)]
impl Exact {
    #[event_handler(executor = "read-model", retry = 3, timeout = "30s")]
    async fn placed(&self, event: OrderPlaced, _: Attempt, tx: &mut Tx<Rows>, Dep(factor): Dep<u8>) {
        **tx += event.cents * u32::from(factor);
    }

    #[event_handler(timeout = "500ms", on_timeout = "abandon")]
    async fn paid(&self, _event: OrderPaid, tx: &mut Tx<Rows>) {
        **tx = 0;
    }

    #[event_handler(timeout = "1m")]
    fn rest(&self, _event: RawEvent) {}
}

#[observer(version = 1)]
struct ExactMails;

#[event_handler(observer = ExactMails)]
async fn sent(_event: OrderPaid, _: &mut Tx<Rows>) -> Result<Flow, String> {
    Ok(Flow::Continue)
}

#[derive(Default, Serialize, Deserialize)]
struct Steps {}

#[saga(version = 1)]
struct ExactSteps;

#[saga_event_handler(saga = ExactSteps, init, association = order_id, timeout = "2h")]
async fn begun(_event: OrderPlaced, _state: &mut Steps, _: Associations, _tx: &mut Tx<Rows>) {}

#[test]
fn a_row_says_whose_transaction_and_how_long() {
    let [placed, paid, rest] = Exact::DEF.handlers else { panic!("{:?}", Exact::DEF.handlers) };
    let database = |handler: &HandlerDef| handler.transaction.map(|database| database.type_id());
    let rows = Some(TypeId::of::<Rows>());
    assert_eq!((database(placed), database(paid), database(rest)), (rows, rows, None));
    let needs: Vec<_> = placed.needs.concat().iter().map(|need| need.type_id()).collect();
    assert_eq!(needs, [TypeId::of::<u8>()], "the store's own is nothing to provide");
    assert_eq!((placed.timeout, placed.abandon), (Some(Duration::from_secs(30)), false));
    assert_eq!((paid.timeout, paid.abandon), (Some(Duration::from_millis(500)), true));
    assert_eq!((rest.timeout, rest.abandon), (Some(Duration::from_secs(60)), false));
    assert!(matches!((paid.invoke, rest.invoke), (Invoke::Async(_), Invoke::Blocking(_))));

    let [sent] = free(ExactMails::DEF)[..] else { panic!() };
    assert_eq!((database(&sent.handler), sent.handler.timeout), (rows, None));
    let [begun] = free(ExactSteps::DEF)[..] else { panic!() };
    assert_eq!((database(&begun.handler), begun.handler.state.unwrap().type_id), (rows, TypeId::of::<Steps>()));
    assert_eq!(begun.handler.timeout, Some(Duration::from_secs(7_200)));
    assert!(begun.handler.needs.concat().iter().all(|need| need.is_of_engine()));
}

#[tokio::test]
async fn a_handler_does_not_run_without_its_transaction() {
    let scope = scope(std::sync::Arc::new(Exact), &super::Sum::default());
    let [_, paid, _] = Exact::DEF.handlers else { panic!() };
    let error = call(paid, context(&scope, "OrderPaid", "{}", 1)).await.unwrap_err();
    assert!(error.contains("Rows"), "{error}");
}
