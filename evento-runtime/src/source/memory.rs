//! The log of the memory store: plain data, without locks.

use std::collections::HashMap;
use std::sync::Arc;

use super::{
    Append, Appended, Batch, EventFilter, Expected, FetchLimits, KnownEvent, PositionCheck, PreparedEvent, Prune,
    Pruned,
};
use crate::error::AppendError;
use crate::event::{EventId, Position, StoredEvent, Timestamp};

/// Events in the order of their positions, which begin at 1 and are never used again.
#[derive(Debug, Default)]
pub(crate) struct Log {
    events: Vec<StoredEvent>,
    /// The last position given out.
    last: u64,
    /// Up to there events may be gone.
    pruned: u64,
    by_id: HashMap<EventId, Position>,
    versions: HashMap<(Arc<str>, Arc<str>), u64>,
    names: HashMap<String, Arc<str>>,
}

impl Log {
    pub(crate) fn append(&mut self, batch: &Append, now: Timestamp) -> Result<Appended, AppendError> {
        let stored: Vec<_> = batch.events.iter().map(|event| self.known(event.id)).collect();
        if let Some(answer) = batch.recognise(&stored) {
            return answer;
        }
        let Some(first) = batch.events.first() else { return Err(AppendError::Empty) };
        if let Some(key) = &first.key {
            let stream = (self.name(&first.context), self.name(key));
            let actual = self.versions.get(&stream).copied().unwrap_or(0);
            batch.expected.check(key, actual)?;
        }
        let first = self.last + 1;
        for event in &batch.events {
            let context = self.name(&event.context);
            let key = event.key.as_deref().map(|key| self.name(key));
            let version = key.as_ref().map(|key| {
                let version = self.versions.entry((Arc::clone(&context), Arc::clone(key))).or_insert(0);
                *version += 1;
                *version
            });
            self.last += 1;
            let position = Position::from_u64(self.last);
            self.by_id.insert(event.id, position.clone());
            let stored = StoredEvent {
                position,
                id: event.id,
                name: self.name(&event.name),
                context,
                key,
                version,
                recorded_at: now,
                content_type: self.name(&event.content_type),
                payload: event.payload.clone(),
                metadata: event.metadata.clone(),
            };
            self.events.push(stored);
        }
        let version = self.events.last().and_then(|event| event.version);
        Ok(Appended::new(Position::from_u64(first), Position::from_u64(self.last), version, false))
    }

    /// Stores the events that are not known yet. Answers whether there were any.
    pub(crate) fn emit(&mut self, events: Vec<PreparedEvent>, now: Timestamp) -> bool {
        let before = self.last;
        for event in events {
            if !self.by_id.contains_key(&event.id) {
                let one = Append { expected: Expected::Any, events: vec![event] };
                // A new id under no expectation is never refused.
                self.append(&one, now).ok();
            }
        }
        self.last > before
    }

    pub(crate) fn fetch(&self, after: Option<&Position>, limits: FetchLimits, filter: &EventFilter) -> Batch {
        let from = after.map_or(0, |after| self.events.partition_point(|event| event.position <= *after));
        let mut events = Vec::new();
        let mut bytes = 0;
        for event in self.events[from..].iter().filter(|event| filter.matches(event)) {
            bytes += event.payload.len() + event.metadata.len();
            events.push(event.clone());
            if events.len() >= limits.events || bytes >= limits.bytes {
                return Batch { read_to: Some(event.position.clone()), events, more: true };
            }
        }
        Batch { events, read_to: self.head(), more: false }
    }

    pub(crate) fn read_exact(&self, positions: &[Position]) -> Vec<StoredEvent> {
        let mut found: Vec<_> = positions.iter().filter_map(|position| self.index(position)).collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|index| self.events[index].clone()).collect()
    }

    pub(crate) fn head(&self) -> Option<Position> {
        self.events.last().map(|event| event.position.clone())
    }

    /// The last position before the first event that was recorded at `time` or later.
    pub(crate) fn before(&self, time: Timestamp) -> Option<Position> {
        let before = self.events.iter().take_while(|event| event.recorded_at < time);
        before.last().map(|event| event.position.clone())
    }

    pub(crate) fn count_after(&self, after: Option<&Position>, at_most: u64) -> u64 {
        let from = after.map_or(0, |after| self.events.partition_point(|event| event.position <= *after));
        u64::try_from(self.events.len() - from).unwrap_or(u64::MAX).min(at_most)
    }

    pub(crate) fn validate(&self, position: &Position) -> PositionCheck {
        PositionCheck::of_number(position, self.head().as_ref())
    }

    fn known(&self, id: EventId) -> Option<KnownEvent<'_>> {
        let event = &self.events[self.index(self.by_id.get(&id)?)?];
        Some(KnownEvent {
            position: event.position.clone(),
            version: event.version,
            name: &event.name,
            context: &event.context,
            key: event.key.as_deref(),
            content_type: &event.content_type,
            payload: &event.payload,
            metadata: &event.metadata,
        })
    }

    fn index(&self, position: &Position) -> Option<usize> {
        self.events.binary_search_by(|event| event.position.cmp(position)).ok()
    }

    /// Up to where events may be gone.
    pub(crate) fn pruned(&self) -> Option<Position> {
        (self.pruned > 0).then(|| Position::from_u64(self.pruned))
    }

    /// Takes out, or counts, what is settled up to `bound`: see [`EventStore::prune`](super::EventStore::prune).
    pub(crate) fn prune(&mut self, piece: &Prune, bound: Option<&Position>) -> Pruned {
        let from = piece.after.as_ref().and_then(Position::as_u64).unwrap_or(0).max(self.pruned);
        let begin = self.events.partition_point(|event| event.position <= Position::from_u64(from));
        let newest = self.events.len().saturating_sub(1);
        let settled = self.events[begin..newest.max(begin)].iter();
        let settled = settled.take_while(|event| Some(&event.position) <= bound).take(piece.events.max(1));
        let seen = settled.clone().count();
        let old: Vec<_> = settled.take_while(|event| event.recorded_at < piece.before).cloned().collect();
        let to = old.last().and_then(|event| event.position.as_u64()).unwrap_or(from);
        let more = seen == piece.events.max(1) && old.len() == seen;
        let before = |event: &StoredEvent| match (&event.key, event.version) {
            (Some(key), Some(version)) => self.events.iter().position(|one| {
                one.context == event.context && one.key.as_ref() == Some(key) && one.version == version.checked_sub(1)
            }),
            _ => self.index(&event.position),
        };
        let mut gone: Vec<usize> = old.iter().filter_map(before).collect();
        gone.sort_unstable();
        if !piece.dry {
            self.pruned = to;
            for index in gone.iter().rev() {
                let event = self.events.remove(*index);
                self.by_id.remove(&event.id);
            }
        }
        let events = u64::try_from(gone.len()).unwrap_or(u64::MAX);
        Pruned { events, to: (to > 0).then(|| Position::from_u64(to)), more, slowest: None }
    }

    /// One allocation per distinct text.
    fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return Arc::clone(known);
        }
        let name: Arc<str> = text.into();
        self.names.insert(text.to_owned(), Arc::clone(&name));
        name
    }
}
