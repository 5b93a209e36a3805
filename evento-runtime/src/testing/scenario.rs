//! Given, when, then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::bundle::{Bundle, BundleBuilder, Running};
use crate::cluster::LeaseRenewal;
use crate::error::BoxError;
use crate::event::{Event, EventArgument, EventId, NewEvent, StoredEvent};
use crate::source::{Append, EventFilter, Expected, FetchLimits};
use crate::store::{LetterFilter, MemoryStore, Store, StoreConfig, StoredDeadLetter};
use crate::sync::{Mutex, lock};

/// Virtual time within which everything has to be settled: longer than any usual run of further attempts.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How long a stop waits for handlers, in virtual time.
const STOP: Duration = Duration::from_secs(60);

/// What a page of the log may hold.
const WHOLE: FetchLimits = FetchLimits { events: usize::MAX, bytes: usize::MAX };

/// The bundle did not come to rest within an hour of its clock.
#[derive(Debug, thiserror::Error)]
#[error("not settled within an hour of virtual time: {consumers}")]
pub struct NotSettled {
    consumers: String,
}

/// A bundle that runs over a store in memory. For tests inside of [`run`](super::run), or on a paused clock.
pub struct Scenario {
    store: Store,
    running: Running,
    /// What the test itself has appended.
    own: Mutex<BTreeSet<EventId>>,
}

impl Scenario {
    /// Starts what `wiring` adds to a bundle, over a log that holds `events`, and waits until they are settled.
    ///
    /// # Errors
    /// An event is refused, the launch is, or the bundle does not settle ([`NotSettled`]).
    pub async fn given(
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
        wiring: impl FnOnce(BundleBuilder) -> BundleBuilder,
    ) -> Result<Self, BoxError> {
        let memory = MemoryStore::new();
        let store = memory.store();
        let own = Mutex::default();
        append(&store, &own, events).await?;
        let running = wiring(builder(memory)).build()?.start().await?;
        settled(&running).await?;
        Ok(Self { store, running, own })
    }

    /// Appends events and waits until everything is settled, what handlers emit included.
    ///
    /// # Errors
    /// An event is refused, or the bundle does not settle ([`NotSettled`]).
    pub async fn when(&self, events: impl IntoIterator<Item = impl Into<NewEvent>>) -> Result<(), BoxError> {
        append(&self.store, &self.own, events).await?;
        settled(&self.running).await
    }

    /// The events of one type that handlers have emitted, in the order of the log.
    ///
    /// # Errors
    /// A payload is not one of this type.
    pub async fn emitted<E: Event>(&self) -> Result<Vec<E>, BoxError> {
        let mut found = Vec::new();
        for event in self.log().await? {
            let named = *event.name == *E::NAME || E::ALIASES.contains(&&*event.name);
            if named && !lock(&self.own).contains(&event.id) {
                found.push(E::decode(&Arc::new(event))?);
            }
        }
        Ok(found)
    }

    /// The whole log.
    ///
    /// # Errors
    /// None that a store in memory has.
    pub async fn log(&self) -> Result<Vec<StoredEvent>, BoxError> {
        Ok(self.store.events.fetch(None, WHOLE, &EventFilter::all()).await?.events)
    }

    /// The dead letters of all consumers, by consumer and in the order of the log.
    ///
    /// # Errors
    /// None that a store in memory has.
    pub async fn dead_letters(&self) -> Result<Vec<StoredDeadLetter>, BoxError> {
        dead_letters(&self.running).await
    }

    /// The bundle, to be steered or asked.
    pub const fn running(&self) -> &Running {
        &self.running
    }

    /// Stops the bundle.
    ///
    /// # Errors
    /// A handler does not end within a minute of virtual time.
    pub async fn stop(self) -> Result<(), BoxError> {
        Ok(self.running.stop(STOP).await?)
    }
}

/// A bundle with what every test wants.
pub(super) fn builder(store: impl StoreConfig) -> BundleBuilder {
    Bundle::builder("test").store(store).lease_renewal(LeaseRenewal::Runtime)
}

async fn append(
    store: &Store,
    own: &Mutex<BTreeSet<EventId>>,
    events: impl IntoIterator<Item = impl Into<NewEvent>>,
) -> Result<(), BoxError> {
    let events: Vec<NewEvent> = events.into_iter().map(Into::into).collect();
    if events.is_empty() {
        return Ok(());
    }
    let batch = Append::prepare(None::<String>, Expected::Any, events)?;
    lock(own).extend(batch.events.iter().map(|event| event.id));
    store.events.append(batch).await?;
    Ok(())
}

/// Waits until every consumer has settled everything there is, and nothing more has come of it.
pub(super) async fn settled(running: &Running) -> Result<(), BoxError> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(10);
    loop {
        let head = running.store().events.head().await?;
        let behind: Vec<_> = running.status().into_iter().filter(|status| status.watermark < head).collect();
        if behind.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let told = |status: &crate::consumer::ConsumerStatus| match (&status.reason, status.errors.recent.last()) {
                (_, Some(error)) => format!("{}: {}", status.consumer, error.error),
                (Some(reason), None) => format!("{}: {reason}", status.consumer),
                (None, None) => format!("{}: a handler does not end", status.consumer),
            };
            return Err(NotSettled { consumers: behind.iter().map(told).collect::<Vec<_>>().join(", ") }.into());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}

pub(super) async fn dead_letters(running: &Running) -> Result<Vec<StoredDeadLetter>, BoxError> {
    let mut letters = Vec::new();
    for consumer in running.consumers() {
        letters.extend(consumer.dead_letters(LetterFilter::all(), None, usize::MAX).await?);
    }
    Ok(letters)
}
