//! Pages of the log that were just read, for consumers that read it beside each other: one read feeds all that ask for
//! the same at the same time, or a little later.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{Batch, EventFilter, FetchLimits};
use crate::clock::monotonic;
use crate::error::StoreError;
use crate::event::{Position, StoredEvent};
use crate::sync::{Mutex, lock};

/// Bytes of all pages that are kept, roughly.
const BYTES: usize = 16 * 1_024 * 1_024;

/// A page is not given to anybody who asks later than this.
const KEPT: Duration = Duration::from_secs(2);

/// Pages of one log.
#[derive(Default)]
pub(crate) struct Pages {
    shelf: Mutex<Shelf>,
    /// A read has ended.
    ended: Notify,
}

#[derive(Default)]
struct Shelf {
    pages: VecDeque<Arc<Page>>,
    bytes: usize,
    /// Reads under way.
    reading: Vec<(Option<Position>, EventFilter)>,
    /// Questions so far.
    asked: u64,
}

struct Page {
    after: Option<Position>,
    filter: EventFilter,
    batch: Batch,
    weight: usize,
    read_at: Instant,
    /// The last question that was asked before this was read.
    covers: u64,
}

impl Page {
    /// Whether it answers a question. Below its end nothing changes any more; at the head of the log it is an answer
    /// only to who asked before it was read, since others may know of newer events.
    fn answers(&self, asked: u64, after: Option<&Position>, filter: &EventFilter) -> bool {
        if self.filter != *filter && !self.filter.is_all() {
            return false;
        }
        let after_this = self.after.as_ref();
        if self.batch.more {
            after_this <= after && after < self.batch.read_to.as_ref()
        } else {
            after_this == after && asked <= self.covers
        }
    }

    /// The answer.
    fn part(&self, after: Option<&Position>, limits: FetchLimits, filter: &EventFilter) -> Batch {
        let same = self.filter == *filter;
        let from = self.batch.events.partition_point(|event| Some(&event.position) <= after);
        let (mut events, mut bytes): (Vec<StoredEvent>, _) = (Vec::new(), 0);
        for event in self.batch.events[from..].iter().filter(|event| same || filter.matches(event)) {
            if events.len() >= limits.events || bytes >= limits.bytes {
                let read_to = events.last().map(|event| event.position.clone());
                return Batch { events, read_to, more: true };
            }
            bytes += event.payload.len() + event.metadata.len();
            events.push(event.clone());
        }
        Batch { events, read_to: self.batch.read_to.clone(), more: self.batch.more }
    }
}

/// What is to be done about a question.
enum Turn {
    Answered(Arc<Page>),
    /// Somebody reads the same; there will be an answer, or the next turn.
    Wait,
    /// Nobody does. The read answers everything that was asked so far.
    Read(u64),
}

impl Pages {
    /// The page, from among those kept, or by `read`.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn fetch(
        &self,
        after: Option<&Position>,
        limits: FetchLimits,
        filter: &EventFilter,
        read: impl Future<Output = Result<Batch, StoreError>> + Send,
    ) -> Result<Batch, StoreError> {
        let asked = {
            let mut shelf = lock(&self.shelf);
            shelf.asked += 1;
            shelf.asked
        };
        let covers = loop {
            // Before the look, so that no end is missed.
            let ended = self.ended.notified();
            match lock(&self.shelf).turn(asked, after, filter) {
                Turn::Answered(page) => return Ok(page.part(after, limits, filter)),
                Turn::Read(covers) => break covers,
                Turn::Wait => {}
            }
            ended.await;
        };
        let reading = Reading { pages: self, after: after.cloned(), filter: filter.clone() };
        let batch = read.await?;
        lock(&self.shelf).keep(after.cloned(), filter.clone(), &batch, covers);
        drop(reading);
        Ok(batch)
    }
}

impl Shelf {
    fn turn(&mut self, asked: u64, after: Option<&Position>, filter: &EventFilter) -> Turn {
        self.forget_old();
        if let Some(page) = self.pages.iter().rev().find(|page| page.answers(asked, after, filter)) {
            return Turn::Answered(Arc::clone(page));
        }
        if self.reading.iter().any(|(from, of)| from.as_ref() == after && of == filter) {
            return Turn::Wait;
        }
        self.reading.push((after.cloned(), filter.clone()));
        Turn::Read(self.asked)
    }

    fn keep(&mut self, after: Option<Position>, filter: EventFilter, batch: &Batch, covers: u64) {
        let weight = size_of::<Page>() + batch.events.iter().map(StoredEvent::weight).sum::<usize>();
        if weight > BYTES {
            return;
        }
        self.bytes += weight;
        let page = Page { after, filter, batch: batch.clone(), weight, read_at: monotonic(), covers };
        self.pages.push_back(Arc::new(page));
        while self.bytes > BYTES {
            self.forget_first();
        }
    }

    fn forget_old(&mut self) {
        let now = monotonic();
        while self.pages.front().is_some_and(|page| now.saturating_duration_since(page.read_at) > KEPT) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(page) = self.pages.pop_front() {
            self.bytes -= page.weight;
        }
    }
}

/// A read under way. When it ends, however it ends, whoever waits for it looks again.
struct Reading<'p> {
    pages: &'p Pages,
    after: Option<Position>,
    filter: EventFilter,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut shelf = lock(&self.pages.shelf);
        shelf.reading.retain(|(after, filter)| *after != self.after || *filter != self.filter);
        drop(shelf);
        self.pages.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use futures_util::future::join_all;

    use super::*;
    use crate::event::{EventId, JSON, Timestamp};
    use crate::identity::ContextPattern;

    const LIMITS: FetchLimits = FetchLimits { events: 3, bytes: usize::MAX };

    fn event(n: u64) -> StoredEvent {
        StoredEvent {
            position: Position::from_u64(n),
            id: EventId::generate(),
            name: if n.is_multiple_of(2) { "Even" } else { "Odd" }.into(),
            context: "default".into(),
            key: None,
            version: None,
            recorded_at: Timestamp::default(),
            content_type: JSON.into(),
            payload: Bytes::from_static(b"{}"),
            metadata: Bytes::new(),
        }
    }

    /// A log of numbers up to its head, that counts how often it was read.
    struct Numbers {
        head: AtomicUsize,
        reads: AtomicUsize,
        pages: Pages,
    }

    impl Numbers {
        fn new(head: usize) -> Self {
            Self { head: AtomicUsize::new(head), reads: AtomicUsize::new(0), pages: Pages::default() }
        }

        async fn fetch(&self, after: u64, limits: FetchLimits, filter: &EventFilter) -> (Vec<u64>, u64, bool) {
            let read = async {
                let head = self.head.load(Ordering::SeqCst) as u64;
                self.reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                let all = (after + 1..=head).map(event).filter(|event| filter.matches(event));
                let events: Vec<_> = all.take(limits.events).collect();
                let more = events.len() == limits.events;
                let read_to = if more {
                    events.last().map(|event| event.position.clone())
                } else {
                    Some(Position::from_u64(head))
                };
                Ok(Batch { events, read_to, more })
            };
            let after = Some(Position::from_u64(after)).filter(|_| after > 0);
            let batch = self.pages.fetch(after.as_ref(), limits, filter, read).await.unwrap();
            let numbers = batch.events.iter().filter_map(|event| event.position.as_u64()).collect();
            (numbers, batch.read_to.and_then(|position| position.as_u64()).unwrap_or(0), batch.more)
        }
    }

    fn even() -> EventFilter {
        EventFilter::new(Some(std::iter::once("Even".to_owned()).collect()), ContextPattern::All)
    }

    #[tokio::test]
    async fn one_read_feeds_all_that_ask_together_or_a_little_later() {
        let log = Numbers::new(10);
        let all = EventFilter::all();
        let asked = join_all((0..100).map(|_| log.fetch(0, LIMITS, &all))).await;
        assert!(asked.iter().all(|answer| *answer == (vec![1, 2, 3], 3, true)));
        assert_eq!(log.reads.load(Ordering::SeqCst), 1);
        // From its middle, in smaller pieces, and for who wants less of it.
        assert_eq!(log.fetch(1, FetchLimits { events: 1, ..LIMITS }, &all).await, (vec![2], 2, true));
        assert_eq!(log.fetch(0, LIMITS, &even()).await, (vec![2], 3, true));
        assert_eq!(log.reads.load(Ordering::SeqCst), 1);
        // Its end is where the next one begins.
        assert_eq!(log.fetch(3, LIMITS, &all).await, (vec![4, 5, 6], 6, true));
        assert_eq!(log.reads.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_filtered_page_is_for_that_filter_only() {
        let log = Numbers::new(10);
        assert_eq!(log.fetch(0, LIMITS, &even()).await, (vec![2, 4, 6], 6, true));
        assert_eq!(log.fetch(0, LIMITS, &EventFilter::all()).await, (vec![1, 2, 3], 3, true));
        assert_eq!(log.reads.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn what_was_appended_before_a_question_is_in_its_answer() {
        let log = Arc::new(Numbers::new(1));
        let all = EventFilter::all();
        let (first, second) = tokio::join!(log.fetch(0, LIMITS, &all), async {
            // The first has begun to read and does not see this; who asks afterwards has to.
            log.head.store(2, Ordering::SeqCst);
            let asked = join_all((0..50).map(|_| log.fetch(0, LIMITS, &all))).await;
            assert!(asked.iter().all(|answer| answer.0 == [1, 2]), "{asked:?}");
        });
        assert_eq!((first.0, second), (vec![1], ()));
        assert_eq!(log.reads.load(Ordering::SeqCst), 2, "one for all of the later ones");
    }

    #[tokio::test]
    async fn a_read_that_fails_or_is_dropped_is_the_next_ones_turn() {
        let log = Numbers::new(10);
        let all = EventFilter::all();
        let failed = async { Err(StoreError::new(crate::error::StoreErrorKind::Busy, "log")) };
        assert!(log.pages.fetch(None, LIMITS, &all, failed).await.is_err());
        let never = log.pages.fetch(None, LIMITS, &all, std::future::pending());
        tokio::select! {
            biased;
            _ = never => unreachable!("it never ends"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(log.fetch(0, LIMITS, &all).await.0, [1, 2, 3]);
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_in_bytes() {
        let log = Numbers::new(100_000);
        let limits = FetchLimits { events: 1_000, bytes: usize::MAX };
        for page in 0..100 {
            log.fetch(page * 1_000, limits, &EventFilter::all()).await;
        }
        let shelf = lock(&log.pages.shelf);
        assert!(shelf.bytes <= BYTES && shelf.pages.len() < 100 && shelf.reading.is_empty(), "{}", shelf.bytes);
    }
}
