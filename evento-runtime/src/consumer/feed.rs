//! Reads ahead: one page at a time, in a task of its own, so that nothing that talks to a store is ever dropped.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::error::{StoreError, StoreErrorKind};
use crate::event::{EventId, Position};
use crate::identity::ConsumerId;
use crate::policy::RetryPolicy;
use crate::source::{Batch, EventFilter, EventSource, FetchLimits, Held};
use crate::store::{Checkpoint, ClaimState, DedupeStore};
use crate::task::Tasks;

/// Open positions of a stored checkpoint are read back in pieces of this size.
const RECOVERED_AT_ONCE: usize = 64;

/// How often a consumer looks for new events of a source that watches by itself.
const WATCHED: Duration = Duration::from_secs(300);

/// Pauses after failed reads: 100 ms, doubling, at most 5 s.
const READ_RETRY: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(100), max_delay: Duration::from_secs(5) };

/// A page, and how it belongs to what was read before.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) batch: Batch,
    /// Events that were open when the last ownership ended, rather than what follows.
    recovered: bool,
    /// What is known of claims, where events are claimed.
    pub(crate) claims: HashMap<EventId, ClaimState>,
}

/// What happened at the source.
#[derive(Debug)]
pub(crate) enum FeedEvent {
    Page(Page),
    /// The read failed; the feed tries again by itself after a pause.
    Failed(StoreError),
    /// A pause is over: ask again.
    Awake,
}

/// Reads for one ownership of one consumer.
pub(crate) struct Feed {
    source: Arc<dyn EventSource>,
    filter: EventFilter,
    claims: Option<(Arc<dyn DedupeStore>, Arc<ConsumerId>)>,
    tasks: Tasks,
    cursor: Option<Position>,
    recover: VecDeque<Position>,
    /// Where reading goes on once the open positions are read back.
    reach: Option<Position>,
    reading: Option<JoinHandle<Result<Page, StoreError>>>,
    pause: Option<Instant>,
    wake: watch::Receiver<u64>,
    poll: Duration,
    poll_bounds: (Duration, Duration),
    failures: u32,
    at_head: bool,
}

impl Feed {
    pub(crate) fn new(
        source: Arc<dyn EventSource>,
        filter: EventFilter,
        claims: Option<(Arc<dyn DedupeStore>, Arc<ConsumerId>)>,
        tasks: Tasks,
        checkpoint: &Checkpoint,
        poll_bounds: (Duration, Duration),
    ) -> Self {
        let wake = source.wake();
        let poll_bounds = if source.watches() { (WATCHED, WATCHED) } else { poll_bounds };
        Self {
            source,
            filter,
            claims,
            tasks,
            cursor: checkpoint.reach.clone(),
            recover: checkpoint.open.iter().cloned().collect(),
            reach: checkpoint.reach.clone(),
            reading: None,
            pause: None,
            wake,
            poll: poll_bounds.0,
            poll_bounds,
            failures: 0,
            at_head: false,
        }
    }

    /// Whether the last page ended at the head, and nothing is being read.
    pub(crate) const fn is_at_head(&self) -> bool {
        self.at_head && self.reading.is_none()
    }

    /// Whether a page is being read.
    pub(crate) const fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// What holds the source.
    pub(crate) fn held(&self) -> Option<Held> {
        self.source.held()
    }

    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// Holds the next read back until then, if that is later than planned.
    pub(crate) fn not_before(&mut self, instant: Instant) {
        if self.reading.is_none() && self.pause.is_none_or(|pause| pause < instant) {
            self.pause = Some(instant);
        }
    }

    /// Begins to read, if there is room, no read under way, and no pause.
    pub(crate) fn read(&mut self, room: FetchLimits) {
        if self.reading.is_some() || self.pause.is_some() || room.events == 0 {
            return;
        }
        // Before the read: a hint that comes during it is kept.
        self.wake.mark_unchanged();
        let (source, filter, claims) = (Arc::clone(&self.source), self.filter.clone(), self.claims.clone());
        if self.recover.is_empty() {
            let after = self.cursor.clone();
            self.reading = Some(self.tasks.spawn(async move {
                let batch = source.fetch(after.as_ref(), room, &filter).await?;
                Ok(Page { recovered: false, claims: ask(claims, &batch).await?, batch })
            }));
        } else {
            let some = self.recover.iter().take(RECOVERED_AT_ONCE.min(room.events)).cloned().collect::<Vec<_>>();
            let read_to = if some.len() == self.recover.len() { self.reach.clone() } else { some.last().cloned() };
            self.reading = Some(self.tasks.spawn(async move {
                let mut events = source.read_exact(&some).await?;
                events.retain(|event| filter.matches(event));
                let batch = Batch { events, read_to, more: true };
                Ok(Page { recovered: true, claims: ask(claims, &batch).await?, batch })
            }));
        }
    }

    /// The next thing that happens. Cancel-safe: what is read stays here until it is returned.
    pub(crate) async fn next(&mut self) -> FeedEvent {
        if let Some(reading) = &mut self.reading {
            let result = reading.await;
            self.reading = None;
            return self.finish(result.unwrap_or_else(|error| {
                Err(StoreError::new(StoreErrorKind::Other, self.source.describe()).caused_by(error))
            }));
        }
        let Some(pause) = self.pause else { return std::future::pending().await };
        if self.failures > 0 {
            tokio::time::sleep_until(pause).await;
        } else {
            tokio::select! {
                biased;
                // A source that is gone has no hints; the poll goes on.
                Ok(()) = self.wake.changed() => self.poll = self.poll_bounds.0,
                () = tokio::time::sleep_until(pause) => {}
            }
        }
        self.pause = None;
        FeedEvent::Awake
    }

    fn finish(&mut self, result: Result<Page, StoreError>) -> FeedEvent {
        match result {
            Ok(page) => {
                self.failures = 0;
                self.advance(&page);
                FeedEvent::Page(page)
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.pause = Some(Instant::now() + READ_RETRY.backoff(self.failures, fastrand::f64()));
                FeedEvent::Failed(error)
            }
        }
    }

    fn advance(&mut self, page: &Page) {
        let batch = &page.batch;
        if page.recovered {
            let read_to = batch.read_to.as_ref();
            while self.recover.front().is_some_and(|position| Some(position) <= read_to) {
                self.recover.pop_front();
            }
            return;
        }
        if batch.read_to > self.cursor {
            self.cursor.clone_from(&batch.read_to);
        }
        self.at_head = !batch.more;
        if batch.more || !batch.events.is_empty() {
            self.poll = self.poll_bounds.0;
        }
        if !batch.more {
            self.pause = Some(Instant::now() + self.poll);
            self.poll = (self.poll * 2).min(self.poll_bounds.1);
        }
    }
}

/// What is known of the claims of a page.
async fn ask(
    claims: Option<(Arc<dyn DedupeStore>, Arc<ConsumerId>)>,
    batch: &Batch,
) -> Result<HashMap<EventId, ClaimState>, StoreError> {
    let Some((store, consumer)) = claims.filter(|_| !batch.events.is_empty()) else { return Ok(HashMap::new()) };
    let ids: Vec<EventId> = batch.events.iter().map(|event| event.id).collect();
    Ok(store.claims(&consumer, &ids).await?.into_iter().collect())
}
