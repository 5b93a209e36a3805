//! Claims of observers.

use std::collections::HashSet;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::MemoryStore;
use super::state::Kept;
use crate::clock::{Clock as _, SystemClock, later};
use crate::error::StoreError;
use crate::event::EventId;
use crate::identity::{ConsumerId, OwnerId};
use crate::store::{ClaimState, Claims, DedupeStore};

/// What is known of an event.
pub(super) enum Claimed {
    Held { owner: OwnerId, until: Instant },
    Done(Instant),
}

impl Kept {
    pub(super) fn claim(&mut self, owner: OwnerId, claims: &Claims) {
        if claims.forget {
            self.claims.clear();
        }
        let until = later(claims.expiry);
        for event in &claims.taken {
            if !matches!(self.claims.get(event), Some(Claimed::Done(_))) {
                self.claims.insert(*event, Claimed::Held { owner, until });
            }
        }
        for event in &claims.released {
            if matches!(self.claims.get(event), Some(Claimed::Held { owner: holder, .. }) if *holder == owner) {
                self.claims.remove(event);
            }
        }
        let now = SystemClock.instant();
        for event in &claims.done {
            if !matches!(self.claims.get(event), Some(Claimed::Done(_))) {
                self.claims.insert(*event, Claimed::Done(now));
            }
        }
    }
}

#[async_trait]
impl DedupeStore for MemoryStore {
    async fn claims(
        &self,
        consumer: &ConsumerId,
        events: &[EventId],
    ) -> Result<Vec<(EventId, ClaimState)>, StoreError> {
        let now = SystemClock.instant();
        Ok(self.with(|data| {
            let Some(kept) = data.consumers.get(consumer).and_then(|row| row.kept.as_ref()) else { return Vec::new() };
            let mut asked = HashSet::new();
            let once = events.iter().filter(|event| asked.insert(**event));
            let state = |event: &EventId| {
                let state = match kept.claims.get(event)? {
                    Claimed::Held { owner, until } => {
                        ClaimState::Held { owner: *owner, remaining: until.saturating_duration_since(now) }
                    }
                    Claimed::Done(_) => ClaimState::Done,
                };
                Some((*event, state))
            };
            once.filter_map(state).collect()
        }))
    }

    async fn sweep_claims(&self, bundle: &str, age: Duration) -> Result<u64, StoreError> {
        let now = SystemClock.instant();
        Ok(self.with(|data| {
            let mut swept = 0;
            for kept in data.kept_of(bundle) {
                let before = kept.claims.len();
                kept.claims.retain(|_, claimed| {
                    let (Claimed::Held { until: since, .. } | Claimed::Done(since)) = claimed;
                    now.checked_duration_since(*since).is_none_or(|past| past < age)
                });
                swept += before - kept.claims.len();
            }
            u64::try_from(swept).unwrap_or(u64::MAX)
        }))
    }
}
