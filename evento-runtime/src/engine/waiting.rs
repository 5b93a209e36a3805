//! Reading one's own writes: waiting until a consumer has settled what was appended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::handle::ConsumerHandle;
use crate::consumer::{ConsumerStatus, StallReason};
use crate::error::{StoreError, WaitError};
use crate::event::Position;
use crate::store::{Checkpoint, LetterFilter};

/// How often the store is asked while another instance owns the consumer: 20 ms, doubling, at most 200 ms.
const ASK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// Dead letters looked at together.
const LETTERS: usize = 500;

/// A consumer has settled everything up to the position that was waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waited {
    /// How many events up to there it could not handle: its dead letters at or below the position.
    pub dead_letters: u64,
}

impl Waited {
    /// Of two consumers.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { dead_letters: self.dead_letters + other.dead_letters }
    }
}

impl ConsumerHandle {
    /// Waits until the consumer has settled everything up to `position`, such as the last one of an append: what a
    /// handler has written for it can be read then. Woken at once where this instance owns the consumer; elsewhere the
    /// stored checkpoint is asked, which follows within about its interval.
    ///
    /// # Errors
    /// [`WaitError::OnStart`]: the consumer covers events once they have started, so nobody could say.
    /// [`WaitError::Timeout`] with the reason why the consumer stands, if it does; [`WaitError::Store`].
    ///
    /// # Cancel safety
    /// Dropping the future ends the wait and changes nothing.
    pub async fn wait_for(&self, position: &Position, timeout: Duration) -> Result<Waited, WaitError> {
        if self.covers_at_start {
            return Err(WaitError::OnStart { consumer: self.id.to_string() });
        }
        let deadline = Instant::now() + timeout;
        let mut status = self.status.subscribe();
        let mut ask = ASK.0;
        loop {
            let (settled, elsewhere) = {
                let now = status.borrow_and_update();
                (has_settled(&now, position), now.reason == Some(StallReason::Standby))
            };
            if (settled && !elsewhere) || (elsewhere && self.is_stored(position).await?) {
                return Ok(Waited { dead_letters: self.dead_letters_up_to(position).await? });
            }
            let again = if elsewhere { Instant::now() + ask } else { deadline };
            ask = (ask * 2).min(ASK.1);
            tokio::select! {
                // The sender lives as long as this handle.
                _ = status.changed() => {}
                () = tokio::time::sleep_until(again.min(deadline)) => {
                    if Instant::now() >= deadline {
                        let reason = status.borrow().reason.clone();
                        let (consumer, position) = (self.id.to_string(), position.clone());
                        return Err(WaitError::Timeout { consumer, position, timeout, reason: reason.map(|r| r.to_string()) });
                    }
                }
            }
        }
    }

    /// Whether the stored checkpoint covers everything up to a position.
    async fn is_stored(&self, position: &Position) -> Result<bool, StoreError> {
        let (state, id) = (Arc::clone(&self.stores.state), Arc::clone(&self.id));
        let stored = self.tasks.run(async move { state.load(&id).await }).await?.checkpoint;
        Ok(stored.is_some_and(|checkpoint| covers(&checkpoint, position)))
    }

    async fn dead_letters_up_to(&self, position: &Position) -> Result<u64, StoreError> {
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.dead_letters(LetterFilter::all(), after, LETTERS).await?;
            let below = page.iter().filter(|dead| dead.letter.event.position <= *position).count();
            count += u64::try_from(below).unwrap_or(u64::MAX);
            match page.last() {
                Some(last) if page.len() == LETTERS && below == LETTERS => {
                    after = Some(last.letter.event.position.clone());
                }
                _ => return Ok(count),
            }
        }
    }
}

fn has_settled(status: &ConsumerStatus, position: &Position) -> bool {
    status.read_to.as_ref() >= Some(position) && status.oldest_open.as_ref().is_none_or(|open| open > position)
}

fn covers(checkpoint: &Checkpoint, position: &Position) -> bool {
    let passed = checkpoint.reach.as_ref().max(checkpoint.watermark.as_ref());
    passed >= Some(position) && checkpoint.open.first().is_none_or(|open| open > position)
}
