//! The first argument of a handler.

use std::sync::Arc;

use serde_json::error::Category;

use super::{Event, JSON, StoredEvent};
use crate::error::BoxError;

/// What may stand as the first argument of a handler: an [`Event`], or [`RawEvent`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "a handler takes its event first",
    note = "add `#[derive(Event, Serialize, Deserialize)]` to `{Self}`, or take `RawEvent`"
)]
pub trait EventArgument: Sized + Send + 'static {
    /// The names it is called for; `None`: every name the component has no handler for.
    const NAMES: Option<(&'static str, &'static [&'static str])>;
    /// Whether the type supplies a key of its own.
    const HAS_KEY: bool;

    /// Fields whose values are not to be shown.
    const SENSITIVE: &'static [&'static str] = &[];

    /// Decodes the recorded bytes.
    ///
    /// # Errors
    /// The payload is not one of this type; the event becomes a dead letter with its bytes.
    fn decode(event: &Arc<StoredEvent>) -> Result<Self, DecodeError>;
}

impl<E: Event> EventArgument for E {
    const NAMES: Option<(&'static str, &'static [&'static str])> = Some((E::NAME, E::ALIASES));
    const HAS_KEY: bool = E::HAS_KEY;
    const SENSITIVE: &'static [&'static str] = E::SENSITIVE;

    fn decode(event: &Arc<StoredEvent>) -> Result<Self, DecodeError> {
        if &*event.content_type != JSON {
            return Err(DecodeError::new(event, "its content type is not application/json"));
        }
        serde_json::from_slice(&event.payload).map_err(|error| match E::SENSITIVE {
            [] => DecodeError::new(event, error),
            // The decoder's own words may hold the value it did not like.
            _ => DecodeError::new(event, place_of(&error)),
        })
    }
}

/// What is wrong and where, without what stands there.
fn place_of(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "a value is not what the type says",
        Category::Eof => "it ends early",
        Category::Syntax | Category::Io => "it is no JSON",
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

/// The recorded event as it is: the catch-all for names without a handler of their own.
#[derive(Debug, Clone)]
pub struct RawEvent(Arc<StoredEvent>);

impl std::ops::Deref for RawEvent {
    type Target = StoredEvent;

    fn deref(&self) -> &StoredEvent {
        &self.0
    }
}

impl EventArgument for RawEvent {
    const NAMES: Option<(&'static str, &'static [&'static str])> = None;
    const HAS_KEY: bool = false;

    fn decode(event: &Arc<StoredEvent>) -> Result<Self, DecodeError> {
        Ok(Self(Arc::clone(event)))
    }
}

/// A payload that is not what its name promises. Permanent: the same bytes never decode.
#[derive(Debug, thiserror::Error)]
#[error("payload of event `{name}` ({bytes} bytes, {content_type}) cannot be decoded")]
pub struct DecodeError {
    name: Arc<str>,
    content_type: Arc<str>,
    bytes: usize,
    #[source]
    source: BoxError,
}

impl DecodeError {
    fn new(event: &StoredEvent, source: impl Into<BoxError>) -> Self {
        Self {
            name: Arc::clone(&event.name),
            content_type: Arc::clone(&event.content_type),
            bytes: event.payload.len(),
            source: source.into(),
        }
    }
}
