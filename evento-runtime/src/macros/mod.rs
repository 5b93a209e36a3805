//! The attributes, and all there is to say about them.
//!
//! `EVENTO_MACROS_DEBUG=1 cargo check` prints what they write.

mod component;
mod handler;
mod hook;

pub use component::{observer, projector, saga};
pub use handler::{event_handler, saga_event_handler};
pub use hook::{inject, on_reset, on_start};

/// Makes a type an [`Event`](trait@crate::Event). It must be `Serialize` and `Deserialize` as well, and own its data.
///
/// ```
/// use evento_runtime::Event;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "shop.OrderPlaced", alias = "OrderCreated", context = "shop", key = order_id)]
/// struct OrderPlaced {
///     order_id: u64,
/// }
///
/// assert_eq!(OrderPlaced::NAME, "shop.OrderPlaced");
/// assert_eq!(OrderPlaced { order_id: 7 }.key().as_deref(), Some("7"));
/// ```
///
/// # Options
///
/// | option | value | if it is left out |
/// |---|---|---|
/// | `name` | the recorded name, 1 to 100 of `A-Z a-z 0-9 . _ -` | the type's own name |
/// | `alias` | an older name this type reads as well; may be given several times, or as a list | none |
/// | `context` | what new events are recorded under, 1 to 255 bytes | `"default"` |
/// | `key` | the field with the key (aggregate id), as `Display` writes it: `key = order_id`, or `key = 0` | no key of its own |
/// | `crate` | the path of this crate from the root | `::evento_runtime` |
///
/// The name is identity. If you rename the type, keep the name, or give the old one as `alias`.
pub use evento_macros::Event;
