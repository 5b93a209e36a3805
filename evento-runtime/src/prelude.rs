//! Everything a file of handlers needs: `use evento_runtime::prelude::*;`.
//!
//! `#[event_handler]`, `#[inject]` and `#[on_start]` in a `#[projector]` block need no import at all.

pub use crate::context::{Attempt, Dep, FromContext, Stop};
pub use crate::event::{Event, EventId, Metadata, Position, RawEvent};
pub use crate::outcome::{ErrorClass, Flow, HandlerError};

#[cfg(feature = "macros")]
pub use crate::macros::{Event, event_handler, projector};
