//! What a running bundle shows to the outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::needless_pass_by_value, reason = "a handler owns its event")]
#![allow(clippy::disallowed_methods, reason = "tests spawn and wait as they like")]

mod facade;
mod health;
mod metrics;
mod retention;
mod sensitive;
mod shop;
mod traces;
