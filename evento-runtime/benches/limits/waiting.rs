//! `io-2ms` and `hot-key`: handlers that wait, 64 at once.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, ConsumerExecutors, Expected, StoredEvent};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::Options;
use crate::events::{counted, drafted};
use crate::places::{Place, consume};
use crate::reading::{Tally, last, timed};
use crate::reading_by_hand::vector;
use crate::report::Report;
use crate::turns::{Run, alternate};

const AT_ONCE: usize = 64;
const WAIT: Duration = Duration::from_millis(2);

struct Waiting(Tally);

#[projector(version = 1)]
impl Waiting {
    #[event_handler(executor = "waiting")]
    async fn any(&self, event: RawEvent) {
        wait(&self.0, &event).await;
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

async fn wait(tally: &Tally, event: &StoredEvent) {
    tokio::time::sleep(WAIT).await;
    tally.add(event.payload.len() as u64);
}

pub(crate) async fn on_timers(options: &Options, report: &mut Report) {
    let events = options.events(40_000, 6_000);
    let place = Place::memory();
    place.fill(1, events).await;
    let log = vector(&place).await;
    for ordered in [false, true] {
        let ours = async || ours(&place, events, ordered).await;
        let limit = async || {
            let (tally, log) = (Tally::new(events), log.clone());
            let run = timed(events, async {
                behind_permits(&tally, log).await;
                tally.check()
            });
            run.await
        };
        assert!(limit().await.check == counted(events));
        let scenario = if ordered { "io-2ms/partitioned" } else { "io-2ms/tasks" };
        alternate(report, scenario, place.name(), 0.95, ours, limit).await;
    }
    place.close().await;
}

async fn ours(place: &Place, events: u64, ordered: bool) -> Run {
    let tally = Tally::new(events);
    let make = if ordered { ConsumerExecutors::partitioned } else { ConsumerExecutors::tasks };
    let build = |builder: evento_runtime::bundle::BundleBuilder| {
        builder.executor(make("waiting", AT_ONCE)).checkpoint_mode(CheckpointMode::Watermark)
    };
    let took = consume(place, Waiting(tally.clone()), build, tally.all(), &last(events)).await;
    Run::new(took, events, tally.check())
}

/// A task an event behind a semaphore.
async fn behind_permits(tally: &Tally, log: Vec<Arc<StoredEvent>>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    for event in log {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let tally = tally.clone();
        tokio::spawn(async move {
            wait(&tally, &event).await;
            drop(permit);
        });
    }
    tally.all().await;
}

/// Half of all events have one key.
pub(crate) async fn hot_key(options: &Options, report: &mut Report) {
    let events = options.events(2_000, 400);
    let place = Place::memory();
    let store = place.store().await;
    for n in 1..=events {
        let event = drafted(n);
        let event = if n % 2 == 0 { event.key("hot") } else { event };
        store.append(None::<String>, Expected::Any, [event]).await.unwrap();
    }
    let log = vector(&place).await;
    let ours = async || ours(&place, events, true).await;
    let limit = async || {
        let (tally, log) = (Tally::new(events), log.clone());
        let run = timed(events, async {
            by_key(&tally, log).await;
            tally.check()
        });
        run.await
    };
    alternate(report, "hot-key", place.name(), 0.9, ours, limit).await;
    place.close().await;
}

/// One task for the hot key, which never waits for anything else, and the rest behind the other permits.
async fn by_key(tally: &Tally, log: Vec<Arc<StoredEvent>>) {
    let (hot, mut of_hot) = mpsc::unbounded_channel::<Arc<StoredEvent>>();
    let mut tasks = JoinSet::new();
    let counting = tally.clone();
    tasks.spawn(async move {
        while let Some(event) = of_hot.recv().await {
            wait(&counting, &event).await;
        }
    });
    let permits = Arc::new(Semaphore::new(AT_ONCE - 1));
    let (hot_ones, others): (Vec<_>, Vec<_>) = log.into_iter().partition(|event| event.key.as_deref() == Some("hot"));
    hot_ones.into_iter().for_each(|event| hot.send(event).unwrap());
    drop(hot);
    for event in others {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let tally = tally.clone();
        tasks.spawn(async move {
            wait(&tally, &event).await;
            drop(permit);
        });
    }
    tally.all().await;
}
