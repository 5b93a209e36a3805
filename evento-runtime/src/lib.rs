//! evento

pub mod bundle;
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
mod link;
#[cfg(feature = "macros")]
mod macros;
pub mod outcome;
pub mod policy;
pub mod prelude;
pub mod source;
pub mod store;
mod sync;
pub mod task;

#[doc(hidden)]
pub mod __private;

#[cfg(test)]
#[allow(unused_extern_crates, reason = "generated code names the crate from the root, in its own tests too")]
extern crate self as evento_runtime;

pub use bundle::{Bundle, BundleBuilder, LaunchError, Running, shutdown_signal};
pub use context::{Attempt, Dep, FromContext, HandlerContext, Stop};
pub use error::{AppendError, BoxError, Error, Result, RunError, StoreError, StoreErrorKind};
pub use event::{Event, EventId, Metadata, NewEvent, Position, RawEvent, StoredEvent, Timestamp};
pub use executor::ConsumerExecutors;
#[cfg(feature = "macros")]
pub use macros::{Event, event_handler, inject, on_start, projector};
pub use outcome::{ErrorClass, Flow, HandlerError};
pub use policy::CheckpointMode;
pub use source::{Appended, Expected};
