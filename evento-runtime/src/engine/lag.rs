//! How far a consumer is behind the end of the log, and how much it could not handle.

use std::sync::Arc;
use std::time::Duration;

use super::handle::ConsumerHandle;
use crate::clock::{Clock as _, SystemClock};
use crate::error::StoreError;

/// Unread events are counted up to here: a million.
pub const MOST_COUNTED: u64 = 1_000_000;

/// What a consumer has before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lag {
    /// Events that are not settled: those it has read, and those of the log behind them, whatever their names, of which
    /// at most [`MOST_COUNTED`] are counted.
    pub events: u64,
    /// How long ago the store took the oldest event that it has read and not settled; nothing where there is none. The
    /// store's clock is compared with this machine's.
    pub time: Duration,
    /// Its unresolved dead letters.
    pub dead_letters: u64,
}

impl ConsumerHandle {
    /// How far the consumer is behind. `None` where another instance owns it: that one knows.
    ///
    /// Two short reads on the store; counting takes longer the further behind the consumer is, some tens of milliseconds
    /// for a million events.
    ///
    /// # Errors
    /// The store failed.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the reads to end by themselves.
    pub async fn lag(&self) -> Result<Option<Lag>, StoreError> {
        let status = self.status();
        if status.epoch.0 == 0 {
            return Ok(None);
        }
        let (source, queue) = (Arc::clone(&self.source), Arc::clone(&self.stores.dead_letters));
        let (id, read_to) = (Arc::clone(&self.id), status.read_to.clone());
        let (unread, dead_letters) = self
            .tasks
            .run(async move {
                let unread = source.count_after(read_to.as_ref(), MOST_COUNTED).await?;
                Ok::<_, StoreError>((unread, queue.count(&id).await?))
            })
            .await?;
        let open = u64::try_from(status.open).unwrap_or(u64::MAX);
        Ok(Some(Lag { events: open.saturating_add(unread), time: status.behind(SystemClock.now()), dead_letters }))
    }
}
