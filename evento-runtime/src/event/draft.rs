//! An event that is not stored yet.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Event, EventId, JSON};

/// An event on its way to `append`. Any [`Event`] converts into one; use it to set id, key, context or metadata.
///
/// ```
/// use evento_runtime::{Event, EventId, NewEvent};
/// # #[derive(Event, serde::Serialize, serde::Deserialize)]
/// # struct Placed { order_id: String }
/// let event = NewEvent::new(&Placed { order_id: "o-1".into() })
///     .id(EventId::foreign("shop", "4711"))
///     .metadata("user", "ada");
/// # let _ = event;
/// ```
#[derive(Clone)]
pub struct NewEvent {
    pub(crate) id: EventId,
    id_given: bool,
    pub(crate) name: String,
    pub(crate) context: String,
    pub(crate) key: Option<String>,
    pub(crate) content_type: String,
    /// An encoder's refusal is kept until `append`, so that conversions need not fail.
    pub(crate) payload: Result<Bytes, Arc<serde_json::Error>>,
    pub(crate) metadata: Map<String, Value>,
}

impl NewEvent {
    /// Encodes a typed event as JSON, with a fresh id.
    #[must_use]
    pub fn new<E: Event>(event: &E) -> Self {
        Self {
            id: EventId::generate(),
            id_given: false,
            name: E::NAME.to_owned(),
            context: E::CONTEXT.to_owned(),
            key: event.key(),
            content_type: JSON.to_owned(),
            payload: encode(event),
            metadata: Map::new(),
        }
    }

    /// An event whose bytes are at hand; they are stored as they are.
    #[must_use]
    pub fn raw(name: impl Into<String>, content_type: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self {
            id: EventId::generate(),
            id_given: false,
            name: name.into(),
            context: super::DEFAULT_CONTEXT.to_owned(),
            key: None,
            content_type: content_type.into(),
            payload: Ok(payload.into()),
            metadata: Map::new(),
        }
    }

    /// Appending the same id again is known, not stored twice.
    #[must_use]
    pub const fn id(mut self, id: EventId) -> Self {
        self.id = id;
        self.id_given = true;
        self
    }

    /// For events whose id is derived, unless the producer chose one.
    pub(crate) const fn id_unless_given(mut self, id: EventId) -> Self {
        if !self.id_given {
            self.id = id;
        }
        self
    }

    /// Unless the producer attached one.
    pub(crate) fn traceparent_unless_given(mut self, traceparent: Option<&str>) -> Self {
        if let Some(traceparent) = traceparent {
            self.metadata.entry("traceparent").or_insert_with(|| traceparent.into());
        }
        self
    }

    /// The key (aggregate id) of this event.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Another context than the type's own.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// Attaches a value: who, from where, `traceparent`, …; 16 KiB in all.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }
}

/// Without payload and metadata: logs are read by many.
impl fmt::Debug for NewEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEvent")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("context", &self.context)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

fn encode(event: &impl Serialize) -> Result<Bytes, Arc<serde_json::Error>> {
    serde_json::to_vec(event).map(Bytes::from).map_err(Arc::new)
}

impl<E: Event> From<E> for NewEvent {
    fn from(event: E) -> Self {
        Self::new(&event)
    }
}
