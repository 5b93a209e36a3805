//! Everything a file of handlers needs: `use evento_runtime::prelude::*;`.
//!
//! `#[event_handler]`, `#[saga_event_handler]`, `#[inject]`, `#[on_start]` and `#[on_reset]` in a block of `#[projector]`,
//! `#[saga]` or `#[observer]` need no import at all.

pub use crate::context::{Associations, Attempt, Dep, FromContext, Local, Outbox, Progress, SagaState, Stop};
pub use crate::error::BoxError;
pub use crate::event::{Event, EventId, Metadata, NewEvent, Position, RawEvent};
pub use crate::identity::ContextPattern;
pub use crate::outcome::{ErrorClass, Flow, HandlerError};
pub use crate::policy::StartFrom;
pub use crate::store::Tx;

#[cfg(feature = "macros")]
pub use crate::macros::{Event, event_handler, observer, on_reset, on_start, projector, saga, saga_event_handler};
#[cfg(feature = "sqlite")]
pub use crate::store::SqliteWriter;
