//! Event handlers that run in parallel, lose nothing, and keep order where order matters.
//!
//! Annotate handlers with [`#[projector]`](macro@projector) and [`#[event_handler]`](macro@event_handler), processes with
//! [`#[saga]`](macro@saga), effects elsewhere with [`#[observer]`](macro@observer), give a [`Bundle`] a store and
//! [`ConsumerExecutors`], and start it. `build()` judges the whole wiring before anything
//! connects; what is wrong is told at once, each with the line of your own code.
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | a fact with a type, and its recorded form | [`Event`], [`NewEvent`], [`StoredEvent`], [`Position`], [`EventId`] |
//! | a component: `impl` block, or free functions around a unit struct | [`projector`](macro@projector), [`saga`](macro@saga), [`observer`](macro@observer), [`component`] |
//! | its handlers, constructor and hooks | [`event_handler`](macro@event_handler), [`saga_event_handler`](macro@saga_event_handler), [`inject`](macro@inject), [`on_start`](macro@on_start), [`on_reset`](macro@on_reset) |
//! | what a handler may ask for | [`Metadata`], [`Attempt`], [`Position`], [`EventId`], [`Progress`], [`Outbox`], [`Stop`], [`Dep`], [`Local`], [`Tx`], [`context`] |
//! | what a saga keeps, and is found by | [`SagaState`], [`Associations`] |
//! | what a handler may return | [`Flow`], [`HandlerError`], [`ErrorClass`], [`outcome`] |
//! | the plan and the process | [`Bundle`], [`BundleBuilder`], [`Running`], [`LaunchError`], [`bundle`] |
//! | reading your own writes, steering, what happens | [`Running::wait_for`], [`engine::ConsumerHandle`], [`ConsumerStatus`], [`EngineEvent`] |
//! | pools of work | [`ConsumerExecutors`], [`executor`] |
//! | where a consumer begins, how far it has come, what failed | [`StartFrom`], [`CheckpointMode`], [`store::Checkpoint`], [`store::DeadLetter`] |
//! | the log and the tables | [`store::Sqlite`], [`store::Memory`], [`source`], [`store`] |
//! | tests of handlers, and handlers that run again | the module `testing` (a feature) |
//! | writing a store | the traits in [`source`] and [`store`], and the suite in `conformance` (a feature) |
//!
//! # The way of an event
//!
//! ```text
//! append ──▶ source ──▶ feed ──▶ dispatch ──▶ executor ──▶ handler ──▶ settle ──▶ checkpoint
//!            (log)     (ahead)  (by key,     (permits)    (attempts)  (done /     (watermark, reach,
//!                                window)                               dead)       open positions)
//! ```
//!
//! # What is promised
//!
//! - Handlers without an executor, those of sagas and observers, and those of projectors on one under
//!   [`CheckpointMode::Watermark`]: every committed event is finally handled, skipped by rule, or among the dead letters,
//!   whatever is killed when. Handlers of projectors on an executor under [`CheckpointMode::OnStart`], the default: a hard
//!   kill loses at most what was running, the capacities of the executors. A stop that ends within its deadline loses
//!   nothing.
//! - What a handler writes through a [`Tx`], that it has handled the event, and what it emits are one commit: exactly once.
//! - After a crash at most a [window](BundleBuilder::window) of events is handled again.
//! - On executors that keep key order, an event starts only after the one before it of its key is settled.
//! - A key that is busy or waits for another attempt stops no other key, as long as what waits behind it fits the
//!   [look-ahead](BundleBuilder::look_ahead).
//! - A named executor never runs more handlers than its capacity, over all consumers that name it.
//! - One process owns a consumer at a time; a write of an ownership that is over changes nothing.
//! - A dead letter is stored before the checkpoint passes its event, with the bytes of the event.
//!
//! # Failures
//!
//! Sagas, observers and components with a [`Tx`] are in the last column where their handlers name an executor.
//!
//! | failure | no executor | executor of a projector, `OnStart` | executor, `Watermark` |
//! |---|---|---|---|
//! | ordinary error | `retry` further attempts, then dead letter; -1: for ever | the same; -1 means 0 | the same; -1 means 0 |
//! | transient | spends no attempt; held and tried again with backoff | `retry` further attempts, then dead letter | spends no attempt; held with backoff, without a permit |
//! | permanent: a panic, undecodable, or said so | dead letter at once | dead letter at once | dead letter at once |
//! | the store fails | no attempt; it waits, and says so | the same | the same |
//!
//! The delay before further attempt `k` is `retry_delay` (1 s) × 2^(k-1), at most `max_delay` (30 s), ± 20 %.

#[cfg(feature = "admin")]
pub mod admin;
pub mod bundle;
#[cfg(feature = "cli")]
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod component;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod consumer;
pub mod context;
pub mod deps;
pub mod engine;
pub mod error;
pub mod event;
pub mod executor;
pub mod identity;
pub mod interceptor;
mod link;
#[cfg(feature = "macros")]
mod macros;
pub mod observe;
pub mod outcome;
pub mod policy;
pub mod prelude;
pub mod source;
pub mod store;
mod sync;
pub mod task;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(feature = "admin", feature = "cli"))]
#[cfg_attr(
    not(all(feature = "admin", feature = "cli")),
    allow(dead_code, unused_imports, reason = "one shows what the other does not")
)]
mod view;

#[doc(hidden)]
pub mod __private;

#[cfg(test)]
#[allow(unused_extern_crates, reason = "generated code names the crate from the root, in its own tests too")]
extern crate self as evento_runtime;

pub use async_trait::async_trait;
pub use bundle::{Bundle, BundleBuilder, Error, LaunchError, Result, RunError, Running, shutdown_signal};
pub use consumer::{ConsumerStatus, EngineEvent, SeekTo, StallReason};
pub use context::{Associations, Attempt, Dep, FromContext, HandlerContext, Local, Outbox, Progress, SagaState, Stop};
pub use error::{AdminError, AppendError, BoxError, StoreError, StoreErrorKind, WaitError};
pub use event::{Event, EventId, Metadata, NewEvent, Position, RawEvent, StoredEvent, Timestamp};
pub use executor::ConsumerExecutors;
#[cfg(feature = "macros")]
pub use macros::{Event, event_handler, inject, observer, on_reset, on_start, projector, saga, saga_event_handler};
pub use outcome::{ErrorClass, Flow, HandlerError};
pub use policy::{CheckpointMode, DeadLetterPolicy, StartFrom};
pub use source::{Appended, Expected};
pub use store::Tx;

/// The code of the README compiles.
#[cfg(all(doctest, feature = "macros", feature = "sqlite"))]
#[doc = include_str!("../../README.md")]
struct Readme;
