//! The components of the tests, written by hand as the macros would write them, with places of their own.

use std::any::{Any, TypeId};
use std::sync::Arc;

use evento_runtime::__private::inventory;
use evento_runtime::component::{
    Build, Component, ComponentDef, FreeHandler, FreeHook, HandlerDef, HookDef, Invoke, KeyDef, Kind, Location,
    Registered, SagaHandlerDef,
};
use evento_runtime::context::{FromContext, MissingDependency};
use evento_runtime::deps::{Deps, Need};
use evento_runtime::{Associations, CheckpointMode, Event, Flow, Outbox, RawEvent, StartFrom};
use serde::{Deserialize, Serialize};

use crate::fake::Writer;

macro_rules! events {
    ($($name:ident $key:literal $aliases:expr),* $(,)?) => {$(
        #[derive(Serialize, Deserialize)]
        pub(crate) struct $name;
        impl Event for $name {
            const NAME: &'static str = stringify!($name);
            const HAS_KEY: bool = $key;
            const ALIASES: &'static [&'static str] = $aliases;
        }
    )*};
}
events! { Placed true &[], Paid false &[], Renamed true &["Placed"] }

#[derive(Clone)]
pub(crate) struct Smtp;

pub(crate) const fn at(file: &'static str, line: u32) -> Location {
    Location { file, line }
}

pub(crate) const NOOP: Invoke = Invoke::Blocking(|_| Ok(Flow::Continue));

pub(crate) const fn on<E: Event>(method: &'static str, file: &'static str, line: u32) -> HandlerDef {
    HandlerDef::new::<E>(method, at(file, line), NOOP).origin("shop", "shop")
}

fn make<T: Default + Send + Sync + 'static>(_: &Deps) -> Result<Arc<dyn Any + Send + Sync>, MissingDependency> {
    Ok(Arc::new(T::default()))
}

pub(crate) const fn def<T: Default + Send + Sync + 'static>(
    name: &'static str,
    file: &'static str,
    line: u32,
    handlers: &'static [HandlerDef],
) -> ComponentDef {
    ComponentDef {
        kind: Kind::Projector,
        name,
        version: 1,
        type_id: TypeId::of::<T>(),
        type_name: std::any::type_name::<T>,
        start: None,
        wait_for_head: None,
        contexts: &[],
        checkpoint: None,
        dead_letter: None,
        redrive_transient: None,
        build: Build::With { needs: &[], build: make::<T> },
        on_start: None,
        on_reset: None,
        handlers,
        open: false,
        docs: "",
        location: at(file, line),
        package: "shop",
        module: "shop",
    }
}

macro_rules! component {
    ($(#[doc = $doc:literal])? $type:ident, $name:literal, $file:literal, $line:literal, [$($handler:expr),*] $(, $field:ident: $value:expr)*) => {
        #[derive(Default)]
        pub(crate) struct $type;
        impl Component for $type {
            const DEF: &'static ComponentDef = &ComponentDef {
                $($field: $value,)*
                ..def::<$type>($name, $file, $line, &[$($handler),*])
            };
        }
    };
}
pub(crate) use component;

// Sound ones.
component!(Sequential, "Sequential", "src/sequential.rs", 5, [on::<Placed>("placed", "src/sequential.rs", 9)]);
component!(OrderView, "OrderView", "src/order_view.rs", 12, [
    on::<Placed>("placed", "src/order_view.rs", 21).executor("read-model").retry(3).docs("A new row.\nDetails."),
    on::<Paid>("paid", "src/order_view.rs", 30).retry(0)
], docs: " Read model: one row per order.", checkpoint: Some(CheckpointMode::Watermark));
component!(Waiting, "Waiting", "src/waiting.rs", 2, [on::<Placed>("placed", "src/waiting.rs", 4)], wait_for_head: Some(true));

// Unsound or remarkable ones.
const BY_CUSTOMER: KeyDef = KeyDef { field: "customer", value: |_| Ok(None) };
component!(
    Keyed,
    "Keyed",
    "src/keyed.rs",
    3,
    [
        on::<Placed>("placed", "src/keyed.rs", 10).executor("read-model").key(BY_CUSTOMER),
        on::<Paid>("paid", "src/keyed.rs", 20).key(BY_CUSTOMER)
    ]
);
component!(OldName, "OrderView", "src/old.rs", 4, [on::<Placed>("placed", "src/old.rs", 8)], package: "archive");
component!(
    Greedy,
    "Greedy",
    "src/greedy.rs",
    3,
    [
        on::<Placed>("placed", "src/greedy.rs", 10),
        on::<Renamed>("renamed", "src/greedy.rs", 20),
        HandlerDef::new::<RawEvent>("rest", at("src/greedy.rs", 30), NOOP),
        HandlerDef::new::<RawEvent>("others", at("src/greedy.rs", 40), NOOP)
    ]
);
component!(Empty, "Empty", "src/empty.rs", 3, []);
component!(EmptyOpen, "EmptyOpen", "src/empty.rs", 9, [], open: true, build: Build::Unit);
component!(Misnamed, "Order View", "src/misnamed.rs", 3, [on::<Placed>("placed", "src/misnamed.rs", 8)]);
component!(
    Impatient,
    "Impatient",
    "src/impatient.rs",
    3,
    [
        on::<Placed>("placed", "src/impatient.rs", 8).retry(-2),
        on::<Paid>("paid", "src/impatient.rs", 12).retry_delay(60_000_000)
    ]
);
component!(Tenants, "Tenants", "src/tenants.rs", 3, [on::<Placed>("placed", "src/tenants.rs", 8)],
    contexts: &["tenant-*", "tenant-1", "a*b"]);
component!(Receipts, "Receipts", "src/receipts.rs", 6, [
    on::<Placed>("placed", "src/receipts.rs", 12).needs(&[&[], &[Need::of::<Smtp>()], &[Need::of::<Writer>()]]),
    on::<Paid>("paid", "src/receipts.rs", 20).executor("mial")
], build: Build::With { needs: &const { [Need::of::<String>()] }, build: make::<Receipts> },
   on_start: Some(HookDef {
       method: "prepare",
       needs: &const { [&const { [Need::of::<u8>()] } as &'static [Need]] },
       invoke: |_| Box::pin(async { Ok(()) }),
       location: at("src/receipts.rs", 8),
       package: "shop",
       module: "shop",
   }));
component!(
    ForEver,
    "ForEver",
    "src/for_ever.rs",
    3,
    [on::<Placed>("placed", "src/for_ever.rs", 8).executor("read-model").retry(-1)]
);
component!(Mailing, "Mailing", "src/mailing.rs", 3, [on::<Placed>("placed", "src/mailing.rs", 8).executor("mail")]);
component!(
    Parallel,
    "Parallel",
    "src/parallel.rs",
    3,
    [
        on::<Placed>("placed", "src/parallel.rs", 8).executor("read-model").retry(1),
        on::<Paid>("paid", "src/parallel.rs", 14).executor("read-model")
    ]
);
component!(OnStartAttribute, "OnStartAttribute", "src/attribute.rs", 3, [
    on::<Placed>("placed", "src/attribute.rs", 8).executor("read-model").retry(1)
], checkpoint: Some(CheckpointMode::OnStart));

// Only this module is ever discovered, and only by its own name.
component!(Found, "Found", "src/found.rs", 3, [on::<Placed>("placed", "src/found.rs", 8)], module: "shop::found");
component!(Joined, "Joined", "src/joined.rs", 3, [], module: "shop::found", open: true, build: Build::Unit);
static JOINING: FreeHandler =
    FreeHandler { component: Joined::DEF, handler: on::<Paid>("paid", "src/elsewhere.rs", 8) };
inventory::submit! { Registered::Component(Found::DEF) }
inventory::submit! { Registered::Component(Joined::DEF) }
inventory::submit! { Registered::Handler(&JOINING) }

component!(OnlyGiven, "OnlyGiven", "src/given.rs", 3, [on::<Placed>("placed", "src/given.rs", 8)], build: Build::Given);
// One source, compiled twice.
component!(Once, "Once", "src/once.rs", 3, [on::<Placed>("placed", "src/once.rs", 8)]);
component!(Again, "Once", "src/once.rs", 3, [on::<Placed>("placed", "src/once.rs", 8)]);

const fn hook(file: &'static str, line: u32) -> HookDef {
    HookDef::new("prepare", at(file, line), |_| Box::pin(async { Ok(()) })).origin("shop", "shop")
}
component!(Hooked, "Hooked", "src/hooked.rs", 3, [on::<Placed>("placed", "src/hooked.rs", 8)],
    open: true, build: Build::Unit, on_start: Some(hook("src/hooked.rs", 5)));
static SECOND: FreeHook = FreeHook { component: Hooked::DEF, hook: hook("src/elsewhere.rs", 5) };
inventory::submit! { Registered::Hook(&SECOND) }

// Its constructor asks for more than it lists.
component!(Liar, "Liar", "src/liar.rs", 3, [on::<Placed>("placed", "src/liar.rs", 8)],
    build: Build::With { needs: &[], build: |_| Err(MissingDependency("u64")) });

// Sagas and observers.
const fn found_by(property: &'static str, init: bool) -> SagaHandlerDef {
    SagaHandlerDef { init, property, value: |_| Ok(None) }
}
pub(crate) struct Fulfilment;
pub(crate) struct OtherState;
component!(Fulfil, "Fulfil", "src/fulfil.rs", 3, [
    on::<Placed>("placed", "src/fulfil.rs", 8).saga(found_by("order_id", true)).state::<Fulfilment>()
        .needs(&const { [<Associations as FromContext>::NEEDS] }),
    on::<Paid>("paid", "src/fulfil.rs", 14).saga(found_by("payment", false)).state::<Fulfilment>().retry(3)
], kind: Kind::Saga);
component!(Mails, "Mails", "src/mails.rs", 3, [
    on::<Placed>("placed", "src/mails.rs", 8).executor("mail").retry(1)
], kind: Kind::Observer, start: Some(StartFrom::Beginning));
component!(NeverBegun, "NeverBegun", "src/never.rs", 3, [
    on::<Placed>("placed", "src/never.rs", 8).saga(found_by("order_id", false))
], kind: Kind::Saga, open: true, build: Build::Unit);
component!(TwoStates, "TwoStates", "src/two.rs", 3, [
    on::<Placed>("placed", "src/two.rs", 8).saga(found_by("order_id", true)).state::<Fulfilment>(),
    on::<Paid>("paid", "src/two.rs", 14).saga(found_by("order_id", false)).state::<OtherState>()
], kind: Kind::Saga);
component!(
    Emits,
    "Emits",
    "src/emits.rs",
    3,
    [on::<Placed>("placed", "src/emits.rs", 8).needs(&const { [<Outbox as FromContext>::NEEDS] })]
);
component!(
    Strays,
    "Strays",
    "src/strays.rs",
    3,
    [on::<Placed>("placed", "src/strays.rs", 8).needs(&const { [<Associations as FromContext>::NEEDS] })]
);
component!(EmptySaga, "EmptySaga", "src/empty.rs", 20, [], kind: Kind::Saga);
component!(EmptyOpenSaga, "EmptyOpenSaga", "src/empty.rs", 24, [], kind: Kind::Saga, open: true, build: Build::Unit);
component!(EmptyOpenObserver, "EmptyOpenObserver", "src/empty.rs", 28, [],
    kind: Kind::Observer, open: true, build: Build::Unit);

// A projector that goes back, with a hook in its block and another that joined.
component!(GoesBack, "GoesBack", "src/back.rs", 3, [on::<Placed>("placed", "src/back.rs", 8)],
open: true, build: Build::Unit, start: Some(StartFrom::Head), on_reset: Some(HookDef {
    method: "clear",
    needs: &const { [&const { [Need::of::<Smtp>()] } as &'static [Need]] },
    ..hook("src/back.rs", 5)
}));
component!(ClearedTwice, "ClearedTwice", "src/twice.rs", 3, [on::<Placed>("placed", "src/twice.rs", 8)],
    open: true, build: Build::Unit, on_reset: Some(hook("src/twice.rs", 5)));
static CLEARS_TOO: FreeHook = FreeHook { component: ClearedTwice::DEF, hook: hook("src/elsewhere.rs", 9) };
inventory::submit! { Registered::Reset(&CLEARS_TOO) }
