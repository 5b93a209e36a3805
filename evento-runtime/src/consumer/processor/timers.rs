//! Timers: an event that is to be appended later is kept with its saga instance, and appended by whoever owns the
//! consumer when it is due. From then on it is an event like any other.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ConsumerProcessor;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Timestamp;
use crate::store::{SagaStateStore, Timer};

/// Timers fired at once.
const AT_ONCE: usize = 64;

/// The longest time without a look: the clock may have been set.
const LOOK: Duration = Duration::from_secs(60);

/// The pause after a look that failed.
const AGAIN: Duration = Duration::from_secs(1);

/// The timers of one consumer.
pub(super) struct Timers {
    store: Arc<dyn SagaStateStore>,
    /// When to look; `None`: there are none.
    look_at: Option<Instant>,
    reading: Option<JoinHandle<Result<Vec<Timer>, StoreError>>>,
    /// Whether due ones are being stored.
    firing: bool,
}

impl Timers {
    /// What an earlier ownership left is looked for at once.
    pub(super) fn new(store: Arc<dyn SagaStateStore>) -> Self {
        Self { store, look_at: Some(Instant::now()), reading: None, firing: false }
    }

    /// The timers that are being read; never, if none are. Cancel-safe: the read goes on in its own task.
    pub(super) async fn read(timers: &mut Option<Self>) -> Result<Vec<Timer>, StoreError> {
        match timers.as_mut().and_then(|timers| timers.reading.as_mut()) {
            Some(reading) => reading
                .await
                .unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Other, "timers").caused_by(error))),
            None => std::future::pending().await,
        }
    }

    fn due(&self) -> Option<Instant> {
        self.look_at.filter(|_| self.reading.is_none() && !self.firing)
    }

    fn look_in(&mut self, wait: Duration) {
        let at = Instant::now() + wait.min(LOOK);
        self.look_at = Some(self.look_at.map_or(at, |look_at| look_at.min(at)));
    }
}

impl ConsumerProcessor {
    /// When timers are to be looked for.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.timers.as_ref().filter(|_| self.may_begin()).and_then(Timers::due)
    }

    pub(super) fn read_timers(&mut self, now: Instant) {
        if self.next_look().is_none_or(|look_at| look_at > now) {
            return;
        }
        let id = Arc::clone(&self.plan.id);
        let Some(timers) = &mut self.timers else { return };
        timers.look_at = None;
        let store = Arc::clone(&timers.store);
        timers.reading = Some(self.tasks.spawn(async move { store.timers(&id, AT_ONCE).await }));
    }

    pub(super) fn take_timers(&mut self, read: Result<Vec<Timer>, StoreError>) {
        let Some(timers) = &mut self.timers else { return };
        timers.reading = None;
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                timers.look_in(AGAIN);
                return self.note_store_failure(&error);
            }
        };
        let now = self.clock.now();
        let (due, later): (Vec<_>, Vec<_>) = read.into_iter().partition(|timer| timer.due_at <= now);
        if let Some(next) = later.first() {
            timers.look_in(next.due_at.since(now));
        }
        if !due.is_empty() {
            timers.firing = true;
            self.settler.fire(due.into_iter().map(|timer| timer.event).collect());
        }
    }

    /// Due ones were stored: there may be more than were read at once.
    pub(super) fn timers_fired(&mut self) {
        if let Some(timers) = &mut self.timers {
            timers.firing = false;
            timers.look_in(Duration::ZERO);
        }
    }

    /// A timer was stored.
    pub(super) fn timer_stored(&mut self, due_at: Timestamp) {
        let now = self.clock.now();
        if let Some(timers) = &mut self.timers {
            timers.look_in(due_at.since(now));
        }
    }
}
