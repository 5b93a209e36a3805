//! Dead letters.

use async_trait::async_trait;

use super::state::Kept;
use super::{Data, MemoryStore};
use crate::clock::{Clock, SystemClock};
use crate::error::StoreError;
use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;
use crate::store::{
    DeadEventQueue, DeadLetter, LetterFilter, MAX_ERROR_TEXT, ParkedRow, ParkedWish, StoredDeadLetter, fit_text,
};

/// One of a consumer.
pub(super) struct Letter {
    letter: DeadLetter,
    pub(super) requested: bool,
    /// When it was handled after all, or discarded.
    resolved: Option<Timestamp>,
}

impl Letter {
    /// It is listed no more.
    pub(super) const fn resolve(&mut self, now: Timestamp) {
        (self.resolved, self.requested) = (Some(now), false);
    }
}

#[async_trait]
impl DeadEventQueue for MemoryStore {
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let wanted = |letter: &Letter| {
            after.is_none_or(|after| letter.letter.event.position > *after) && which.matches(&letter.letter)
        };
        Ok(self.with(|data| letters(data, consumer, wanted, limit)))
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        Ok(self.with(|data| {
            let kept = data.consumers.get_mut(consumer).and_then(|row| row.kept.as_mut());
            let letters = kept.into_iter().flat_map(|kept| kept.letters.values_mut());
            let mut marked = 0;
            for letter in letters.filter(|letter| letter.resolved.is_none() && which.matches(&letter.letter)) {
                letter.requested = true;
                marked += 1;
            }
            marked
        }))
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        Ok(self.with(|data| letters(data, consumer, |letter| letter.requested, limit)))
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        Ok(self.with(|data| {
            let of_bundle = data.consumers.iter().filter(|(id, _)| &*id.bundle == bundle);
            let wanted = of_bundle.filter(|(_, row)| {
                row.kept.as_ref().is_some_and(|kept| kept.letters.values().any(|letter| letter.requested))
            });
            wanted.map(|(id, _)| id.clone()).collect()
        }))
    }

    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        let now = SystemClock.now();
        Ok(self.with(|data| {
            let kept = data.consumers.get_mut(consumer).and_then(|row| row.kept.as_mut());
            let letters = kept.into_iter().flat_map(|kept| kept.letters.values_mut());
            let mut discarded = 0;
            for letter in letters.filter(|letter| letter.resolved.is_none() && which.matches(&letter.letter)) {
                letter.resolve(now);
                discarded += 1;
            }
            discarded
        }))
    }

    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError> {
        Ok(self.with(|data| {
            let Some(kept) = data.consumers.get_mut(consumer).and_then(|row| row.kept.as_mut()) else { return 0 };
            let there = kept.letters.len();
            kept.letters.retain(|_, letter| letter.resolved.is_none_or(|at| at >= before));
            u64::try_from(there - kept.letters.len()).unwrap_or(u64::MAX)
        }))
    }

    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        let parked = self.with(|data| letters(data, consumer, |letter| letter.letter.parks.is_some(), usize::MAX));
        let row = |stored: StoredDeadLetter| {
            let (position, kind, requested) =
                (stored.letter.event.position.clone(), stored.letter.kind, stored.requested);
            stored.letter.parks.map(|key| ParkedRow { key, position, kind, requested })
        };
        Ok(parked.into_iter().filter_map(row).collect())
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        Ok(self.with(|data| {
            let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
            let unresolved =
                kept.into_iter().flat_map(|kept| kept.letters.values()).filter(|letter| letter.resolved.is_none());
            u64::try_from(unresolved.count()).unwrap_or(u64::MAX)
        }))
    }
}

/// Unresolved ones, oldest first.
fn letters(
    data: &Data,
    consumer: &ConsumerId,
    wanted: impl Fn(&Letter) -> bool,
    limit: usize,
) -> Vec<StoredDeadLetter> {
    let kept = data.consumers.get(consumer).and_then(|row| row.kept.as_ref());
    let letters = kept.into_iter().flat_map(|kept| kept.letters.values());
    let mut letters: Vec<&Letter> = letters.filter(|letter| letter.resolved.is_none() && wanted(letter)).collect();
    letters.sort_by(|a, b| {
        let (a, b) = (&a.letter.event, &b.letter.event);
        (&a.position, a.id).cmp(&(&b.position, b.id))
    });
    let stored = |letter: &Letter| StoredDeadLetter {
        consumer: consumer.clone(),
        letter: letter.letter.clone(),
        requested: letter.requested,
    };
    letters.into_iter().take(limit).map(stored).collect()
}

impl Kept {
    /// Adds a dead letter, or its attempts to the one that is there.
    pub(super) fn add(&mut self, mut letter: DeadLetter) {
        letter.error = fit_text(letter.error, MAX_ERROR_TEXT);
        letter.handler = fit_text(letter.handler, MAX_ERROR_TEXT);
        if let Some(stored) = self.letters.get(&letter.event.id) {
            letter.attempts = letter.attempts.saturating_add(stored.letter.attempts);
            letter.first_failed_at = stored.letter.first_failed_at;
        }
        // What it is queued under stays, as it does where that is a row of its own.
        if letter.parks.is_none() {
            letter.parks = self
                .letters
                .get(&letter.event.id)
                .filter(|stored| stored.resolved.is_none())
                .and_then(|stored| stored.letter.parks.clone());
        }
        self.letters.insert(letter.event.id, Letter { letter, requested: false, resolved: None });
    }

    /// Has everything unresolved of a parked key tried again, or not.
    pub(super) fn wish(&mut self, wish: &ParkedWish) {
        let of_key =
            |letter: &&mut Letter| letter.resolved.is_none() && letter.letter.parks.as_ref() == Some(&wish.key);
        self.letters.values_mut().filter(of_key).for_each(|letter| letter.requested = wish.redrive);
    }
}
