//! Events: of the log, and of dead letters.

use serde::Serialize;

use super::super::payload::Preview;
use super::super::time;
use super::class_name;
use crate::event::{Redaction, StoredEvent};
use crate::store::{LetterKind, StoredDeadLetter};

/// An event of the log, or of a dead letter.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct EventView {
    pub(in crate::admin) position: String,
    pub(in crate::admin) id: String,
    pub(in crate::admin) name: String,
    pub(in crate::admin) context: String,
    pub(in crate::admin) key: Option<String>,
    pub(in crate::admin) version: Option<u64>,
    pub(in crate::admin) recorded_at: String,
    pub(in crate::admin) content_type: String,
    pub(in crate::admin) metadata: Option<Preview>,
    pub(in crate::admin) payload: Preview,
    /// Whether something of the payload is dots here.
    pub(in crate::admin) hidden: bool,
}

impl EventView {
    /// With dots for what is sensitive.
    pub(in crate::admin) fn of(event: &StoredEvent, redaction: &Redaction, limit: usize) -> Self {
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
pub(in crate::admin) struct LetterView {
    pub(in crate::admin) event: EventView,
    /// `dead`, or `parked`: it was not begun, and waits behind an earlier one of its key.
    pub(in crate::admin) kind: &'static str,
    /// What later events queue behind as long as this one is unresolved.
    pub(in crate::admin) parks: Option<String>,
    pub(in crate::admin) handler: String,
    pub(in crate::admin) class: &'static str,
    pub(in crate::admin) error: String,
    pub(in crate::admin) attempts: u32,
    pub(in crate::admin) first_failed_at: String,
    pub(in crate::admin) last_failed_at: String,
    /// Whether it is to be tried again.
    pub(in crate::admin) requested: bool,
}

impl LetterView {
    pub(in crate::admin) fn of(stored: &StoredDeadLetter, redaction: &Redaction, limit: usize) -> Self {
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
