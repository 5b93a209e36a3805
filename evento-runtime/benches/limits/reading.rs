//! `catchup`, `catchup-stream` and `catchup-json`: a new consumer over a log that is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use evento_runtime::prelude::*;
use tokio::sync::Notify;

use crate::Options;
use crate::events::{Measured, added, counted};
use crate::places::{Kind, Place, consume};
use crate::reading_by_hand as by_hand;
use crate::report::Report;
use crate::turns::{Check, Run, alternate};

/// Counts what it is given.
#[derive(Clone)]
pub(crate) struct Tally(Arc<Inner>);

struct Inner {
    wanted: u64,
    count: AtomicU64,
    sum: AtomicU64,
    all: Notify,
}

impl Tally {
    pub(crate) fn new(wanted: u64) -> Self {
        Self(Arc::new(Inner { wanted, count: AtomicU64::new(0), sum: AtomicU64::new(0), all: Notify::new() }))
    }

    pub(crate) fn add(&self, value: u64) {
        self.0.sum.fetch_add(value, Ordering::Relaxed);
        if self.0.count.fetch_add(1, Ordering::AcqRel) + 1 == self.0.wanted {
            self.0.all.notify_one();
        }
    }

    /// Waits for as many as are wanted.
    pub(crate) async fn all(&self) {
        self.0.all.notified().await;
    }

    pub(crate) fn check(&self) -> Check {
        Check::new(self.0.count.load(Ordering::Acquire), self.0.sum.load(Ordering::Acquire))
    }
}

/// Takes events as they are.
struct Untyped(Tally);

#[projector(version = 1)]
impl Untyped {
    #[event_handler]
    async fn any(&self, event: RawEvent) {
        self.0.add(event.payload.len() as u64);
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

/// Takes events by their type.
struct Typed(Tally);

#[projector(version = 1)]
impl Typed {
    #[event_handler]
    async fn measured(&self, event: Measured) {
        self.0.add(event.amount.unsigned_abs());
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

pub(crate) async fn untyped(options: &Options, report: &mut Report) {
    let events = options.events(200_000, 20_000);
    for kind in Kind::ALL {
        let Some(place) = kind.open().await else { continue };
        place.fill(1, events).await;
        let ours = async || read_untyped(&place, events).await;
        let limit = async || by_hand::page(&place, events).await;
        assert!(limit().await.check == counted(events));
        alternate(report, "catchup", place.name(), 0.85, ours, limit).await;
        place.close().await;
    }
}

/// Beside rows that are looked at and not kept. There is no aim: a handler gets events that are its own.
pub(crate) async fn beside_a_stream(options: &Options, report: &mut Report) {
    let events = options.events(200_000, 20_000);
    for kind in Kind::READ {
        let Some(place) = kind.open().await else { continue };
        place.fill(1, events).await;
        let ours = async || read_untyped(&place, events).await;
        let limit = async || by_hand::stream(&place, events).await;
        assert!(limit().await.check == counted(events));
        alternate(report, "catchup-stream", place.name(), 0.0, ours, limit).await;
        place.close().await;
    }
}

pub(crate) async fn typed(options: &Options, report: &mut Report) {
    let events = options.events(200_000, 20_000);
    for kind in Kind::ALL {
        let Some(place) = kind.open().await else { continue };
        place.fill(1, events).await;
        let ours = async || {
            let tally = Tally::new(events);
            let took = consume(&place, Typed(tally.clone()), |builder| builder, tally.all(), &last(events)).await;
            Run::new(took, events, tally.check())
        };
        let limit = async || by_hand::page_typed(&place, events).await;
        assert!(limit().await.check == added(events));
        alternate(report, "catchup-json", place.name(), 0.85, ours, limit).await;
        place.close().await;
    }
}

pub(crate) async fn read_untyped(place: &Place, events: u64) -> Run {
    let tally = Tally::new(events);
    let took = consume(place, Untyped(tally.clone()), |builder| builder, tally.all(), &last(events)).await;
    Run::new(took, events, tally.check())
}

/// Positions begin at 1 in every store.
pub(crate) fn last(events: u64) -> Position {
    Position::from_u64(events)
}

/// A run that is timed from here.
pub(crate) async fn timed(events: u64, work: impl Future<Output = Check>) -> Run {
    let began = Instant::now();
    let check = work.await;
    Run::new(began.elapsed(), events, check)
}
