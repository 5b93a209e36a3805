//! The recorded form of an event.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::redaction::Bytes as Hidden;
use super::{EventId, Position, Timestamp};

/// An event as a source holds it. Its `Debug` has no payload and no metadata: logs are read by many.
#[derive(Clone)]
pub struct StoredEvent {
    /// Where it stands in the source.
    pub position: Position,
    /// Its identity.
    pub id: EventId,
    /// The recorded name.
    pub name: Arc<str>,
    /// The recorded context.
    pub context: Arc<str>,
    /// The key (aggregate id); without one there is no order to keep.
    pub key: Option<Arc<str>>,
    /// The number within its key, from 1; absent without a key.
    pub version: Option<u64>,
    /// When the store took it, by the store's clock.
    pub recorded_at: Timestamp,
    /// What the payload is, [`JSON`](super::JSON) unless the producer said otherwise.
    pub content_type: Arc<str>,
    /// The payload, byte for byte.
    pub payload: Bytes,
    /// A JSON object as bytes; empty for none.
    pub metadata: Bytes,
}

impl StoredEvent {
    /// Bytes it takes in a buffer, roughly.
    #[must_use]
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.payload.len() + self.metadata.len()
    }

    /// The metadata value `traceparent`, by which W3C trace context travels, if the producer attached one.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        let mut values: Map<String, Value> = serde_json::from_slice(&self.metadata).ok()?;
        match values.remove("traceparent") {
            Some(Value::String(parent)) => Some(parent),
            _ => None,
        }
    }
}

impl fmt::Debug for StoredEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredEvent")
            .field("position", &self.position)
            .field("id", &self.id)
            .field("name", &self.name)
            .field("context", &self.context)
            .field("key", &self.key)
            .field("version", &self.version)
            .field("recorded_at", &self.recorded_at)
            .field("content_type", &self.content_type)
            .field("payload", &Hidden(self.payload.len()))
            .field("metadata", &Hidden(self.metadata.len()))
            .finish()
    }
}

/// What is recorded about the event at hand, beside its payload. An extractor.
#[derive(Debug, Clone)]
pub struct Metadata(Arc<StoredEvent>);

impl Metadata {
    pub(crate) fn new(event: Arc<StoredEvent>) -> Self {
        Self(event)
    }

    /// Where the event stands in its source.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.0.position
    }

    /// The event's identity, the same on every delivery.
    #[must_use]
    pub fn event_id(&self) -> EventId {
        self.0.id
    }

    /// The recorded name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The recorded context.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.0.context
    }

    /// The key, if the event has one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The number within its key, from 1: compare it in an `UPDATE … WHERE version < ?` to ignore re-runs.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        self.0.version
    }

    /// When the store took the event.
    #[must_use]
    pub fn recorded_at(&self) -> Timestamp {
        self.0.recorded_at
    }

    /// The values the producer attached. Empty where there are none, or where they are not a JSON object.
    #[must_use]
    pub fn values(&self) -> Map<String, Value> {
        serde_json::from_slice(&self.0.metadata).unwrap_or_default()
    }

    /// One attached value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.values().remove(name)
    }
}
