//! What a delivery is ordered by: the key of its event's stream, or a field that its handler names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::ConsumerProcessor;
use crate::context::HandlerContext;
use crate::event::StoredEvent;

/// Before the field and its value: so that they are no key of a stream.
const OWN: char = '\u{1f}';

/// As long as keys of streams may be. Longer values share the order of those that begin like them.
const LONGEST: usize = 255;

impl ConsumerProcessor {
    /// What an event has in the field that its handler names, if it names one. The event is decoded for that; one that
    /// does not decode keeps the key of its stream, and fails where it is handled.
    pub(super) fn own_key(&self, handler: usize, event: &Arc<StoredEvent>) -> Option<Option<Arc<str>>> {
        let own = self.plan.handlers[handler].key.as_ref()?;
        let context = HandlerContext::new(Arc::clone(&self.scope), Arc::clone(event), 1);
        // It runs what the user has written: deserializing, and `Display`.
        match catch_unwind(AssertUnwindSafe(|| (own.value)(&context))) {
            Ok(Ok(value)) => Some(value.filter(|value| !value.is_empty()).map(|value| {
                let mut key = format!("{OWN}{}{OWN}{value}", own.field);
                key.truncate(key.floor_char_boundary(LONGEST));
                key.into()
            })),
            Ok(Err(_)) | Err(_) => None,
        }
    }
}
