//! What only the compiler's type check can see; our traits say it.
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

struct Plain;

mod arguments {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn text(&self, _event: String) {}
//~                                  ^^^^^^ `String` is not an event
        #[event_handler]
        async fn underived(&self, _event: Plain, _meta: Metadata) {}
//~                                       ^^^^^ `Plain` is not an event
        #[event_handler]
        async fn flag(&self, _event: A, _flag: bool) {}
//~                                            ^^^^ `bool` cannot be extracted from an event
        #[event_handler]
        async fn no_clone(&self, _event: B, Dep(_plain): Dep<Plain>) {}
//~                                                      ^^^^^^^^^^ `Plain` cannot be a provided value
        #[event_handler]
        fn blocking(&self, _event: C, _path: std::path::PathBuf) {}
//~                                          ^^^^^^^^^^^^^^^^^^ `PathBuf` cannot be extracted from an event
        #[event_handler]
        // Trap 18: a type has one public path.
        fn only_meta(&self, _meta: Metadata) {}
//~                                ^^^^^^^^ `evento_runtime::Metadata` is not an event
    }
}

mod returned {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn number(&self, _event: A) -> u32 {
//~                                          ^^^ a handler cannot return `u32`
            5
        }
        #[event_handler]
        fn text(&self, _event: B) -> Result<String, std::io::Error> {
//~                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a handler cannot return `Result<String, std::io::Error>`
            Ok(String::new())
        }
        #[event_handler]
        async fn not_an_error(&self, _event: C) -> Result<(), Plain> {
//~                                                ^^^^^^^^^^^^^^^^^ a handler cannot return `Result<(), Plain>`
            Ok(())
        }
        #[event_handler]
        fn boxed(&self, _event: D) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
//~                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a handler cannot return `Pin<Box<dyn Future<Output = ()> + Send>>`
            Box::pin(async {})
        }
        #[on_start]
        async fn start(&self, _path: std::path::PathBuf) -> bool {
//~                                  ^^^^^^^^^^^^^^^^^^ `PathBuf` cannot be extracted for a hook
//~                                                         ^^^^ a hook cannot return `bool`
            true
        }
    }
}

/// Trap 10.
mod futures {
    use super::*;
    use std::rc::Rc;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn not_send(&self, _event: A) {
//~              ^^^^^^^^ future cannot be sent between threads safely
            let kept = Rc::new(1);
            std::future::ready(()).await;
            drop(kept);
        }
    }
}

/// B109.
mod bodies {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler]
        async fn mistyped(&self, event: A) -> Result<(), std::io::Error> {
            let number: u32 = "five";
//~                           ^^^^^^ rustc
            Ok(())
        }
    }
}

mod components {
    use super::*;
    // Given to the bundle as it is; the launch says so if it is not.
    struct NoDefault;
    #[projector(version = 1)]
    impl NoDefault {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    struct NoClone;
    #[projector(version = 1)]
    impl NoClone {
        #[inject]
        fn new(_plain: Plain) -> Self { Self }
//~                    ^^^^^ `Plain` cannot be a provided value
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct NotSync(std::cell::Cell<u32>);
    #[projector(version = 1)]
    impl NotSync {
//~      ^^^^^^^ rustc
        #[event_handler]
        fn on(&self, _event: A) {}
    }
}

mod joins {
    use super::*;
    #[derive(Default)]
    struct Block;
    #[projector(version = 1)]
    impl Block {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[event_handler(projector = Block)]
//~                             ^^^^^ free functions cannot join `Block` as a projector
    async fn to_a_block(_event: B) {}
    #[event_handler(projector = Plain)]
//~                             ^^^^^ free functions cannot join `Plain` as a projector
    async fn to_none(_event: B) {}
    #[event_handler(projector = Nowhere)]
//~                             ^^^^^^^ rustc
    async fn to_nowhere(_event: B) {}
    #[projector(version = 1)]
    struct Open;
    #[event_handler(projector = Open)]
    async fn text(_event: String) {}
//~                       ^^^^^^ `String` is not an event
    #[on_start(projector = Plain)]
//~                        ^^^^^ free functions cannot join `Plain` as a projector
    async fn hook_of_none() {}
    #[on_start(projector = Open)]
    async fn hook(_path: std::path::PathBuf) -> bool {
//~                      ^^^^^^^^^^^^^^^^^^ `PathBuf` cannot be extracted for a hook
//~                                             ^^^^ a hook cannot return `bool`
        true
    }
    #[event_handler(projector = Open)]
    async fn flag(_event: B, _flag: bool) {}
//~                                 ^^^^ `bool` cannot be extracted from an event
    #[event_handler(projector = Open)]
    fn blocking(_event: D) -> std::collections::HashMap<u32, u32> {
//~                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a handler cannot return `HashMap<u32, u32>`
        std::collections::HashMap::new()
    }
    #[event_handler(projector = Open)]
    async fn returns(_event: C) -> u32 {
//~                                ^^^ a handler cannot return `u32`
        5
    }
}

mod registering {
    use super::*;
    fn used<C: evento_runtime::component::Component>() {}
    fn user() {
        used::<Plain>();
//~            ^^^^^ `Plain` is not a component
    }
}
