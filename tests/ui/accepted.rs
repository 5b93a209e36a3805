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
