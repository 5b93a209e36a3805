//! What work costs, counted instead of timed: statements, tasks, allocations and instructions for an event,
//! statements of consumers that have nothing to do. The bounds are what was measured, and a little more.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod allocations;
#[cfg(feature = "postgres")]
mod groups;
mod instructions;
mod statements;
mod streams;
mod traced;
mod waiting;
