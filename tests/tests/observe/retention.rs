//! History goes when it is told to, and nothing that waits for somebody.

use std::time::Duration;

use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::event::Timestamp;
use evento_runtime::store::{LetterFilter, MemoryStore};
use evento_runtime::{BundleBuilder, Running};

use crate::shop::{Gate, InOrder, bundle, orders, place, settled};

const PATIENCE: Duration = Duration::from_secs(10);

async fn start(builder: BundleBuilder) -> Running {
    let builder = builder.lease_renewal(LeaseRenewal::Runtime).component(InOrder(Gate::open()));
    builder.build().unwrap().start().await.unwrap()
}

/// Discards the oldest dead letter, and lets housekeeping look at it.
async fn discard_one(running: &Running) {
    let consumer = running.consumers().remove(0);
    let letters = consumer.dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    let first = LetterFilter::at(letters[0].letter.event.position.clone());
    assert_eq!(running.store().stores.dead_letters.discard(consumer.id(), &first).await.unwrap(), 1);
    // By the clock of the machine it was a moment ago; by that of the tasks, which stands still, hours go by.
    std::thread::sleep(Duration::from_millis(3));
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
}

/// How much history there was; it is gone then.
async fn history(running: &Running) -> u64 {
    running.consumers()[0].purge(Timestamp::from_micros(i64::MAX)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn resolved_dead_letters_are_kept_for_as_long_as_was_said() {
    let store = MemoryStore::new();
    let day = start(bundle("shop", &store).keep_resolved(Duration::from_secs(86_400))).await;
    let last = place(&day, orders(3, 9)).await;
    settled(&day, &last).await;
    discard_one(&day).await;
    assert_eq!(history(&day).await, 1, "not a day ago");
    day.stop(PATIENCE).await.unwrap();
    let moment = start(bundle("shop", &store).keep_resolved(Duration::from_millis(1))).await;
    discard_one(&moment).await;
    assert_eq!(history(&moment).await, 0, "swept");
    let consumer = moment.status()[0].consumer.clone();
    assert_eq!(moment.store().stores.dead_letters.count(&consumer).await.unwrap(), 1, "what waits for somebody stays");
    moment.stop(PATIENCE).await.unwrap();
}
