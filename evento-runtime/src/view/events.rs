//! Events: of the log, and of dead letters.

use serde::Serialize;

use super::Preview;
use super::class_name;
use super::time;
use crate::event::{Redaction, StoredEvent};
use crate::store::{LetterKind, StoredDeadLetter};

/// An event of the log, or of a dead letter.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EventView {
    pub(crate) position: String,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) context: String,
    pub(crate) key: Option<String>,
    pub(crate) version: Option<u64>,
    pub(crate) recorded_at: String,
    pub(crate) content_type: String,
    pub(crate) metadata: Option<Preview>,
    pub(crate) payload: Preview,
    /// Whether something of the payload is dots here.
    pub(crate) hidden: bool,
}

impl EventView {
    /// With dots for what is sensitive.
    pub(crate) fn of(event: &StoredEvent, redaction: &Redaction, limit: usize) -> Self {
        Self {
            position: event.position.to_text(),
            id: event.id.to_string(),
            name: event.name.to_string(),
            context: event.context.to_string(),
            key: event.key.as_deref().map(str::to_owned),
            version: event.version,
            recorded_at: time::text(event.recorded_at),
            content_type: event.content_type.to_string(),
            metadata: (!event.metadata.is_empty()).then(|| Preview::of(&event.metadata, limit)),
            payload: Preview::of(&redaction.payload(event), limit),
            hidden: redaction.concerns(&event.name),
        }
    }
}

/// A dead letter.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LetterView {
    pub(crate) event: EventView,
    /// `dead`, or `parked`: it was not begun, and waits behind an earlier one of its key.
    pub(crate) kind: &'static str,
    /// What later events queue behind as long as this one is unresolved.
    pub(crate) parks: Option<String>,
    pub(crate) handler: String,
    pub(crate) class: &'static str,
    pub(crate) error: String,
    pub(crate) attempts: u32,
    pub(crate) first_failed_at: String,
    pub(crate) last_failed_at: String,
    /// Whether it is to be tried again.
    pub(crate) requested: bool,
}

impl LetterView {
    pub(crate) fn of(stored: &StoredDeadLetter, redaction: &Redaction, limit: usize) -> Self {
        let letter = &stored.letter;
        Self {
            event: EventView::of(&letter.event, redaction, limit),
            kind: match letter.kind {
                LetterKind::Parked => "parked",
                LetterKind::Dead => "dead",
            },
            parks: letter.parks.as_ref().map(ToString::to_string),
            handler: letter.handler.clone(),
            class: class_name(letter.class),
            error: letter.error.clone(),
            attempts: letter.attempts,
            first_failed_at: time::text(letter.first_failed_at),
            last_failed_at: time::text(letter.last_failed_at),
            requested: stored.requested,
        }
    }
}
