//! Types that are not what they seem.
#![allow(dead_code, unused_imports)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}
#[derive(Event, Serialize, Deserialize)]
struct B {}

mod arguments {
    use super::*;
    trait Repo {}
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn too_generic(&self, _event: A<u32>) {}
//~                                         ^ rustc
        #[event_handler]
        async fn local_first(&self, _tenant: Local<u32>, _event: B) {}
//~                                          ^^^^^^^^^^ the event must come first, before `Local<u32>`
        #[event_handler]
        async fn object(&self, _event: RawEvent, _repo: Dep<dyn Repo + Send + Sync>) {}
//~                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
//~                                                         ^^^^^^^^^^^^^^^^^^^^^^ `object` must take `Dep<Arc<dyn Repo + Send + Sync>>`: a provided value is cloned, and has a size
//~                                                                                 ^ rustc
    }
}

mod one_name_twice {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    struct B {}
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn on(&self, _event: A) {}
        #[event_handler]
        async fn on(&self, _event: B) {}
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
    }
}

mod under_another_name {
    use super::*;
    use evento_runtime::event_handler as handles;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn on(&self, _event: RawEvent) {}
        #[handles]
//~     ^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
        async fn renamed(&self, _event: A) {}
    }
}

mod returned {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn text_error(&self, _event: A) -> Result<(), &'static str> {
            Err("fine")
        }
        #[event_handler]
        async fn option(&self, _event: RawEvent) -> Option<()> {
//~                                                 ^^^^^^^^^^ a handler cannot return `std::option::Option<()>`
            None
        }
    }
}

mod events {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    struct NotSend(#[serde(skip)] std::marker::PhantomData<std::rc::Rc<u32>>);
//~        ^^^^^^^ rustc
//~        ^^^^^^^ rustc
    #[derive(Event, Serialize, Deserialize)]
    struct Where where u32: Copy;
}
