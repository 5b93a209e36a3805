//! `append` and `append-concurrent`: one after the other, in hundreds, and by sixteen writers at once.

use evento_runtime::Expected;
use evento_runtime::store::Store;
use tokio::task::JoinSet;

use crate::Options;
use crate::appending_by_hand as by_hand;
use crate::events::drafted;
use crate::places::{Kind, Place};
use crate::reading::timed;
use crate::report::Report;
use crate::turns::{Check, Run, alternate};

pub(crate) const WRITERS: u64 = 16;

pub(crate) async fn alone(options: &Options, report: &mut Report) {
    for kind in Kind::DATABASES {
        let Some(place) = kind.open().await else { continue };
        let store = place.store().await;
        place.run(by_hand::table(&place)).await;
        for batch in [1, 100] {
            let events = if batch == 1 { options.events(5_000, 500) } else { options.events(100_000, 10_000) };
            let ours = async || ours(&place, &store, events, batch).await;
            let limit = async || by_hand::alone(&place, events, batch).await;
            assert!(limit().await.check == Check::count(events));
            let scenario = if batch == 1 { "append/singly" } else { "append/hundreds" };
            alternate(report, scenario, place.name(), 0.85, ours, limit).await;
        }
        place.close().await;
    }
}

async fn ours(place: &Place, store: &Store, events: u64, batch: u64) -> Run {
    let before = by_hand::stored(place, "evento_event").await;
    let store = store.clone();
    let work = async move {
        for first in (1..=events).step_by(usize::try_from(batch).unwrap()) {
            let events = (first..first + batch).map(drafted);
            store.append(None::<String>, Expected::Any, events).await.unwrap();
        }
    };
    let run = timed(events, in_a_task(work)).await;
    let stored = by_hand::stored(place, "evento_event").await - before;
    run.with(|| Check::count(stored))
}

/// As a server appends: on a thread of the runtime, and not on the one that waits for it to end.
pub(crate) async fn in_a_task(work: impl Future<Output = ()> + Send + 'static) -> Check {
    tokio::spawn(work).await.unwrap();
    Check::default()
}

pub(crate) async fn together(options: &Options, report: &mut Report) {
    for kind in Kind::DATABASES {
        let Some(place) = kind.open().await else { continue };
        let store = place.store().await;
        place.run(by_hand::table(&place)).await;
        let each = options.events(1_000, 100);
        let ours = async || {
            let before = by_hand::stored(&place, "evento_event").await;
            let run = timed(WRITERS * each, async {
                let mut writers = JoinSet::new();
                for writer in 0..WRITERS {
                    let store = store.clone();
                    writers.spawn(async move {
                        for n in 1..=each {
                            let event = drafted(n).key(format!("writer-{writer}"));
                            store.append(None::<String>, Expected::Any, [event]).await.unwrap();
                        }
                    });
                }
                writers.join_all().await;
                Check::default()
            });
            let run = run.await;
            let stored = by_hand::stored(&place, "evento_event").await - before;
            run.with(|| Check::count(stored))
        };
        let limit = async || by_hand::together(&place, each).await;
        assert!(limit().await.check == Check::count(WRITERS * each));
        alternate(report, "append-concurrent", place.name(), 0.9, ours, limit).await;
        place.close().await;
    }
}
