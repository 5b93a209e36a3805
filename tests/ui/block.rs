//! Block style: the shape of the block and of its methods.
#![allow(dead_code)]

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

mod receivers {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        // Trap 3.
        async fn exclusive(&mut self, _event: A) {}
//~                        ^^^^^^^^^ `exclusive` must take `&self`, not `&mut self`: one value is shared by all events that run at the same time
        #[event_handler]
        async fn by_value(self, _event: B) {}
//~                       ^^^^ `by_value` must take `&self`, not `self`: one value serves all events
        #[event_handler]
        async fn none(_event: C) {}
//~              ^^^^ `none` must take `&self`
        #[event_handler]
        async fn shared(self: std::sync::Arc<Self>, _event: D) {}
//~                     ^^^^^^^^^^^^^^^^^^^^^^^^^^ `shared` must take `&self`
        #[event_handler]
        async fn right(self: &Self, _event: RawEvent) {}
    }
}

mod arguments {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn no_event(&self) {}
//~              ^^^^^^^^ `no_event` must take its event
        #[event_handler]
        async fn borrowed(&self, _event: &A) {}
//~                                      ^^ `borrowed` must take its event by value: `A`
        #[event_handler]
        async fn dep_first(&self, _db: Dep<String>, _event: B) {}
//~                                    ^^^^^^^^^^^ `dep_first` must take its event first, and `Dep<T>` after it
        #[event_handler]
        async fn metadata_first(&self, _meta: Metadata, _event: C) {}
//~                                           ^^^^^^^^ the event must come first, before `Metadata`
        #[event_handler]
        async fn transaction(&self, _event: D, _tx: &mut Connection) {}
//~                                                 ^^^^^^^^^^^^^^^ `transaction` must take `Connection` by value: a handler may ask for `Metadata`, `Attempt`, `Position`, `EventId`, `Outbox`, `Progress`, `Stop`, `Dep<T>` or `Local<T>`
        #[event_handler]
        async fn opaque(&self, _event: RawEvent, _other: impl Send) {}
//~                                                      ^^^^^^^^^ an argument of `opaque` must have a concrete type, not `impl Trait`
        #[event_handler]
        // B113.
        async fn conditional(&self, _event: E, #[cfg(any())] _extra: Metadata) {}
//~                                            ^^^^^^^^^^^^^ an argument of `conditional` must not have `#[cfg]`; put it on the whole function
    }
    struct Connection;
    #[derive(Event, Serialize, Deserialize)]
    struct E {}
}

mod generics_of_methods {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn of_types<T>(&self, _event: A) {}
//~                       ^ `of_types` must not have generic types: it is registered once, as a concrete function
        #[event_handler]
        async fn of_lifetimes<'a>(&'a self, _event: B) {}
//~                           ^^ `of_lifetimes` must not have lifetimes of its own: it is registered once, as a concrete function
//~                               ^^^^^^^^ `of_lifetimes` must take `&self` without a lifetime
        #[event_handler]
        async fn of_consts<const N: usize>(&self, _event: C) {}
//~                        ^^^^^^^^^^^^^^ `of_consts` must not have const generics: it is registered once, as a concrete function
        #[event_handler]
        async fn clause(&self, _event: D) where String: Clone {}
//~                                       ^^^^^^^^^^^^^^^^^^^ `clause` must not have a `where` clause: it is registered as it is
        #[event_handler]
        async unsafe fn dangerous(&self, _event: RawEvent) {}
//~           ^^^^^^ `dangerous` must not be `unsafe`
        #[event_handler]
        extern "C" fn foreign(&self, _event: super::E) {}
//~     ^^^^^^^^^^ `foreign` must not be `extern`
    }
}
#[derive(Event, Serialize, Deserialize)]
struct E {}

mod returned {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        fn future(&self, _event: A) -> impl Future<Output = ()> + use<> {
//~                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `future` must be an `async fn` instead of returning a future
            async {}
        }
        #[event_handler]
        async fn opaque(&self, _event: B) -> impl Sized {}
//~                                          ^^^^^^^^^^ `opaque` must return `()`, `Flow` or a `Result` of either, not `impl Trait`
    }
}

mod one_event_twice {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn first(&self, _event: A) {}
        #[event_handler]
        async fn second(&self, _event: A) {}
//~                                    ^ `A` must have one handler; `first` takes it already
        #[cfg(any())]
        #[event_handler]
        async fn one_way(&self, _event: B) {}
        #[cfg(not(any()))]
        #[event_handler]
        async fn or_the_other(&self, _event: B) {}
    }
}

mod constructors {
    use super::*;
    struct Two;
    #[projector(version = 1)]
    impl Two {
        #[inject]
        fn new() -> Self { Self }
        #[inject]
        fn other() -> Two { Self }
//~        ^^^^^ `#[inject]` must be on one method; it is on `new` already
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct WithSelf;
    #[projector(version = 1)]
    impl WithSelf {
        #[inject]
        fn new(&self) -> Self { Self }
//~            ^^^^^ `new` must not take `self`: it makes the value
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Fallible;
    #[projector(version = 1)]
    impl Fallible {
        #[inject]
        fn new() -> Result<Self, std::io::Error> { Ok(Self) }
//~                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ `new` must return `Self`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Nothing;
    #[projector(version = 1)]
    impl Nothing {
        #[inject]
        fn new() {}
//~        ^^^ `new` must return `Self`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Connecting;
    #[projector(version = 1)]
    impl Connecting {
        #[inject(default)]
//~     ^^^^^^^^^^^^^^^^^^ `#[inject]` must stand without options
        async fn new() -> Self { Self }
//~     ^^^^^ `new` must not be `async`; connect first and `.provide(..)` what it needs
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Borrowing;
    #[projector(version = 1)]
    impl Borrowing {
        #[inject]
        fn new(_name: &str, _right: &'static str) -> Self { Self }
//~                   ^^^^ `new` must take provided values by value: `str`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

mod hooks {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[on_start]
        async fn first(&self) {}
        #[on_start]
        async fn second(&self) {}
//~              ^^^^^^ `#[on_start]` must be on one method; it is on `first` already
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Blocking;
    #[projector(version = 1)]
    impl Blocking {
        #[on_start]
        fn prepare(&self) {}
//~     ^^ `prepare` must be an `async fn`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct NoSelf;
    #[projector(version = 1)]
    impl NoSelf {
        #[on_start]
        async fn prepare(_db: &Dep<String>) {}
//~              ^^^^^^^ `prepare` must take `&self`
//~                           ^^^^^^^^^^^^ `prepare` must take `Dep<String>` by value: the hook may ask for `Dep<T>`, `ContextPattern` or `ConsumerId`
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

mod attributes_that_exclude_each_other {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[inject]
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `on` must not have both `#[inject]` and `#[event_handler]`
        async fn on(&self, _event: A) {}
        #[event_handler]
        #[event_handler(retry = 3)]
//~     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ `#[event_handler]` must be given only once
        async fn other(&self, _event: B) {}
        #[event_handler]
//~     ^^^^^^^^^^^^^^^^ `#[event_handler]` must be on a method
        const NUMBER: u32 = 1;
    }
}

/// Trap 9, B119.
mod headers {
    use super::*;
    struct Generic<T>(T);
    #[projector(version = 1)]
    impl<T> Generic<T> {
//~      ^ `Generic<T>` must not be generic: it is registered once, as a concrete type; wrap the one you mean in a struct
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Borrowing<'a>(&'a str);
    #[projector(version = 1)]
    impl<'a> Borrowing<'a> {
//~      ^^ `Borrowing<'a>` must not be generic: it is registered once, as a concrete type; wrap the one you mean in a struct
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Elided<'a>(&'a str);
    #[projector(version = 1)]
    impl Elided<'_> {
//~             ^^ `Elided<'_>` must not be generic: it is registered once, as a concrete type; wrap the one you mean in a struct
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct Sized2<const N: usize>;
    #[projector(version = 1)]
    impl<const N: usize> Sized2<N> {
//~      ^^^^^^^^^^^^^^ `Sized2<N>` must not be generic: it is registered once, as a concrete type; wrap the one you mean in a struct
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Clause;
    #[projector(version = 1)]
    impl Clause where String: Clone {
//~             ^^^^^^^^^^^^^^^^^^^ `Clause` must not have a `where` clause: it is registered as it is
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    trait Handler {
        fn on(&self, event: A);
    }
    struct OfTrait;
    #[projector(version = 1)]
    impl Handler for OfTrait {
//~      ^^^^^^^ `#[projector]` must be on an inherent block: `impl OfTrait { .. }`
        #[event_handler]
        fn on(&self, _event: A) {}
    }
    #[projector(version = 1)]
    impl dyn Handler {
//~      ^^^^^^^^^^^ `#[projector]` must be on the block of a struct or enum
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Empty;
    #[projector(version = 1)]
    impl Empty {
//~      ^^^^^ `Empty` must have a method with `#[event_handler]` in this block
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Übersicht;
    #[projector(version = 1)]
    impl Übersicht {
//~      ^^^^^^^^^ `Übersicht` must be given a `name = ".."` of 1 to 100 characters out of A-Z a-z 0-9 . _ -
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

/// Trap 8.
mod nothing_cascades {
    use super::*;
    use evento_runtime::component::Component;
    #[derive(Default)]
    struct View;
    #[projector(versoin = 1)]
//~             ^^^^^^^ `versoin` is not an option of `#[projector]`; did you mean `version`?
    impl View {
        #[event_handler]
        async fn on(&self, _event: A) {}
        fn helper(&self) {}
    }
    fn used<C: Component>() {}
    fn user() {
        used::<View>();
        View.helper();
        let _ = View.on(A {});
    }
}
