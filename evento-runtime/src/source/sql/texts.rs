//! From the columns of a row to an event, whatever the driver.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::BoxError;
use crate::event::{EventId, Position, StoredEvent, Timestamp};

/// A row of the log.
#[derive(Clone, Copy)]
pub(super) struct Columns<'r> {
    pub(super) position: i64,
    pub(super) id: &'r [u8],
    pub(super) name: &'r str,
    pub(super) context: &'r str,
    pub(super) key: Option<&'r str>,
    pub(super) version: Option<i64>,
    pub(super) recorded_at: i64,
    pub(super) content_type: &'r str,
    pub(super) metadata: Option<&'r [u8]>,
    pub(super) payload: &'r [u8],
}

/// Texts that repeat from row to row are allocated once a page.
#[derive(Default)]
pub(super) struct Texts {
    names: Vec<Arc<str>>,
    contexts: Vec<Arc<str>>,
    content_types: Vec<Arc<str>>,
    keys: Vec<Arc<str>>,
}

/// How many texts of a kind are kept.
const KEPT: usize = 8;

impl Texts {
    pub(super) fn event(&mut self, row: Columns<'_>) -> Result<StoredEvent, BoxError> {
        Ok(StoredEvent {
            position: Position::from_u64(row.position.unsigned_abs()),
            id: EventId::from_uuid(uuid::Uuid::from_slice(row.id)?),
            name: shared(&mut self.names, row.name, KEPT),
            context: shared(&mut self.contexts, row.context, KEPT),
            // Of many keys, the one just seen is the only one that is likely to come again soon.
            key: row.key.map(|key| shared(&mut self.keys, key, 1)),
            version: row.version.map(i64::unsigned_abs),
            recorded_at: Timestamp::from_micros(row.recorded_at),
            content_type: shared(&mut self.content_types, row.content_type, KEPT),
            payload: Bytes::copy_from_slice(row.payload),
            metadata: row.metadata.map(Bytes::copy_from_slice).unwrap_or_default(),
        })
    }
}

/// The text, from among those seen last if it is one of them.
fn shared(kept: &mut Vec<Arc<str>>, text: &str, most: usize) -> Arc<str> {
    if let Some(known) = kept.iter().find(|known| &***known == text) {
        return Arc::clone(known);
    }
    let new: Arc<str> = text.into();
    if kept.len() >= most {
        kept.remove(0);
    }
    kept.push(Arc::clone(&new));
    new
}
