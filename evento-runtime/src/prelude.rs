//! Everything a file of handlers needs: `use evento_runtime::prelude::*;`.
//!
//! `#[event_handler]`, `#[inject]` and `#[on_start]` in a `#[projector]` block need no import at all.

pub use crate::context::{Attempt, Dep, FromContext, Local, Outbox, Stop};
pub use crate::error::BoxError;
pub use crate::event::{Event, EventId, Metadata, NewEvent, Position, RawEvent};
pub use crate::outcome::{ErrorClass, Flow, HandlerError};

#[cfg(feature = "macros")]
pub use crate::macros::{Event, event_handler, on_start, projector};
#[cfg(feature = "sqlite")]
pub use crate::store::SqliteWriter;
