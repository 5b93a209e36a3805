//! What the macros register, and what the registered shims do.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used)]
// A handler takes its event by value, whatever it does with it.
#![allow(clippy::needless_pass_by_value)]

mod kinds;
mod transactions;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evento_runtime::component::{Build, Component, ComponentDef, FreeHandler, HandlerDef, Invoke, Registered};
use evento_runtime::context::ConsumerScope;
use evento_runtime::deps::Deps;
use evento_runtime::event::{DecodeError, EventArgument};
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::prelude::*;
use evento_runtime::{__private::inventory, CheckpointMode, DeadLetterPolicy, HandlerContext, StoredEvent, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Event, Serialize, Deserialize)]
#[event(name = "shop.OrderPlaced", alias = "OrderPlaced", alias = ["Placed", "Created"], context = "shop", key = order_id)]
struct OrderPlaced {
    order_id: String,
    cents: u32,
}

#[derive(Event, Serialize, Deserialize)]
struct OrderPaid {}

#[derive(Event, Serialize, Deserialize)]
#[event(key = 0)]
struct Numbered(u32);

/// Trap 4: what becomes identity has no `r#`.
#[allow(non_camel_case_types)]
#[derive(Event, Serialize, Deserialize)]
struct r#type {}

const MAIL: &str = "mail";

type Sum = Arc<AtomicU32>;

/// The sum.
///
/// Of all orders.
struct View {
    sum: Sum,
}

/// Keeps the sum.
///
///   Indented.
#[projector(version = 7, name = "sums", wait_for_head = true, contexts = ["shop", "tenant-*"], checkpoint = "watermark",
    dead_letter = "park", redrive_transient = "5m")]
impl View {
    #[inject]
    fn make(sum: Sum) -> View {
        Self { sum }
    }

    #[on_start]
    async fn prepare(&self, Dep(sum): Dep<Sum>) -> Result<(), std::io::Error> {
        sum.fetch_add(1_000, Ordering::Relaxed);
        Ok(())
    }

    /// Adds.
    #[event_handler(executor = "read-model", retry = 3, retry_delay = "500ms", max_delay = "1m")]
    async fn placed(&self, event: OrderPlaced, _: Metadata, attempt: Attempt) -> Result<(), String> {
        if attempt == Attempt(2) {
            return Err("second".to_owned());
        }
        tokio::task::yield_now().await;
        self.sum.fetch_add(event.cents, Ordering::Relaxed);
        Ok(())
    }

    #[event_handler(executor = MAIL, retry = -1)]
    fn paid(&self, _event: OrderPaid, Dep(factor): Dep<u8>) -> Flow {
        Flow::DeadLetter(factor.to_string())
    }

    #[event_handler]
    async fn r#move(&self, _event: r#type) {}

    #[event_handler]
    async fn rest(&self, event: RawEvent) -> Result<Flow, DecodeError> {
        assert_eq!(&*event.name, "unknown");
        Ok(Flow::Skip)
    }

    // Trap 6, B113.
    #[cfg(any())]
    #[event_handler]
    async fn gone(&self, _event: NoSuchType) {}

    fn helper(&self) -> u32 {
        self.sum.load(Ordering::Relaxed)
    }
}

/// Free.
#[projector(version = 1)]
struct Totals;

mod elsewhere {
    use super::{Dep, OrderPlaced, Ordering, Sum, event_handler};

    /// Adds as well.
    #[event_handler(projector = super::Totals, executor = "read-model")]
    pub(super) async fn placed(event: OrderPlaced, Dep(sum): Dep<Sum>) {
        sum.fetch_add(event.cents, Ordering::Relaxed);
    }

    #[cfg(any())]
    #[event_handler(projector = super::Totals)]
    async fn gone(_event: NoSuchType) {}

    #[event_handler(projector = super::Totals)]
    #[cfg(any())]
    async fn gone_below(_event: NoSuchType) {}
}

#[event_handler(projector = Totals)]
fn numbered(event: Numbered) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    if event.0 == 0 { Err("zero".into()) } else { Ok(()) }
}

#[derive(Default)]
struct ByDefault;

#[projector(version = 1)]
impl ByDefault {
    #[event_handler]
    fn rest(&self, _event: RawEvent) {}
}

struct OnlyGiven;

#[projector(version = 1)]
impl OnlyGiven {
    #[event_handler]
    fn rest(&self, _event: RawEvent) {}
}

/// Prepares.
#[on_start(projector = Totals)]
async fn prepare_totals(Dep(sum): Dep<Sum>) {
    sum.fetch_add(7, Ordering::Relaxed);
}

#[cfg(any())]
#[on_start(projector = Totals)]
async fn gone(_: NoSuchType) {}

/// Trap 2: names of the prelude mean something else here.
#[allow(dead_code, non_camel_case_types)]
mod shadowed {
    use super::{Deserialize, Event, Serialize, projector, saga};
    struct Option;
    struct Result;
    struct Some;
    struct Ok;
    struct Err;
    struct Box;
    struct Arc;
    struct String;
    struct Send;
    struct bool;
    struct u32;
    mod std {}
    mod core {}
    mod evento_runtime {}

    #[derive(Event, Serialize, Deserialize)]
    #[event(key = context, alias = "x")]
    struct Happened {
        context: ::std::primitive::u32,
    }

    #[derive(::std::default::Default)]
    pub(super) struct Shadowed;

    #[projector(version = 1)]
    impl Shadowed {
        #[event_handler(retry = 1)]
        async fn on(&self, _event: Happened, _meta: ::evento_runtime::Metadata) {}
    }

    #[derive(::std::default::Default, Serialize, Deserialize)]
    struct State {
        field: ::std::primitive::u32,
    }

    #[derive(::std::default::Default)]
    pub(super) struct Process;

    #[saga(version = 1)]
    impl Process {
        #[saga_event_handler(init, association = context)]
        async fn on(&self, _event: Happened, state: &mut State) {
            state.field += 1;
        }
    }

    // Named as generated code might name its own.
    #[allow(non_upper_case_globals)]
    const context: ::std::primitive::u32 = 1;
}

macro_rules! projectors {
    ($($name:ident: $event:ty, $version:literal, $executor:expr;)*) => {
        $(
            #[derive(Default)]
            struct $name;

            #[projector(version = $version)]
            impl $name {
                #[event_handler(executor = $executor, retry = 2)]
                async fn on(&self, event: $event, meta: Metadata) {
                    let _ = (event, meta);
                }
            }
        )*
    };
}

projectors! {
    First: OrderPlaced, 1, "a";
    Second: OrderPaid, 2, MAIL;
}

macro_rules! own_event {
    ($field:ident) => {
        #[derive(Event, Serialize, Deserialize)]
        #[event(key = $field, crate = $crate::facade)]
        struct Facade {
            $field: u32,
        }
    };
}
own_event!(number);

mod facade {
    pub(crate) use evento_runtime::__private;
}

fn registered() -> impl Iterator<Item = &'static Registered> {
    inventory::iter::<Registered>.into_iter()
}

fn free(component: &'static ComponentDef) -> Vec<&'static FreeHandler> {
    let mut free: Vec<_> = registered()
        .filter_map(|registered| match registered {
            Registered::Handler(free) if free.component.type_id == component.type_id => Some(*free),
            _ => None,
        })
        .collect();
    free.sort_by_key(|free| free.handler.method);
    free
}

fn scope(component: Arc<dyn std::any::Any + Send + Sync>, sum: &Sum) -> Arc<ConsumerScope> {
    let mut deps = Deps::default();
    deps.insert(Arc::clone(sum));
    deps.insert(3_u8);
    let consumer = ConsumerId { bundle: "b".into(), component: "c".into(), version: 1, context: ContextPattern::All };
    Arc::new(ConsumerScope::new(consumer.into(), component, deps, Stop::new(tokio::sync::watch::channel(false).1)))
}

fn context(scope: &Arc<ConsumerScope>, name: &str, payload: &'static str, attempt: u32) -> HandlerContext {
    let event = StoredEvent {
        position: Position::from_u64(1),
        id: EventId::generate(),
        name: name.into(),
        context: "shop".into(),
        key: None,
        version: None,
        recorded_at: Timestamp::from_micros(0),
        content_type: "application/json".into(),
        payload: payload.as_bytes().into(),
        metadata: Default::default(),
    };
    HandlerContext::new(Arc::clone(scope), Arc::new(event), attempt)
}

async fn call(handler: &HandlerDef, context: HandlerContext) -> Result<Flow, String> {
    let result = match handler.invoke {
        Invoke::Async(invoke) => invoke(context).await,
        Invoke::Blocking(invoke) => invoke(context),
    };
    result.map_err(|error| error.to_string())
}

#[test]
fn a_component_says_what_its_attribute_says() {
    let def = View::DEF;
    assert_eq!((def.name, def.version, def.open), ("sums", 7, false));
    assert_eq!(def.wait_for_head, Some(true));
    assert_eq!(def.contexts, ["shop", "tenant-*"]);
    assert_eq!(def.checkpoint, Some(CheckpointMode::Watermark));
    assert_eq!(def.dead_letter, Some(DeadLetterPolicy::Park));
    assert_eq!(def.redrive_transient, Some(Duration::from_secs(300)));
    assert_eq!(def.type_id, std::any::TypeId::of::<View>());
    assert_eq!((def.package, def.module), ("evento-tests", module_path!()));
    assert_eq!(def.docs, "Keeps the sum.\n\n  Indented.");
    assert!(def.location.file.ends_with("main.rs"));
    let line = include_str!("main.rs").lines().position(|line| line == "impl View {").unwrap() + 1;
    assert_eq!(def.location.line as usize, line);

    let totals = Totals::DEF;
    assert_eq!((totals.name, totals.version, totals.open), ("Totals", 1, true));
    assert_eq!((totals.wait_for_head, totals.checkpoint, totals.contexts), (None, None, &[][..]));
    assert_eq!((totals.dead_letter, totals.redrive_transient), (None, None));
    assert!(matches!(totals.build, Build::Unit));
    assert!(totals.handlers.is_empty() && totals.on_start.is_none());
}

/// Trap 1.
#[test]
fn rows_carry_their_settings_and_the_line_of_the_method() {
    let [placed, paid, moved, rest] = View::DEF.handlers else { panic!("{:?}", View::DEF.handlers) };
    assert_eq!(placed.names, Some(("shop.OrderPlaced", &["OrderPlaced", "Placed", "Created"][..])));
    assert!(placed.has_key);
    assert_eq!((placed.method, placed.executor, placed.retry), ("placed", Some("read-model"), Some(3)));
    assert_eq!(placed.retry_delay, Some(Duration::from_millis(500)));
    assert_eq!(placed.max_delay, Some(Duration::from_secs(60)));
    assert_eq!(placed.docs, "Adds.");
    assert!(placed.needs.iter().all(|needs| needs.is_empty()));
    let source: Vec<_> = include_str!("main.rs").lines().collect();
    assert!(source[placed.location.line as usize - 1].contains("async fn placed(&self"));
    assert!(source[paid.location.line as usize - 1].contains("fn paid(&self"));

    assert_eq!((paid.executor, paid.retry, paid.docs), (Some("mail"), Some(-1), ""));
    assert_eq!(paid.needs.concat().len(), 1);
    assert!(matches!(paid.invoke, Invoke::Blocking(_)));
    assert_eq!((moved.method, moved.event_name(), moved.retry), ("move", "type", None));
    assert_eq!(rest.names, None);
}

#[test]
fn free_functions_join_from_any_module() {
    let [numbered, placed] = free(Totals::DEF)[..] else { panic!() };
    assert_eq!((placed.handler.method, placed.handler.docs), ("placed", "Adds as well."));
    assert_eq!(placed.handler.module, concat!(module_path!(), "::elsewhere"));
    assert_eq!((numbered.handler.method, numbered.handler.event_name()), ("numbered", "Numbered"));
}

#[tokio::test]
async fn a_free_hook_joins_too() {
    let hooks: Vec<_> = registered()
        .filter_map(|registered| match registered {
            Registered::Hook(free) if free.component.type_id == Totals::DEF.type_id => Some(free.hook),
            _ => None,
        })
        .collect();
    let [hook] = hooks[..] else { panic!("{} hooks", hooks.len()) };
    assert_eq!((hook.method, hook.needs.concat().len()), ("prepare_totals", 1));
    let sum = Sum::default();
    (hook.invoke)(scope(Arc::new(()), &sum)).await.unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 7);
}

#[test]
fn a_value_comes_from_default_or_is_given() {
    let Build::With { needs: [], build } = ByDefault::DEF.build else { panic!() };
    assert!(build(&Deps::default()).unwrap().is::<ByDefault>());
    assert!(matches!(OnlyGiven::DEF.build, Build::Given));
}

#[test]
fn everything_is_registered_once() {
    let mut names: Vec<_> = registered()
        .filter_map(|registered| match registered {
            Registered::Component(def) if def.module.starts_with(module_path!()) => Some((def.name, def.version)),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ("Again", 1),
            ("ByDefault", 1),
            ("Exact", 1),
            ("ExactMails", 1),
            ("ExactSteps", 1),
            ("First", 1),
            ("Letters", 1),
            ("OnlyGiven", 1),
            ("Open", 1),
            ("Process", 1),
            ("Receipts", 2),
            ("Second", 2),
            ("Shadowed", 1),
            ("Totals", 1),
            ("fulfil", 3),
            ("sums", 7),
        ]
    );
    assert_eq!(Second::DEF.handlers[0].executor, Some("mail"));
    assert_eq!(shadowed::Shadowed::DEF.handlers[0].retry, Some(1));
}

#[test]
fn events_know_name_context_and_key() {
    assert_eq!((OrderPlaced::NAME, OrderPlaced::CONTEXT), ("shop.OrderPlaced", "shop"));
    let event = OrderPlaced { order_id: "o-1".to_owned(), cents: 5 };
    assert_eq!(event.key().as_deref(), Some("o-1"));
    assert_eq!((OrderPaid::NAME, OrderPaid::CONTEXT, OrderPaid {}.key()), ("OrderPaid", "default", None));
    assert_eq!(Numbered(12).key().as_deref(), Some("12"));
    assert_eq!(r#type::NAME, "type");
    assert_eq!(Facade { number: 3 }.key().as_deref(), Some("3"));
    assert_eq!((<Numbered as EventArgument>::HAS_KEY, <OrderPaid as EventArgument>::HAS_KEY), (true, false));
}

#[tokio::test]
async fn shims_decode_extract_call_and_convert() {
    let sum = Sum::default();
    let made = scope(Arc::new(()), &sum);
    let Build::With { needs, build } = View::DEF.build else { panic!() };
    assert_eq!(needs.len(), 1);
    let view = build(&made.deps).unwrap();
    let scope = scope(view, &sum);
    let [placed, paid, _, rest] = View::DEF.handlers else { panic!() };

    let order = r#"{"order_id":"o-1","cents":5}"#;
    assert_eq!(call(placed, context(&scope, "OrderPlaced", order, 1)).await, Ok(Flow::Continue));
    assert_eq!(sum.load(Ordering::Relaxed), 5);
    assert_eq!(call(placed, context(&scope, "OrderPlaced", order, 2)).await, Err("second".to_owned()));
    let undecodable = call(placed, context(&scope, "OrderPlaced", "{}", 1)).await.unwrap_err();
    assert!(undecodable.contains("cannot be decoded"), "{undecodable}");
    assert_eq!(call(paid, context(&scope, "OrderPaid", "{}", 1)).await, Ok(Flow::DeadLetter("3".to_owned())));
    assert_eq!(call(rest, context(&scope, "unknown", "?", 1)).await, Ok(Flow::Skip));

    let hook = View::DEF.on_start.unwrap();
    assert_eq!((hook.method, hook.needs.concat().len()), ("prepare", 1));
    (hook.invoke)(Arc::clone(&scope)).await.unwrap();
    assert_eq!(View { sum }.helper(), 1_005);
}

#[tokio::test]
async fn free_shims_need_no_component() {
    let sum = Sum::default();
    let scope = scope(Arc::new(()), &sum);
    let [numbered, placed] = free(Totals::DEF)[..] else { panic!() };
    let order = r#"{"order_id":"o-1","cents":5}"#;
    assert_eq!(call(&placed.handler, context(&scope, "OrderPlaced", order, 1)).await, Ok(Flow::Continue));
    assert_eq!(sum.load(Ordering::Relaxed), 5);
    assert_eq!(call(&numbered.handler, context(&scope, "Numbered", "0", 1)).await, Err("zero".to_owned()));
    assert_eq!(call(&numbered.handler, context(&scope, "Numbered", "1", 1)).await, Ok(Flow::Continue));
}

mod linking {
    evento_runtime::link!(serde = "serde", evento_runtime);
}

#[test]
fn link_notes_the_names_of_crates() {
    let mut linked: Vec<_> = registered()
        .filter_map(|registered| match registered {
            Registered::Linked { crate_name, package, location, module } => {
                assert!(location.file.ends_with("main.rs"));
                Some((*crate_name, *package, *module))
            }
            _ => None,
        })
        .collect();
    linked.sort_unstable();
    let module = concat!(module_path!(), "::linking");
    assert_eq!(linked, [("evento_runtime", None, module), ("serde", Some("serde"), module)]);
    assert_eq!(evento_runtime::__private::crate_name("r#gen"), "gen");
}
