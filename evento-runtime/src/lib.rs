//! evento

pub mod bundle;
pub mod clock;
pub mod component;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod context;
pub mod deps;
pub mod engine;
pub mod error;
pub mod event;
pub mod executor;
pub mod identity;
pub mod outcome;
pub mod policy;
pub mod source;
pub mod store;
mod sync;
pub mod task;

#[doc(hidden)]
pub mod __private;

pub use context::{Attempt, Dep, FromContext, HandlerContext, Stop};
pub use error::{AppendError, BoxError, Error, Result, RunError, StoreError, StoreErrorKind};
pub use event::{Event, EventId, Metadata, NewEvent, Position, RawEvent, StoredEvent, Timestamp};
pub use outcome::{ErrorClass, Flow, HandlerError};
pub use policy::CheckpointMode;
pub use source::{Appended, Expected};
