//! `#[derive(Event)]`.
#![allow(dead_code)]

use evento_runtime::Event;
use serde::{Deserialize, Serialize};

fn main() {}

#[derive(Event, Serialize, Deserialize)]
#[event(naem = "x", kind = "y")]
//~     ^^^^ `naem` is not an option of `#[event]`; did you mean `name`?
//~                 ^^^^ `kind` is not an option of `#[event]`
struct Unknown {}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "", alias = "a b", context = "")]
//~            ^^ `name` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
//~                        ^^^^^ `alias` must have 1 to 100 characters out of A-Z a-z 0-9 . _ -
//~                                         ^^ `context` must have 1 to 255 bytes
struct Empty {}

#[derive(Event, Serialize, Deserialize)]
#[event(name = Placed, alias = [1, "ok"], context = 5, key = "order_id")]
//~            ^^^^^^ `name` must be a string: `name = "OrderPlaced"`
//~                             ^ an entry of `alias` must be a string
//~                                                 ^ `context` must be a string: `context = "shop"`
//~                                                          ^^^^^^^^^^ `key` must be the name of a field: `key = order_id`
struct WrongTypes { order_id: String }

#[derive(Event, Serialize, Deserialize)]
#[event(name = "a", name = "b")]
//~                 ^^^^ `name` must be given only once
#[event(alias = "old", alias = "older", alias = ["old"], context = "x", context = "y")]
//~                                              ^^^^^ `old` must be given only once
//~                                                                     ^^^^^^^ `context` must be given only once
struct Twice {}

#[derive(Event, Serialize, Deserialize)]
#[event(name = "same", alias = "same")]
struct Itself {}
//~    ^^^^^^ `same` must not be an alias of itself

#[derive(Event, Serialize, Deserialize)]
#[event(key = order_idd)]
//~           ^^^^^^^^^ `key` must name a field of `NoField`; did you mean `order_id`?
struct NoField { order_id: String }

#[derive(Event, Serialize, Deserialize)]
#[event(key = 1)]
//~           ^ `key` must name a field of `NoIndex`
struct NoIndex(String);

#[derive(Event, Serialize, Deserialize)]
#[event(key = id)]
//~           ^^ `key` must name a field of `Unit`
struct Unit;

#[derive(Event, Serialize, Deserialize)]
#[event(key = id)]
//~           ^^ `key` must be left out: `Choice` has no field that is always there
enum Choice { One { id: u32 }, Two }

#[derive(Event, Serialize, Deserialize)]
struct Generic<T>(T);
//~           ^^^ `Generic` must not be generic: what is recorded under one name has one type

#[derive(Event, Serialize, Deserialize)]
struct Borrowed<'a> { text: &'a str }
//~            ^^^^ `Borrowed` must not be generic: what is recorded under one name has one type

#[derive(Event, Serialize, Deserialize)]
#[event]
//~@1+8 options must stand in parentheses: `#[event(name = "OrderPlaced")]`
struct Bare {}

#[derive(Event, Serialize, Deserialize)]
#[event = "x"]
//~@1+14 options must stand in parentheses: `#[event(name = "OrderPlaced")]`
struct Valued {}

#[derive(Event, Serialize, Deserialize)]
struct Größe {}
//~    ^^^^^ `Größe` must be given a name of 1 to 100 characters out of A-Z a-z 0-9 . _ -: `#[event(name = "..")]`

#[derive(Event)]
union Both { a: u32, b: f32 }
//~@1+5 `Both` must be a struct or an enum

#[derive(Event, Serialize, Deserialize)]
#[event(key = tags)]
//~           ^^^^ `Vec<String>` cannot be the key of an event
struct NotDisplay { tags: Vec<String> }

#[derive(Event)]
struct NoSerde {}
//~    ^^^^^^^ rustc
//~    ^^^^^^^ rustc

#[derive(Event, Serialize)]
struct OnlyOneWay {}
//~    ^^^^^^^^^^ rustc

#[derive(Event, Serialize, Deserialize)]
#[event(crate = evento)]
//~             ^^^^^^ `crate` must be a path from the root, such as `::evento` or `crate::evento`
struct Relative {}

#[derive(Event, Serialize, Deserialize)]
struct Place(#[event(sensitive)] String);
//~          ^^^^^^^^^^^^^^^^^^^ `sensitive` must be on a field with a name, by which its value is found

#[derive(Serialize, Deserialize)]
struct Inner {}

#[derive(Event, Serialize, Deserialize)]
struct Flat {
    #[event(sensitive)]
//~ ^^^^^^^^^^^^^^^^^^^ `sensitive` must not be on a flattened field: it is recorded under the names inside of it
    #[serde(flatten)]
    inner: Inner,
}
