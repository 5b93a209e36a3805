//! Events: the typed fact a user writes, and its recorded form.

mod argument;
mod draft;
mod identity;
mod position;
mod recorded;
mod redaction;

pub use argument::{DecodeError, EventArgument, RawEvent};
pub use draft::NewEvent;
pub use identity::{EventId, Timestamp};
pub use position::{Position, PositionTooLong};
pub use recorded::{Metadata, StoredEvent};
pub use redaction::{DOTS, Redaction};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Content type of payloads written by serde as JSON.
pub const JSON: &str = "application/json";

/// Context of an event that names none.
pub const DEFAULT_CONTEXT: &str = "default";

/// A fact with a type. Derived, not written by hand:
///
/// ```
/// use evento_runtime::Event;
/// #[derive(Event, serde::Serialize, serde::Deserialize)]
/// #[event(name = "OrderPlaced", key = order_id)]
/// struct Placed { order_id: String, cents: u64 }
/// assert_eq!(Placed::NAME, "OrderPlaced");
/// ```
///
/// The name is identity: it is stored with every event. Renaming the Rust type without `name = ".."` makes
/// a new event; `alias = ".."` lets the type read what an older name recorded. `#[event(sensitive)]` on a field keeps its
/// value out of what people are shown: pages and previews have dots in its place, and errors of decoding say where and
/// not what. The bytes that are stored are not changed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "does not implement `Event`",
    note = "add `#[derive(Event, Serialize, Deserialize)]` to `{Self}`"
)]
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The recorded name: 1 to 100 of `[A-Za-z0-9._-]`.
    const NAME: &'static str;
    /// Older names this type can read as well.
    const ALIASES: &'static [&'static str] = &[];
    /// The context new events are recorded under.
    const CONTEXT: &'static str = DEFAULT_CONTEXT;
    /// Whether [`key`](Self::key) returns one.
    const HAS_KEY: bool = false;

    /// Fields marked `#[event(sensitive)]`, by their names: their values are shown as dots, see [`Redaction`].
    const SENSITIVE: &'static [&'static str] = &[];

    /// The key (aggregate id) this event carries in itself, if its type names a field for it.
    fn key(&self) -> Option<String> {
        None
    }
}
