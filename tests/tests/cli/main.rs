//! The command line as a person and a script use it: the real binary beside a running bundle.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod api;
mod database;
mod faults;
mod hostile;
mod letters;
mod operated;
mod own;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod servers;
mod shop;
