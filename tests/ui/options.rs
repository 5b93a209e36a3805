//! Options: unknown, twice, of the wrong type, out of range.
#![allow(dead_code)]

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
struct A {}

#[derive(Event, Serialize, Deserialize)]
struct B {}

const READ_MODEL: &str = "read-model";
const NUMBER: u32 = 1;


mod version_is_missing {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector]
//~ ^^^^^^^^^^^^ `#[projector]` must have a version: `#[projector(version = 1)]`
    impl View {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Other;
    #[projector()]
//~ ^^^^^^^^^^^^^^ `#[projector]` must have a version: `#[projector(version = 1)]`
    impl Other {
        #[event_handler]
        async fn on(&self, _event: A) {}
    }
}

mod unknown_keys {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(versoin = 1, nmae = "x", batch = 3)]
//~             ^^^^^^^ `versoin` is not an option of `#[projector]`; did you mean `version`?
//~                          ^^^^ `nmae` is not an option of `#[projector]`; did you mean `name`?
//~                                      ^^^^^ `batch` is not an option of `#[projector]`
    impl View {
        #[event_handler(exector = "mail", patience = "5s", retyr = 1)]
//~                     ^^^^^^^ `exector` is not an option of `#[event_handler]`; did you mean `executor`?
//~                                       ^^^^^^^^ `patience` is not an option of `#[event_handler]`
//~                                                        ^^^^^ `retyr` is not an option of `#[event_handler]`; did you mean `retry`?
        async fn on(&self, _event: A) {}
    }
}

mod what_becomes_of_dead_letters {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1, dead_letter = "parked", redrive_transient = "5")]
//~                                        ^^^^^^^^ `dead_letter` must be "skip" or "park"; did you mean `park`?
//~                                                                      ^^^ `redrive_transient` must have one of the units `us`, `ms`, `s`, `m` or `h`: `redrive_transient = "5m"`
    impl View {
        #[event_handler(dead_letter = "park")]
//~                     ^^^^^^^^^^^ `dead_letter` is not an option of `#[event_handler]`
        async fn on(&self, _event: A) {}
    }
}

mod seven_mistakes_are_told_by_one_build {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 0, checkpoint = "watermerk")]
//~                       ^ `version` must be a whole number from 1: `version = 1`
//~                                       ^^^^^^^^^^^ `checkpoint` must be "on-start" or "watermark"; did you mean `watermark`?
    impl View {
        #[event_handler(exector = "mail", retry = -2)]
//~                     ^^^^^^^ `exector` is not an option of `#[event_handler]`; did you mean `executor`?
//~                                               ^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
        async fn on(&mut self, _event: A) {}
//~                 ^^^^^^^^^ `on` must take `&self`, not `&mut self`: one value is shared by all events that run at the same time
        #[event_handler(retry_delay = "5")]
//~                                   ^^^ `retry_delay` must have one of the units `us`, `ms`, `s`, `m` or `h`: `retry_delay = "500ms"`
        async fn no_event(&self) {}
//~              ^^^^^^^^ `no_event` must take its event
        #[event_handler]
        async fn no_self(_event: B) {}
//~              ^^^^^^^ `no_self` must take `&self`
    }
}

mod twice {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1, name = "a", version = 2)]
//~                                      ^^^^^^^ `version` must be given only once
    impl View {
        #[event_handler(retry = 1, retry = 1)]
//~                                ^^^^^ `retry` must be given only once
        async fn on(&self, _event: A) {}
    }
}

mod wrong_types {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = "1", name = view, wait_for_head = "yes", contexts = shop, checkpoint = watermark, crate = "ev")]
//~                       ^^^ `version` must be a whole number from 1: `version = 1`
//~                                   ^^^^ `name` must be a string: `name = "order-view"`
//~                                                         ^^^^^ `wait_for_head` must be `true` or `false`: `wait_for_head = true`
//~                                                                           ^^^^ `contexts` must be a string or a list of strings: `contexts = ["shop", "tenant-*"]`
//~                                                                                              ^^^^^^^^^ `checkpoint` must be "on-start" or "watermark": `checkpoint = "watermark"`
//~                                                                                                                 ^^^^ `crate` must be the path of `evento_runtime` from the root: `crate = ::evento_runtime`
    impl View {
        #[event_handler(executor = 5, retry = "3", retry_delay = 500, max_delay = 30)]
//~                                ^ `executor` must be a string or the path of a constant: `executor = "read-model"`
//~                                           ^^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                              ^^^ `retry_delay` must be a string with a number and a unit: `retry_delay = "500ms"`
//~                                                                               ^^ `max_delay` must be a string with a number and a unit: `max_delay = "30s"`
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Other;
    #[projector(version = 1.5, name = 5, wait_for_head = 1, contexts = ["a", b, 5], checkpoint = true, crate = ev)]
//~                       ^^^ `version` must be a whole number from 1: `version = 1`
//~                                   ^ `name` must be a string: `name = "order-view"`
//~                                                      ^ `wait_for_head` must be `true` or `false`: `wait_for_head = true`
//~                                                                          ^ an entry of `contexts` must be a string
//~                                                                             ^ an entry of `contexts` must be a string
//~                                                                                              ^^^^ `checkpoint` must be "on-start" or "watermark": `checkpoint = "watermark"`
//~                                                                                                            ^^ `crate` must be a path from the root, such as `::ev` or `crate::ev`
    impl Other {
        #[event_handler(executor = "a".to_string(), retry = true, retry_delay = Duration::from_millis(500))]
//~                                ^^^^^^^^^^^^^^^ `executor` must be a string or the path of a constant: `executor = "read-model"`
//~                                                         ^^^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^ `retry_delay` must be a string with a number and a unit: `retry_delay = "500ms"`
        async fn on(&self, _event: A) {}
    }
    #[derive(Default)]
    struct Third;
    #[projector(version = -1, crate = super::ev)]
//~                       ^^ `version` must be a whole number from 1: `version = 1`
//~                                   ^^^^^^^^^ `crate` must be a path from the root, such as `::ev` or `crate::ev`
    impl Third {
        #[event_handler(executor = NUMBER)]
        async fn on(&self, _event: A) {}
        #[event_handler(executor = READ_MODLE)]
        async fn other(&self, _event: B) {}
    }
}

mod constant_executors {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(executor = NUMBER)]
//~                                ^^^^^^ rustc
        async fn on(&self, _event: A) {}
        #[event_handler(executor = READ_MODLE)]
//~                                ^^^^^^^^^^ rustc
        async fn other(&self, _event: B) {}
        #[event_handler(executor = READ_MODEL)]
        async fn right(&self, _event: RawEvent) {}
    }
}

mod out_of_range {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 5000000000, name = "", contexts = [], checkpoint = "foo")]
//~                       ^^^^^^^^^^ `version` must be a whole number from 1: `version = 1`
//~                                          ^^ `name` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
//~                                                         ^^ `contexts` must name at least one context; leave it out to listen to all
//~                                                                          ^^^^^ `checkpoint` must be "on-start" or "watermark"
    impl View {
        #[event_handler(executor = "", retry = -2, retry_delay = "0s", max_delay = "5 parsecs")]
//~                                ^^ `executor` must not be empty; leave it out to run in line
//~                                            ^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                              ^^^^ `retry_delay` must be longer than zero: `retry_delay = "500ms"`
//~                                                                                ^^^^^^^^^^^ `max_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `max_delay = "30s"`
        async fn on(&self, _event: A) {}
        #[event_handler(executor = "read model", retry = 3000000000, retry_delay = "", max_delay = "99999999999h")]
//~                                ^^^^^^^^^^^^ `executor` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
//~                                                      ^^^^^^^^^^ `retry` must be a whole number, or -1 for ever: `retry = 3`
//~                                                                                ^^ `retry_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `retry_delay = "500ms"`
//~                                                                                                ^^^^^^^^^^^^^^ `max_delay` must be shorter than 290,000 years: `max_delay = "30s"`
        async fn other(&self, _event: B) {}
    }
    #[derive(Default)]
    struct Other;
    #[projector(version = 1, name = "übersicht", contexts = ["", "a*b", "tenant-*", "tenant-1", "b", "b"], checkpoint = "on_start")]
//~                                 ^^^^^^^^^^^ `name` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
//~                                                          ^^ a context must have 1 to 255 bytes
//~                                                              ^^^^^ a context pattern must have its only `*` at the end
//~                                                                                 ^^^^^^^^^^ `tenant-1` must not overlap `tenant-*`
//~                                                                                                  ^^^ `b` must not overlap `b`
//~                                                                                                                     ^^^^^^^^^^ `checkpoint` must be "on-start" or "watermark"; did you mean `on-start`?
    impl Other {
        #[event_handler(retry_delay = "1.5s", max_delay = "10ns")]
//~                                   ^^^^^^ `retry_delay` must be a whole number and one of the units `us`, `ms`, `s`, `m` or `h`: `retry_delay = "500ms"`
//~                                                       ^^^^^^ `max_delay` must not be finer than a microsecond, `us`: `max_delay = "30s"`
        async fn on(&self, _event: A) {}
        #[event_handler(retry_delay = "30s", max_delay = "5s")]
//~                                                      ^^^^ `max_delay` must not be shorter than `retry_delay`
        async fn other(&self, _event: B) {}
    }
}

mod written_wrong {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1 name = "x", wait_for_head, "a")]
//~                         ^^^^ a comma must stand before `name`
//~                                     ^^^^^^^^^^^^^ `wait_for_head` must have a value: `wait_for_head = true`
//~                                                    ^^^ an option of `#[projector]` must be written `key = value`, such as `version = 1`
    impl View {
        #[event_handler(retry(3), executor = , = 5)]
//~                     ^^^^^ `retry` must have a value: `retry = 3`
//~                               ^^^^^^^^ `executor` must have a value: `executor = "read-model"`
//~                                            ^ an option of `#[event_handler]` must be written `key = value`, such as `executor = "read-model"`
        async fn on(&self, _event: A) {}
        #[event_handler = "x"]
//~       ^^^^^^^^^^^^^^^^^^^ options must stand in parentheses: `#[event_handler(retry = 3)]`
        async fn other(&self, _event: B) {}
    }
    #[derive(Default)]
    struct Other;
    #[projector(version: 1)]
//~             ^^^^^^^ `version` must have a value: `version = 1`
    impl Other {
        #[event_handler(executor: "a")]
//~                     ^^^^^^^^ `executor` must have a value: `executor = "read-model"`
        async fn on(&self, _event: A) {}
    }
}

mod belongs_to_the_block {
    use super::*;
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(projector = View, crate = ::evento_runtime)]
//~                     ^^^^^^^^^ `projector` must be left out: the handler belongs to the block it stands in
//~                                       ^^^^^ `crate` must be given on `#[projector]`, for the whole block
        async fn on(&self, _event: A) {}
    }
}

mod keys {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    struct Ordered {
        customer_id: Option<u64>,
    }
    #[derive(Default)]
    struct View;
    #[projector(version = 1)]
    impl View {
        #[event_handler(executor = "mail", key = customer_id, key = customer_id)]
//~                                                           ^^^ `key` must be given only once
        async fn twice(&self, _event: Ordered) {}
        #[event_handler(key = customer_id)]
//~                     ^^^ `key` must have an `executor` beside it: without one the handler runs after all that was before
        async fn in_line(&self, _event: A) {}
        #[event_handler(executor = "mail", key = "customer_id")]
//~                                              ^^^^^^^^^^^^^ `key` must be a field of the event: `key = customer_id`
        async fn text(&self, _event: B) {}
    }
}

mod key_fields {
    use super::*;
    #[derive(Event, Serialize, Deserialize)]
    struct Ordered {
        customer: Customer,
        tags: Vec<String>,
    }
    #[derive(Serialize, Deserialize)]
    struct Customer {
        id: u64,
    }
    #[derive(Default)]
    struct Right;
    #[projector(version = 1)]
    impl Right {
        #[event_handler(executor = "mail", key = customer.id)]
        async fn on(&self, _event: Ordered) {}
    }
    #[derive(Default)]
    struct Misspelt;
    #[projector(version = 1)]
    impl Misspelt {
        #[event_handler(executor = "mail", key = customre)]
//~                                              ^^^^^^^^ rustc
        async fn on(&self, _event: Ordered) {}
    }
    #[derive(Default)]
    struct Shapeless;
    #[projector(version = 1)]
    impl Shapeless {
        #[event_handler(executor = "mail", key = tags)]
//~                                              ^^^^ `Vec<String>` can be neither an association nor a key
        async fn on(&self, _event: Ordered) {}
    }
}
