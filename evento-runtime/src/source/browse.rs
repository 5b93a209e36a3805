//! Looking at a log as people do, not as consumers.

use super::{EventFilter, EventSource, FetchLimits};
use crate::error::StoreError;
use crate::event::Position;

/// Which events a person wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Browse {
    /// The latest, the highest position first.
    Latest {
        /// Only what stands before it.
        before: Option<Position>,
    },
    /// Those of one key, in their order.
    Key {
        /// The context of the key.
        context: String,
        /// The key.
        key: String,
        /// Only what stands after it.
        after: Option<Position>,
    },
}

/// Events read at once by a source that has no way of its own.
const PAGE: FetchLimits = FetchLimits { events: 500, bytes: 4 * 1_024 * 1_024 };

/// [`EventSource::positions`] by reading the whole log.
pub(super) async fn by_reading<S: EventSource + ?Sized>(
    source: &S,
    which: &Browse,
    limit: usize,
) -> Result<Vec<Position>, StoreError> {
    let mut after = match which {
        Browse::Latest { .. } => None,
        Browse::Key { after, .. } => after.clone(),
    };
    let mut found = Vec::new();
    loop {
        let batch = source.fetch(after.as_ref(), PAGE, &EventFilter::all()).await?;
        for event in batch.events {
            match which {
                Browse::Latest { before } if before.as_ref().is_none_or(|before| event.position < *before) => {}
                Browse::Key { context, key, .. }
                    if *event.context == **context && event.key.as_deref() == Some(key) => {}
                _ => continue,
            }
            found.push(event.position);
        }
        match which {
            Browse::Latest { .. } => found.drain(..found.len().saturating_sub(limit)).for_each(drop),
            Browse::Key { .. } if found.len() >= limit => found.truncate(limit),
            Browse::Key { .. } => {}
        }
        let full = matches!(which, Browse::Key { .. }) && found.len() >= limit;
        if full || !batch.more || batch.read_to.is_none() {
            break;
        }
        after = batch.read_to;
    }
    if matches!(which, Browse::Latest { .. }) {
        found.reverse();
    }
    Ok(found)
}

/// [`EventSource::count_after`] by reading.
pub(super) async fn count_by_reading<S: EventSource + ?Sized>(
    source: &S,
    after: Option<&Position>,
    at_most: u64,
) -> Result<u64, StoreError> {
    let (mut after, mut count) = (after.cloned(), 0_u64);
    loop {
        let batch = source.fetch(after.as_ref(), PAGE, &EventFilter::all()).await?;
        count = count.saturating_add(u64::try_from(batch.events.len()).unwrap_or(u64::MAX));
        if count >= at_most || !batch.more || batch.read_to.is_none() {
            return Ok(count.min(at_most));
        }
        after = batch.read_to;
    }
}
