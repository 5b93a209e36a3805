//! What looks odd and is right: nothing is said about any of it.
#![deny(warnings)]
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {
    cents: u32,
}
/// With "quotes", `ticks`, a \ and an { open } brace; "#, r#".
#[derive(Event, Serialize, Deserialize)]
struct B {}
#[derive(Event, Serialize, Deserialize)]
#[event(key = 0)]
struct Tuple(u32, String);
#[derive(Event, Serialize, Deserialize)]
enum Choice {
    One { id: u32 },
    Two(u32),
    Three,
}
#[derive(Event, Serialize, Deserialize)]
#[allow(non_camel_case_types)]
struct r#fn {
    r#type: u32,
}
#[derive(Clone)]
struct Db;

mod names {
    pub(crate) mod executors {
        pub(crate) const MAIL: &str = "mail";
        pub(crate) struct Of;
        impl Of {
            pub(crate) const MODEL: &'static str = "read-model";
        }
    }
}

/// Docs with "quotes", a \ and {}.
#[derive(Default)]
pub struct View;

/// Docs with "quotes", a \ and {}.
#[projector(version = 1, name = "view",)]
#[allow(clippy::needless_pass_by_value)]
impl View {
    const LIMIT: u32 = 3;

    /// B112, and docs with "quotes", a \ and {}; ends in a backslash \
    #[event_handler(executor = names::executors::MAIL, retry = 3,)]
    async fn changed(&self, mut event: A) {
        event.cents += Self::LIMIT;
        drop(event);
    }
    #[doc = "By hand."]
    #[doc = include_str!("accepted.txt")]
    #[event_handler(executor = names::executors::Of::MODEL)]
    async fn taken_apart(&self, B {}: B, _: Metadata, Dep(_db): Dep<Db>) {}
    #[event_handler()]
    async fn tuple(&self, Tuple(_id, _name): Tuple) {}
    #[event_handler]
    pub(in crate) async fn unnamed(&self, _: Choice) {}
    #[event_handler]
    async fn r#match(&self, event: r#fn) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if event.r#type == 0 { Err("zero".into()) } else { Ok(()) }
    }
    #[evento_runtime::event_handler]
    fn größe(&self, _event: RawEvent) -> Result<Flow, String> {
        Ok(Flow::Continue)
    }
}

mod nested {
    pub(super) mod deeper {
        use crate::{A, Db};
        use evento_runtime::{Dep, projector};
        pub struct Deep(#[allow(dead_code)] Db);
        #[projector(version = 1)]
        impl self::Deep {
            #[inject]
            fn make(db: Db) -> Deep {
                Deep(db)
            }
            #[on_start]
            async fn prepare(&self, Dep(_): Dep<Db>) {}
            #[event_handler]
            async fn on(self: &Self, _event: A) {}
        }
    }
}

/// B118: two components in one module whose methods are called alike, one of them in another block of plain methods.
#[derive(Default)]
pub struct Second;
#[projector(version = 1)]
impl Second {
    #[event_handler]
    async fn changed(&self, _event: A) {}
}
impl Second {
    fn helper(&self) {}
}

/// B114: attributes of others, above and below ours.
mod traced {
    use super::{A, B, Db};
    use evento_runtime::prelude::*;
    #[derive(Default)]
    struct Traced;
    #[projector(version = 1)]
    impl Traced {
        #[tracing::instrument(skip_all)]
        #[event_handler(retry = 1)]
        async fn above(&self, _event: A, _meta: Metadata) -> Result<(), std::io::Error> {
            std::future::ready(()).await;
            Ok(())
        }
        #[event_handler]
        #[tracing::instrument(skip_all, err)]
        async fn below(&self, _event: B, Dep(_db): Dep<Db>) -> Result<(), std::io::Error> {
            std::future::ready(()).await;
            Ok(())
        }
    }
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(projector = Totals)]
    #[tracing::instrument(skip_all)]
    async fn free_below(_event: A) {}
    #[tracing::instrument(skip_all)]
    #[event_handler(projector = Totals)]
    async fn free_above(_event: B, Dep(_db): Dep<Db>) {}
    #[tracing::instrument]
    #[on_start(projector = Totals)]
    async fn prepare() {}
}

/// In a function body nothing but the launch sees it.
pub fn in_a_body() {
    #[derive(Default)]
    struct Local;
    #[projector(version = 1)]
    impl Local {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

/// By a `type` of its own.
pub type Alias = Third;
#[derive(Default)]
pub struct Third;
#[projector(version = 1)]
impl Alias {
    #[event_handler]
    async fn on(&self, _event: A) {}
}

/// A concrete one of a generic type.
pub struct Generic<T>(T);
impl Default for Generic<u32> {
    fn default() -> Self {
        Self(1)
    }
}
#[projector(version = 1, name = "generic-u32")]
impl Generic<u32> {
    #[event_handler]
    async fn on(&self, _event: A) {}
}

/// Sagas: every form of what an instance is found by, and of what a handler may take and return.
mod sagas {
    use super::{Db, Tuple};
    use evento_runtime::prelude::*;
    use serde::{Deserialize, Serialize};
    #[derive(Event, Serialize, Deserialize)]
    struct Placed {
        r#type: Kind,
        order: Order,
        note: Option<Box<str>>,
    }
    #[derive(Event, Serialize, Deserialize)]
    struct Paid {
        payment: Option<u64>,
    }
    #[derive(Event, Serialize, Deserialize)]
    struct Cancelled {
        value: u32,
    }
    #[derive(Serialize, Deserialize)]
    struct Order {
        id: (u32, String),
    }
    #[derive(Serialize, Deserialize)]
    struct Kind;
    impl std::fmt::Display for Kind {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("kind")
        }
    }
    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct Fulfilment {
        steps: Vec<u32>,
    }
    struct Fulfil {
        db: Db,
    }
    /// With everything.
    #[saga(version = 1, name = "fulfil", contexts = "shop", start = "beginning", wait_for_head = true,)]
    impl Fulfil {
        #[inject]
        fn new(db: Db) -> Self {
            Self { db }
        }
        #[on_start]
        async fn prepare(&self) {}
        #[saga_event_handler(init, association = r#type)]
        async fn placed(&self, Placed { order, .. }: Placed, state: &mut Fulfilment) -> Result<Flow, std::io::Error> {
            state.steps.push(order.id.0);
            std::future::ready(()).await;
            Ok(Flow::Complete)
        }
        #[saga_event_handler(init = false, association = payment, property = "type", retry = 3, retry_delay = "1s", max_delay = "1m")]
        #[tracing::instrument(skip_all)]
        async fn paid(
            &self,
            _: Paid,
            _state: &mut self::Fulfilment,
            _progress: Progress,
            associations: Associations,
            Dep(_db): Dep<Db>,
        ) -> Result<(), BoxError> {
            associations.add("payment", "p-1")?;
            Ok(())
        }
        #[evento_runtime::saga_event_handler(association = 1, property = "an \"odd\" one")]
        fn plain(self: &Self, _: Tuple, Fulfilment { steps }: &mut Fulfilment) -> Flow {
            steps.clear();
            Flow::Continue
        }
    }
    #[saga(version = 1)]
    struct Open;
    #[saga_event_handler(saga = Open, init = true, association = order.id.1, property = "order_id")]
    async fn placed(_event: Placed, _state: &mut Fulfilment) {}
    #[saga_event_handler(saga = self::Open, association = note)]
    fn note(_event: Renamed, _state: &mut Fulfilment) {}
    #[on_start(saga = Open)]
    async fn prepare() {}
    #[derive(Event, Serialize, Deserialize)]
    struct Renamed {
        note: Option<Box<str>>,
    }
    macro_rules! sagas {
        ($($name:ident: $event:ty, $state:ty, $field:ident, $property:expr;)*) => {$(
            #[derive(Default)]
            struct $name;
            #[saga(version = 1)]
            impl $name {
                #[saga_event_handler(init, association = $field, property = $property)]
                async fn on(&self, event: $event, state: &mut $state) {
                    let _ = (event, state);
                }
            }
        )*};
    }
    sagas! {
        First: Cancelled, Fulfilment, value, "value";
        Second: Paid, Fulfilment, payment, "order_id";
    }
}

/// Observers, and projectors that go back.
mod observers {
    use super::{A, B, Db};
    use evento_runtime::prelude::*;
    #[derive(Default)]
    struct Receipts;
    #[observer(version = 1, start = "head")]
    impl Receipts {
        #[on_start]
        async fn prepare(&self, Dep(_db): Dep<Db>) {}
        #[event_handler(executor = "mail", retry = 5)]
        async fn sent(&self, _event: A, _id: EventId) -> Result<(), std::io::Error> {
            std::future::ready(()).await;
            Ok(())
        }
        #[event_handler]
        fn rest(&self, _event: RawEvent) {}
    }
    #[observer(version = 1)]
    struct Open;
    #[event_handler(observer = Open, executor = "mail")]
    async fn sent(_event: A) {}
    #[on_start(observer = Open)]
    async fn prepare(_db: Dep<Db>) {}
    #[derive(Default)]
    struct View;
    #[projector(version = 1, start = "head")]
    impl View {
        #[on_reset]
        async fn clear(&self, Dep(_db): Dep<Db>) -> Result<(), std::io::Error> {
            std::future::ready(()).await;
            Ok(())
        }
        #[event_handler]
        async fn on(&self, _event: B) {}
    }
    #[projector(version = 1)]
    struct Totals;
    #[on_reset(projector = Totals)]
    async fn clear_totals() {}
    #[event_handler(projector = Totals)]
    async fn totals(_event: B) {}
}
