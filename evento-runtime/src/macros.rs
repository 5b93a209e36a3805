//! The attributes, and all there is to say about them.

/// PLACEHOLDER
pub use evento_macros::{Event, event_handler, inject, on_start, projector};
