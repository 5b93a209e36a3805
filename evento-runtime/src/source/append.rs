//! The rules of appending that are the same in every store.

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;

use crate::error::AppendError;
use crate::event::{EventId, NewEvent, Position};
use crate::identity::{KEY_RULE, NAME_RULE, is_key, is_name};

/// Payloads larger than this are refused: 8 MiB.
pub const MAX_PAYLOAD: usize = 8 * 1_024 * 1_024;
/// Payloads larger than this are warned of: 1 MiB.
pub const WARN_PAYLOAD: usize = 1_024 * 1_024;
/// Metadata larger than this is refused: 16 KiB.
pub const MAX_METADATA: usize = 16 * 1_024;

/// The version a stream must have for a batch to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expected {
    /// Any version.
    #[default]
    Any,
    /// The key has no event yet.
    New,
    /// The key's last event has this version.
    Version(u64),
}

impl Expected {
    /// Compares with the version found; 0 for a key without events.
    ///
    /// # Errors
    /// [`AppendError::Conflict`].
    pub fn check(self, key: &str, actual: u64) -> Result<(), AppendError> {
        let expected = match self {
            Self::Any => return Ok(()),
            Self::New if actual == 0 => return Ok(()),
            Self::New => "none (a new stream)".to_owned(),
            Self::Version(version) if version == actual => return Ok(()),
            Self::Version(version) => version.to_string(),
        };
        Err(AppendError::Conflict { key: key.to_owned(), expected, actual })
    }
}

/// The key given to `append`: a text, or `None` to leave it to the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamKey(Option<String>);

impl From<&str> for StreamKey {
    fn from(key: &str) -> Self {
        Self(Some(key.to_owned()))
    }
}
impl From<String> for StreamKey {
    fn from(key: String) -> Self {
        Self(Some(key))
    }
}
impl From<&String> for StreamKey {
    fn from(key: &String) -> Self {
        Self(Some(key.clone()))
    }
}
impl<T: Into<String>> From<Option<T>> for StreamKey {
    fn from(key: Option<T>) -> Self {
        Self(key.map(Into::into))
    }
}

/// One event, checked and ready to be stored.
#[derive(Clone)]
pub struct PreparedEvent {
    /// Identity.
    pub id: EventId,
    /// Name.
    pub name: String,
    /// Context.
    pub context: String,
    /// Key.
    pub key: Option<String>,
    /// What the payload is.
    pub content_type: String,
    /// The payload.
    pub payload: Bytes,
    /// A JSON object as bytes; empty for none.
    pub metadata: Bytes,
}

impl PreparedEvent {
    /// The part of the log it belongs to: `crc32(key, else event id) % 1024`.
    #[must_use]
    pub fn slice(&self) -> u16 {
        let hash = match &self.key {
            Some(key) => crc32fast::hash(key.as_bytes()),
            None => crc32fast::hash(self.id.as_uuid().as_bytes()),
        };
        u16::try_from(hash % 1_024).unwrap_or_default()
    }

    /// Whether a stored event is this one: all that its producer chose, byte for byte.
    pub(crate) fn is_same(&self, stored: &KnownEvent<'_>) -> bool {
        self.name == stored.name
            && self.context == stored.context
            && self.key.as_deref() == stored.key
            && self.content_type == stored.content_type
            && self.payload == stored.payload
            && self.metadata == stored.metadata
    }
}

/// Without payload and metadata: logs are read by many.
impl fmt::Debug for PreparedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedEvent")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("context", &self.context)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What a store holds under an id that came again.
pub(crate) struct KnownEvent<'a> {
    pub(crate) position: Position,
    pub(crate) version: Option<u64>,
    pub(crate) name: &'a str,
    pub(crate) context: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) content_type: &'a str,
    pub(crate) payload: &'a [u8],
    pub(crate) metadata: &'a [u8],
}

/// A batch, checked by the rules every store shares.
#[derive(Debug, Clone)]
pub struct Append {
    /// The version the one key of the batch must have.
    pub expected: Expected,
    /// At least one event; all of one stream (context and key) unless `expected` is `Any`.
    pub events: Vec<PreparedEvent>,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// Position of the first event.
    pub first: Position,
    /// Position of the last event.
    pub last: Position,
    /// Version of the last event within its key; absent without a key.
    pub version: Option<u64>,
    /// Whether the batch was stored before: the positions are those of then.
    pub known: bool,
}

impl Appended {
    /// For stores.
    #[must_use]
    pub const fn new(first: Position, last: Position, version: Option<u64>, known: bool) -> Self {
        Self { first, last, version, known }
    }
}

impl Append {
    /// Checks keys, names, sizes, and that ids are not repeated within the batch.
    ///
    /// # Errors
    /// The first rule that is broken; see [`AppendError`].
    pub fn prepare(
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Self, AppendError> {
        let StreamKey(key) = key.into();
        let events =
            events.into_iter().map(|event| prepare(key.as_deref(), event.into())).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = events.first() else { return Err(AppendError::Empty) };
        let one_stream =
            first.key.is_some() && events.iter().all(|event| event.key == first.key && event.context == first.context);
        if expected != Expected::Any && !one_stream {
            return Err(AppendError::VersionWithoutKey);
        }
        let mut ids = HashSet::with_capacity(events.len());
        if let Some(twice) = events.iter().find(|event| !ids.insert(event.id)) {
            return Err(AppendError::IdReused { id: twice.id });
        }
        Ok(Self { expected, events })
    }

    /// The answer to ids that came again, `None` if all are new. `stored` has one entry per event, in order.
    pub(crate) fn recognise(&self, stored: &[Option<KnownEvent<'_>>]) -> Option<Result<Appended, AppendError>> {
        let known = stored.iter().flatten().count();
        if known == 0 {
            return None;
        }
        let reused = self
            .events
            .iter()
            .zip(stored)
            .find(|(event, stored)| stored.as_ref().is_some_and(|stored| !event.is_same(stored)));
        if let Some((event, _)) = reused {
            return Some(Err(AppendError::IdReused { id: event.id }));
        }
        let (Some(Some(first)), Some(Some(last))) = (stored.first(), stored.last()) else {
            return Some(Err(AppendError::PartlyKnown { known, total: self.events.len() }));
        };
        if known < self.events.len() {
            return Some(Err(AppendError::PartlyKnown { known, total: self.events.len() }));
        }
        Some(Ok(Appended::new(first.position.clone(), last.position.clone(), last.version, true)))
    }
}

fn prepare(given: Option<&str>, event: NewEvent) -> Result<PreparedEvent, AppendError> {
    let invalid =
        |what, value: &str, rule| AppendError::Invalid { what, value: value.chars().take(80).collect(), rule };
    if !is_name(&event.name) {
        return Err(invalid("event name", &event.name, NAME_RULE));
    }
    if !is_key(&event.context) {
        return Err(invalid("context", &event.context, KEY_RULE));
    }
    if !is_key(&event.content_type) {
        return Err(invalid("content type", &event.content_type, KEY_RULE));
    }
    let key = match (given, event.key) {
        (Some(given), Some(own)) if given != own => {
            return Err(AppendError::KeyMismatch { event: event.name, given: given.to_owned(), own });
        }
        (Some(key), _) => Some(key.to_owned()),
        (None, own) => own,
    };
    if let Some(key) = key.as_deref().filter(|key| !is_key(key)) {
        return Err(invalid("key", key, KEY_RULE));
    }
    let payload = match event.payload {
        Ok(payload) => payload,
        Err(source) => return Err(AppendError::Encode { event: event.name, source: source.into() }),
    };
    if payload.len() > MAX_PAYLOAD {
        return Err(AppendError::PayloadTooLarge { event: event.name, bytes: payload.len(), limit: MAX_PAYLOAD });
    }
    if payload.len() > WARN_PAYLOAD {
        tracing::warn!(event = event.name, bytes = payload.len(), "payload over 1 MiB");
    }
    let metadata = if event.metadata.is_empty() {
        Bytes::new()
    } else {
        match serde_json::to_vec(&event.metadata) {
            Ok(metadata) => metadata.into(),
            Err(source) => return Err(AppendError::Encode { event: event.name, source: source.into() }),
        }
    };
    if metadata.len() > MAX_METADATA {
        return Err(AppendError::MetadataTooLarge { event: event.name, bytes: metadata.len(), limit: MAX_METADATA });
    }
    Ok(PreparedEvent {
        id: event.id,
        name: event.name,
        context: event.context,
        key,
        content_type: event.content_type,
        payload,
        metadata,
    })
}
