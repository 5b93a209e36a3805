//! `dispatch`: what the engine itself takes, with nothing under it and nothing to do.

use std::sync::Arc;

use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, ConsumerExecutors, StoredEvent};
use tokio::sync::Semaphore;

use crate::Options;
use crate::places::{Place, consume};
use crate::reading::{Tally, last, read_untyped, timed};
use crate::reading_by_hand::vector;
use crate::report::Report;
use crate::turns::{Run, alternate};

const AT_ONCE: usize = 64;

struct Empty(Tally);

#[projector(version = 1)]
impl Empty {
    #[event_handler(executor = "pool")]
    async fn any(&self, event: RawEvent) {
        handle(&self.0, &event).await;
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

async fn handle(tally: &Tally, event: &StoredEvent) {
    tally.add(event.payload.len() as u64);
}

pub(crate) async fn run(options: &Options, report: &mut Report) {
    let events = options.events(500_000, 100_000);
    let place = Place::memory();
    place.fill(1, events).await;
    let log = vector(&place).await;
    let limit = async || {
        let tally = Tally::new(events);
        let run = timed(events, async {
            for event in &log {
                handle(&tally, event).await;
            }
            tally.check()
        });
        run.await
    };
    // Beside a loop that does nothing there is no ratio to aim at: the rate is, a million a second.
    alternate(report, "dispatch/sequential", place.name(), 0.0, async || read_untyped(&place, events).await, limit)
        .await;
    for ordered in [false, true] {
        let scenario = if ordered { "dispatch/partitioned" } else { "dispatch/tasks" };
        let make = if ordered { ConsumerExecutors::partitioned } else { ConsumerExecutors::tasks };
        let ours = async || {
            let tally = Tally::new(events);
            let build = |builder: evento_runtime::bundle::BundleBuilder| {
                builder.executor(make("pool", AT_ONCE)).checkpoint_mode(CheckpointMode::Watermark)
            };
            let took = consume(&place, Empty(tally.clone()), build, tally.all(), &last(events)).await;
            Run::new(took, events, tally.check())
        };
        let limit = async || {
            let (tally, log) = (Tally::new(events), log.clone());
            let run = timed(events, async {
                behind_permits(&tally, log).await;
                tally.check()
            });
            run.await
        };
        alternate(report, scenario, place.name(), 0.8, ours, limit).await;
    }
    place.close().await;
}

/// A task an event behind a semaphore.
async fn behind_permits(tally: &Tally, log: Vec<Arc<StoredEvent>>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    for event in log {
        let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
        let tally = tally.clone();
        tokio::spawn(async move {
            handle(&tally, &event).await;
            drop(permit);
        });
    }
    tally.all().await;
}
