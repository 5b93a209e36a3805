//! Statements of a database, for events and for none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evento_runtime::bundle::BundleBuilder;
use evento_runtime::prelude::*;
use evento_runtime::store::{Sqlite, SqliteStore, Synchronous};
use evento_runtime::{Bundle, Expected, Running};
use serde::{Deserialize, Serialize};

use crate::traced::Statements;

const EVENTS: u64 = 10_000;

#[derive(Debug, Serialize, Deserialize, Event)]
struct Made {
    n: u64,
}

macro_rules! consumers {
    ($($name:ident)*) => {
        $(
            #[derive(Default)]
            struct $name;

            #[projector(version = 1)]
            impl $name {
                #[event_handler]
                async fn made(&self, event: Made, Dep(seen): Dep<Arc<AtomicU64>>) {
                    seen.fetch_add(u64::from(event.n < EVENTS), Ordering::Relaxed);
                }
            }
        )*

        fn ten(builder: BundleBuilder) -> BundleBuilder {
            builder$(.register::<$name>())*
        }
    };
}

consumers! { C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 }

async fn store(folder: &tempfile::TempDir) -> (SqliteStore, Position) {
    let config = Sqlite::file(folder.path().join("cost.db")).synchronous(Synchronous::Normal);
    let store = config.open().await.unwrap();
    let mut last = None;
    for first in (0..EVENTS).step_by(1_000) {
        let events = (first..first + 1_000).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 100)));
        last = Some(store.append(None::<String>, Expected::Any, events).await.unwrap().last);
    }
    (store, last.unwrap())
}

async fn settled(running: &Running, last: &Position) {
    for cell in running.supervisor().status_cells() {
        let mut status = cell.subscribe();
        let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(last)).await.unwrap();
    }
}

async fn stop(running: Running) {
    running.stop(Duration::from_secs(30)).await.unwrap();
}

fn pages(told: &[String]) -> usize {
    told.iter().filter(|sql| sql.contains("evento_event") && sql.contains("LIMIT")).count()
}

#[tokio::test]
async fn a_thousand_events_are_a_page_and_a_few_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let statements = Statements::new();
    let (store, last) = store(&folder).await;
    let seen = Arc::new(AtomicU64::new(0));
    let running = Bundle::builder("one").register::<C0>().provide(Arc::clone(&seen)).store(store.clone());
    let running = running.build().unwrap().start().await.unwrap();
    statements.take();
    settled(&running, &last).await;
    let told = statements.take();
    assert_eq!(seen.load(Ordering::Relaxed), EVENTS);
    assert!(pages(&told) <= 12, "{} pages of 1,000 events", pages(&told));
    let checkpoints = told.iter().filter(|sql| sql.contains("INTO evento_checkpoint")).count();
    assert!(checkpoints <= 45, "{checkpoints} checkpoints: one every 256 events");
    let commits = told.iter().filter(|sql| *sql == "COMMIT").count();
    assert!(commits <= 5, "{commits} transactions: a checkpoint is a statement that needs none");
    assert!(told.len() <= 10 * 10, "{} statements for {EVENTS} events", told.len());
    stop(running).await;
    store.close().await;
}

#[tokio::test]
async fn consumers_beside_each_other_read_the_log_once() {
    let folder = tempfile::tempdir().unwrap();
    let statements = Statements::new();
    let (store, last) = store(&folder).await;
    let seen = Arc::new(AtomicU64::new(0));
    statements.take();
    let running = ten(Bundle::builder("ten")).provide(Arc::clone(&seen)).store(store.clone());
    let running = running.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let told = statements.take();
    assert_eq!(seen.load(Ordering::Relaxed), 10 * EVENTS);
    // A hundred pages without each other. Who is alone for a moment reads for itself.
    assert!(pages(&told) <= 40, "{} pages for ten consumers", pages(&told));
    stop(running).await;
    store.close().await;
}

#[tokio::test]
async fn a_hundred_idle_consumers_ask_for_next_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let statements = Statements::new();
    let (store, _) = store(&folder).await;
    let contexts = (0..100).map(|n| format!("context-{n}"));
    let builder = Bundle::builder("idle").register::<C0>().component_contexts::<C0>(contexts);
    let running = builder.provide(Arc::new(AtomicU64::new(0))).store(store.clone());
    let running = running.build().unwrap().start().await.unwrap();
    assert_eq!(running.status().len(), 100);
    // Until all of them have seen the end of the log, and have stored so.
    tokio::time::sleep(Duration::from_secs(2)).await;
    statements.take();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let told = statements.take();
    assert!(told.len() <= 5 * 4, "{} statements in four seconds: {told:#?}", told.len());
    stop(running).await;
    store.close().await;
}

#[tokio::test]
async fn an_append_is_one_statement_whatever_it_expects() {
    let folder = tempfile::tempdir().unwrap();
    let statements = Statements::new();
    let (store, _) = store(&folder).await;
    let hundred = || (0..100).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 70)));
    statements.take();
    for n in 0..10 {
        store.append("one", Expected::Version(n), [Made { n }]).await.unwrap();
        store.append("some", Expected::Any, [Made { n }, Made { n }]).await.unwrap();
        store.append(None::<String>, Expected::Any, hundred()).await.unwrap();
    }
    let told: Vec<_> = statements.take().into_iter().filter(|sql| !sql.starts_with("SELECT coalesce(max")).collect();
    assert_eq!(told.len(), 30, "{told:#?}");
    store.close().await;
}
