//! Allocations for an event, of the whole process.

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use evento_runtime::executor::ConsumerExecutor;
use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, CheckpointMode, ConsumerExecutors, Expected};
use serde::{Deserialize, Serialize};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::traced::Statements;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const EVENTS: u64 = 20_000;

#[derive(Debug, Serialize, Deserialize, Event)]
struct Made {
    n: u64,
}

/// In the consumer's own loop.
#[derive(Default)]
pub(crate) struct Inline;

#[projector(version = 1)]
impl Inline {
    #[event_handler]
    async fn any(&self, _event: RawEvent) {}
}

/// On the executor `lanes`.
#[derive(Default)]
pub(crate) struct OnLanes;

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "lanes")]
    async fn any(&self, _event: RawEvent) {}
}

/// Allocations for each event of a log that is read by one component.
async fn allocations<C: evento_runtime::component::Component>(
    component: C,
    executor: Option<Arc<dyn ConsumerExecutor>>,
) -> f64 {
    // Nothing else may allocate meanwhile.
    let _alone = Statements::new();
    let store = MemoryStore::new();
    let events = (0..EVENTS).map(|n| NewEvent::from(Made { n }).key(format!("k{}", n % 100)));
    let batch = evento_runtime::source::Append::prepare(None::<String>, Expected::Any, events).unwrap();
    let last = evento_runtime::source::EventStore::append(&store, batch).await.unwrap().last;
    let builder = Bundle::builder("cost").component(component).store(store).checkpoint_mode(CheckpointMode::Watermark);
    let builder = match executor {
        Some(executor) => builder.executor(executor),
        None => builder,
    };
    let bundle = builder.build().unwrap();
    let region = Region::new(ALLOCATOR);
    let running = bundle.start().await.unwrap();
    let mut status = running.supervisor().status_cells()[0].subscribe();
    let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(&last)).await.unwrap();
    let counted = region.change().allocations;
    running.stop(Duration::from_secs(30)).await.unwrap();
    #[allow(clippy::cast_precision_loss, reason = "thousands")]
    let each = counted as f64 / EVENTS as f64;
    each
}

#[tokio::test]
async fn an_event_takes_a_handful_of_allocations() {
    let inline = allocations(Inline, None).await;
    let lanes = allocations(OnLanes, Some(ConsumerExecutors::tasks("lanes", 64))).await;
    println!("allocations for an event: {inline:.2} in the loop, {lanes:.2} on an executor");
    assert!(inline <= 7.0, "{inline}");
    assert!(lanes <= 12.0, "{lanes}");
}
