//! Habits from elsewhere, and slips nobody plans for.
#![allow(dead_code, unused_imports)]

use evento_runtime::prelude::*;
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
#[derive(Clone)]
struct Db;

mod boxed_by_async_trait {
    use super::*;
    #[derive(Default)]
    struct Above;
    #[async_trait::async_trait]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
    #[projector(version = 1)]
    impl Above {
        #[event_handler]
        async fn on(&self, _event: A) {}
        #[event_handler]
        async fn other(&self, _event: B) -> Result<(), std::io::Error> {
            Ok(())
        }
    }
    #[derive(Default)]
    struct Below;
    #[projector(version = 1)]
    #[async_trait::async_trait]
//~ ^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
    impl Below {
        #[event_handler]
        async fn on(&self, _event: A) {}
//~              ^^ rustc
    }
}

// Nothing tells a macro that a function without `self` stands in a block; the compiler's sentence is the best there is.
mod associated_functions {
    use super::*;
    #[projector(version = 1)]
    struct Totals;
    impl Totals {
        #[event_handler(projector = Totals)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
        async fn joins(_event: A) {}
//~              ^^^^^ rustc
        #[on_start(projector = Totals)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ rustc
        async fn prepare() {}
//~              ^^^^^^^ rustc
    }
}

mod on_the_struct {
    use super::*;
    #[projector(version = 1)]
    #[derive(Default)]
    struct View {
//~             ^ `View` must be a unit struct; for one with data put `#[projector]` on `impl View`
        db: Option<String>,
    }
    impl View {
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
        async fn on(&self, _event: A) {}
    }
}

mod arguments_of_web_frameworks {
    use super::*;
    struct State<T>(T);
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn state(&self, _event: A, _state: State<Db>) {}
//~                                              ^^^^^^^^^ `State<Db>` cannot be extracted from an event
        #[event_handler]
        async fn option(&self, _event: B, _db: Option<Dep<Db>>) {}
//~                                            ^^^^^^^^^^^^^^^ `std::option::Option<evento_runtime::Dep<Db>>` cannot be extracted from an event
        #[event_handler]
        async fn arc(&self, _event: C, _db: std::sync::Arc<Db>) {}
//~                                         ^^^^^^^^^^^^^^^^^^ `Arc<Db>` cannot be extracted from an event
        #[event_handler]
        async fn twice(&self, _event: D, _other: A) {}
//~                                              ^ `A` cannot be extracted from an event
        #[event_handler]
        async fn tuple(&self, (_event, _meta): (RawEvent, Metadata)) {}
//~                                            ^^^^^^^^^^^^^^^^^^^^ `(evento_runtime::RawEvent, evento_runtime::Metadata)` is not an event
    }
}

mod events_in_containers {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn boxed(&self, _event: Box<A>) {}
//~                                   ^^^^^^ `Box<A>` is not an event
        #[event_handler]
        async fn maybe(&self, _event: Option<A>) {}
//~                                   ^^^^^^^^^ `std::option::Option<A>` is not an event
        #[event_handler]
        async fn itself(&self, _event: Self) {}
//~                                    ^^^^ `events_in_containers::View` is not an event
    }
}

mod events_that_are_no_types {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        // The compiler's own sentences will do.
        #[event_handler]
        async fn inferred(&self, _event: _) {}
//~                                      ^ rustc
    }
}

mod generic_events {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    struct Envelope<T> { inner: T }
//~                ^^^ `Envelope` must not be generic: what is recorded under one name has one type
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn on(&self, _event: Envelope<A>) {}
//~                                ^^^^^^^^^^^ `Envelope<A>` is not an event
    }
}

mod by_alias {
    use super::*;
    type Same = A;
    #[derive(Default)]
    struct View;
    type Alias = View;
    // The launch compares the names: this is its affair.
    #[projector(version = 1)]
    impl Alias {
        #[event_handler]
        async fn on(&self, _event: A) {}
        #[event_handler]
        async fn same(&self, _event: Same) {}
    }
}

mod on_impl_methods_of_traits {
    use super::*;
    trait Handles {
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
        async fn on(&self, event: A);
    }
    struct View;
    impl Handles for View {
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `#[event_handler]` on a method must be inside an `impl` block with `#[projector(version = 1)]` or `#[observer(version = 1)]`
        async fn on(&self, _event: A) {}
    }
}

mod option_lists {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1,, name = "x")]
//~                         ^ an option of `#[projector]` must stand before this comma
    impl View {
        #[event_handler("mail")]
//~                     ^^^^^^ an option of `#[event_handler]` must be written `key = value`, such as `executor = "read-model"`
        async fn literal(&self, _event: A) {}
        #[event_handler(mail)]
//~                     ^^^^ `mail` is not an option of `#[event_handler]`
        async fn bare(&self, _event: B) {}
        #[event_handler(A)]
//~                     ^ `A` is not an option of `#[event_handler]`
        async fn event(&self, _event: C) {}
        #[event_handler(executor = "mail"; retry = 3)]
//~                                      ^ options must be separated by commas
        async fn semicolon(&self, _event: D) {}
        #[event_handler(executors = "mail", retries = 3, max_retries = 3, delay = "5s", event = "X")]
//~                     ^^^^^^^^^ `executors` is not an option of `#[event_handler]`; did you mean `executor`?
//~                                         ^^^^^^^ `retries` is not an option of `#[event_handler]`; did you mean `retry`?
//~                                                      ^^^^^^^^^^^ `max_retries` is not an option of `#[event_handler]`
//~                                                                       ^^^^^ `delay` is not an option of `#[event_handler]`; did you mean `retry_delay`?
//~                                                                                     ^^^^^ `event` is not an option of `#[event_handler]`
        async fn plural(&self, _event: RawEvent) {}
    }
    #[derive(Default)]
    struct Text;
    #[projector("text", 1)]
//~ ^^^^^^^^^^^^^^^^^^^^^^^ `#[projector]` must have a version: `#[projector(version = 1)]`
//~             ^^^^^^ an option of `#[projector]` must be written `key = value`, such as `version = 1`
//~                     ^ an option of `#[projector]` must be written `key = value`, such as `version = 1`
    impl Text {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Upper;
    #[projector(version = 1_u32, VERSION = 2, Name = "upper")]
//~                       ^^^^^ `version` must be a whole number from 1: `version = 1`
//~                              ^^^^^^^ `VERSION` is not an option of `#[projector]`; did you mean `version`?
//~                                           ^^^^ `Name` is not an option of `#[projector]`; did you mean `name`?
    impl Upper {
        #[event_handler(retry = 3u8, retry_delay = 'a', max_delay = "1 second")]
//~                             ^^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                ^^^ `retry_delay` must be a string with a number and a unit: `retry_delay = "500ms"`
//~                                                                 ^^^^^^^^^^ `max_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `max_delay = "30s"`
        async fn on(&self, _event: A) {}
        #[event_handler(retry = MANY, retry_delay = "1m30s", max_delay = "")]
//~                             ^^^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                 ^^^^^^^ `retry_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `retry_delay = "500ms"`
//~                                                                      ^^ `max_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `max_delay = "30s"`
        async fn other(&self, _event: B) {}
    }
    const MANY: i32 = 3;
}

mod keys_of_events {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    #[event(key = "0")]
//~               ^^^ `key` must be the name of a field: `key = order_id`
    struct Text(u32);
    #[derive(Event, Serialize, Deserialize)]
    #[event(key = self.id)]
//~               ^^^^^^^ `key` must be the name of a field: `key = order_id`
    struct Member { id: u32 }
    #[derive(Event, Serialize, Deserialize)]
    #[event(key(id))]
//~         ^^^ `key` must have a value: `key = order_id`
    struct List { id: u32 }
    #[derive(Event, Serialize, Deserialize)]
    #[event("Named")]
//~         ^^^^^^^ an option of `#[event]` must be written `key = value`, such as `name = "OrderPlaced"`
    struct Literal {}
    #[derive(Event, Serialize, Deserialize)]
    #[event(key = id)]
//~               ^^ `std::option::Option<u32>` cannot be the key of an event
    struct Maybe { id: Option<u32> }
    #[derive(Event, Serialize, Deserialize)]
    struct OnField { #[event(key)] id: u32 }
//~                  ^^^^^^^^^^^^^ `#[event]` must be on the type: `#[event(key = id)]`
    #[derive(Event, Serialize, Deserialize)]
    enum OnVariant { #[event(name = "x")] One {} }
//~                  ^^^^^^^^^^^^^^^^^^^^ `#[event]` must be on the type: all variants are recorded under its one name
    #[derive(Event, Serialize, Deserialize)]
    #[serde(rename = "renamed")]
    #[event(version = 2)]
//~         ^^^^^^^ `version` is not an option of `#[event]`
    struct Versioned {}
}

mod constructors {
    use super::*;
    struct Pattern;
    #[projector(version = 1)]
    impl Pattern {
        #[inject]
        fn new(Dep(db): Dep<Db>) -> Self { Self }
//~                     ^^^^^^^ `new` must take provided values as they are, without the `Dep` of handlers
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Shared;
    #[projector(version = 1)]
    impl Shared {
        #[inject]
        fn new() -> std::sync::Arc<Self> { std::sync::Arc::new(Self) }
//~                 ^^^^^^^^^^^^^^^^^^^^ `new` must return `Self`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Generic;
    #[projector(version = 1)]
    impl Generic {
        #[inject]
        fn new<T: Into<String>>(_text: T) -> Self { Self }
//~            ^^^^^^^^^^^^^^^ `new` must not have generic types: it is registered once, as a concrete function
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[inject]
//~   ^^^^^^ rustc
    struct OnStruct;
    #[inject]
//~   ^^^^^^ rustc
    fn free() -> Db { Db }
    // Injected, but not made by `new`.
    struct Field { #[inject] db: Db }
//~                  ^^^^^^ rustc
}

mod through_macro_rules {
    use super::*;
    macro_rules! view {
        ($name:ident, $event:ty, $retry:expr, $executor:literal) => {
            #[derive(Default)]
            struct $name;
            #[projector(version = 1)]
            impl $name {
                #[event_handler(retry = $retry, executor = $executor)]
                async fn on(&self, _event: $event) {}
            }
        };
    }
    view!(Right, A, 3, "mail");
    view!(Borrowed, &A, 3, "mail");
//~                 ^^ `on` must take its event by value: `A`
    view!(Negative, A, -2, "mail");
//~                    ^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
    view!(Spaced, A, 3, "e mail");
//~                     ^^^^^^^^ `executor` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
    view!(NoEvent, String, 3, "mail");
//~                ^^^^^^ `String` is not an event
}

mod sync_bodies {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        fn forgot_async(&self, _event: A) {
            std::future::ready(()).await;
//~                                ^^^^^ rustc
        }
        #[event_handler]
        async fn forgot_await(&self, _event: B) -> Result<(), std::io::Error> {
            self.work()
//~         ^^^^^^^^^^^ rustc
        }
        async fn work(&self) -> Result<(), std::io::Error> { Ok(()) }
        #[event_handler]
        async fn returns_nothing(&self, _event: C) -> Result<(), std::io::Error> {}
//~                                                                              ^^ rustc
        #[event_handler]
        async fn question_mark(&self, _event: D) {
            std::fs::read("x")?;
//~                           ^ rustc
        }
    }
}

mod free_functions_that_wait_on_this_thread {
    use super::*;
    #[projector(version = 1)]
    struct Totals;
    #[event_handler(projector = Totals)]
    async fn not_send(_event: A) {
//~          ^^^^^^^^ future cannot be sent between threads safely
        let kept = std::rc::Rc::new(1);
        std::future::ready(()).await;
        drop(kept);
    }
    #[on_start(projector = Totals)]
    async fn not_send_either() {
//~          ^^^^^^^^^^^^^^^ future cannot be sent between threads safely
        let kept = std::rc::Rc::new(1);
        std::future::ready(()).await;
        drop(kept);
    }
    #[event_handler(projector = Totals)]
    const async fn constant(_event: B) {}
//~ ^^^^^ rustc
}

mod visibility_and_modules {
    use super::*;
    mod inner {
        use super::*;
        #[projector(version = 1)]
        struct Hidden;
    }
    #[event_handler(projector = inner::Hidden)]
//~                                    ^^^^^^ rustc
    async fn joins(_event: A) {}
    #[event_handler(projector = Vec<A>)]
//~                             ^^^^^^ `projector` must be the path of a unit struct with `#[projector]`: `projector = OrderTotals`
    async fn joins_a_generic(_event: A) {}
}

mod deriving {
    use super::*;
    #[derive(Projector)]
//~          ^^^^^^^^^ rustc
    struct View;
    #[derive(projector)]
//~          ^^^^^^^^^ rustc
    struct Other;
    #[evento_runtime::Event]
//~   ^^^^^^^^^^^^^^^^^^^^^ rustc
    struct NotDerived;
}
