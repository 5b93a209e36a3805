//! What `#[saga]`, `#[observer]` and `#[on_reset]` register. What the shim of a saga leaves is held beside it, in the
//! runtime: it takes an instance, which only an engine binds.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evento_runtime::component::{Build, Component, HandlerDef, Invoke, Kind, Registered};
use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use super::{MAIL, OrderPaid, OrderPlaced, Sum, View, call, context, free, registered, scope};

#[derive(Event, Serialize, Deserialize)]
struct Shipped {
    parcel: Parcel,
    carrier: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Parcel {
    number: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Fulfilment {
    cents: u32,
}

struct Fulfil {
    sum: Sum,
}

/// Fulfils.
#[saga(version = 3, name = "fulfil", contexts = "shop", start = "beginning", wait_for_head = false)]
impl Fulfil {
    #[inject]
    fn new(sum: Sum) -> Self {
        Self { sum }
    }

    #[on_start]
    async fn prepare(&self) {}

    /// Begins.
    #[saga_event_handler(init, association = order_id, retry = 3, retry_delay = "500ms", max_delay = "1m")]
    async fn placed(&self, event: OrderPlaced, state: &mut Fulfilment, _: Attempt, _: Associations) {
        state.cents = event.cents;
        self.sum.fetch_add(event.cents, Ordering::Relaxed);
    }

    #[saga_event_handler(association = parcel.number)]
    fn shipped(&self, _event: Shipped, _state: &mut Fulfilment, _: Progress) -> Result<Flow, String> {
        Ok(Flow::Complete)
    }
}

#[saga(version = 1)]
struct Open;

#[saga_event_handler(saga = Open, init = true, association = carrier, property = "by")]
async fn begun(_event: Shipped, _state: &mut Fulfilment) {}

#[on_start(saga = Open)]
async fn prepare() {}

#[derive(Default)]
struct Receipts;

#[observer(version = 2, start = "head")]
impl Receipts {
    #[event_handler(executor = MAIL, retry = 5)]
    async fn sent(&self, _event: OrderPaid) {}
}

#[observer(version = 1)]
struct Letters;

#[event_handler(observer = Letters)]
fn letter(_event: RawEvent) {}

#[derive(Default)]
struct Again;

#[projector(version = 1, start = "head")]
impl Again {
    #[on_reset]
    async fn clear(&self, Dep(sum): Dep<Sum>) {
        sum.store(0, Ordering::Relaxed);
    }

    #[event_handler]
    async fn rest(&self, _event: RawEvent) {}
}

#[on_reset(projector = super::Totals)]
async fn clear_totals(Dep(sum): Dep<Sum>) -> Result<(), std::io::Error> {
    sum.store(1, Ordering::Relaxed);
    Ok(())
}

#[test]
fn a_saga_says_what_its_attributes_say() {
    let def = Fulfil::DEF;
    assert_eq!((def.kind, def.name, def.version, def.open), (Kind::Saga, "fulfil", 3, false));
    assert_eq!((def.start, def.wait_for_head, def.checkpoint), (Some(StartFrom::Beginning), Some(false), None));
    assert_eq!((def.contexts, def.docs), (&["shop"][..], "Fulfils."));
    assert!(def.on_start.is_some() && def.on_reset.is_none());
    assert!(matches!(def.build, Build::With { needs: [_], .. }));

    let [placed, shipped] = def.handlers else { panic!("{:?}", def.handlers) };
    assert_eq!((placed.method, placed.executor, placed.retry, placed.docs), ("placed", None, Some(3), "Begins."));
    assert_eq!(placed.retry_delay, Some(Duration::from_millis(500)));
    assert!(placed.needs.concat().iter().all(|need| need.is_of_engine()));
    assert_eq!(placed.needs.len(), 2, "neither the event nor the state is one");
    let (saga, other) = (placed.saga.unwrap(), shipped.saga.unwrap());
    assert_eq!(((saga.init, saga.property), (other.init, other.property)), ((true, "order_id"), (false, "number")));
    assert_eq!(placed.state.unwrap().type_id, TypeId::of::<Fulfilment>());
    assert!(matches!((placed.invoke, shipped.invoke), (Invoke::Async(_), Invoke::Blocking(_))));

    let def = Open::DEF;
    assert_eq!((def.kind, def.open, def.start), (Kind::Saga, true, None));
    let [begun] = free(def)[..] else { panic!() };
    let saga = begun.handler.saga.unwrap();
    assert_eq!((saga.init, saga.property), (true, "by"));
    // Only handlers of sagas have it.
    assert!(View::DEF.handlers.iter().all(|handler| handler.saga.is_none() && handler.state.is_none()));
}

#[test]
fn what_finds_an_instance_is_read_from_the_event() {
    let scope = scope(Arc::new(()), &Sum::default());
    let [placed, shipped] = Fulfil::DEF.handlers else { panic!() };
    let [begun] = free(Open::DEF)[..] else { panic!() };
    let value = |handler: &HandlerDef, payload| (handler.saga.unwrap().value)(&context(&scope, "any", payload, 1));
    assert_eq!(value(placed, r#"{"order_id":"o-1","cents":5}"#).unwrap().as_deref(), Some("o-1"));
    assert_eq!(value(placed, r#"{"order_id":"","cents":5}"#).unwrap().as_deref(), Some(""));
    let parcel = r#"{"parcel":{"number":7},"carrier":null}"#;
    assert_eq!(value(shipped, parcel).unwrap().as_deref(), Some("7"));
    assert_eq!(value(&begun.handler, parcel).unwrap(), None);
    let carried = r#"{"parcel":{"number":7},"carrier":"fast"}"#;
    assert_eq!(value(&begun.handler, carried).unwrap().as_deref(), Some("fast"));
    let undecodable = value(placed, "{}").unwrap_err();
    assert!(undecodable.to_string().contains("cannot be decoded"), "{undecodable}");
}

#[tokio::test]
async fn a_handler_of_a_saga_needs_an_instance() {
    let sum = Sum::default();
    let scope = scope(Arc::new(Fulfil::new(Arc::clone(&sum))), &sum);
    let [placed, _] = Fulfil::DEF.handlers else { panic!() };
    let call = call(placed, context(&scope, "OrderPlaced", r#"{"order_id":"o-1","cents":5}"#, 1));
    assert_eq!(call.await, Err("no saga instance is bound to this call".to_owned()));
    assert_eq!(sum.load(Ordering::Relaxed), 0, "and does not run without one");
}

#[test]
fn an_observer_says_what_its_attributes_say() {
    let def = Receipts::DEF;
    assert_eq!((def.kind, def.version, def.start), (Kind::Observer, 2, Some(StartFrom::Head)));
    assert_eq!((def.handlers[0].executor, def.handlers[0].retry), (Some("mail"), Some(5)));
    let def = Letters::DEF;
    assert_eq!((def.kind, def.open, def.start), (Kind::Observer, true, None));
    assert_eq!(free(def)[0].handler.method, "letter");
}

#[tokio::test]
async fn a_hook_that_clears_is_not_one_that_prepares() {
    let def = Again::DEF;
    assert_eq!((def.kind, def.start), (Kind::Projector, Some(StartFrom::Head)));
    assert!(def.on_start.is_none());
    let sum = Sum::new(AtomicU32::new(9));
    let hook = def.on_reset.unwrap();
    assert_eq!((hook.method, hook.needs.concat().len()), ("clear", 1));
    (hook.invoke)(scope(Arc::new(Again), &sum)).await.unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 0);

    let resets: Vec<_> = registered()
        .filter_map(|registered| match registered {
            Registered::Reset(free) => Some((free.component.name, free.hook)),
            _ => None,
        })
        .collect();
    let [(component, hook)] = resets[..] else { panic!("{} hooks", resets.len()) };
    assert_eq!((component, hook.method), ("Totals", "clear_totals"));
    (hook.invoke)(scope(Arc::new(()), &sum)).await.unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 1);
}
