//! Going back: the hook that clears what handlers wrote, and what handlers may know of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::identity::ConsumerId;
use evento_runtime::prelude::*;
use evento_runtime::store::StoreConfig;
use evento_runtime::{AdminError, Timestamp};

use crate::scripted::{Journal, Made, MemoryStore, append, append_all, bundle, settled, stop};

/// A read model that can be cleared.
#[derive(Clone, Default)]
struct Rows {
    rows: Journal<(u64, bool, bool)>,
    cleared: Arc<AtomicU32>,
    broken: Arc<AtomicBool>,
}

impl Rows {
    fn numbers(&self) -> Vec<u64> {
        self.rows.all().into_iter().map(|(n, ..)| n).collect()
    }
}

#[projector(version = 1)]
impl Rows {
    #[on_reset]
    async fn clear(&self) -> Result<(), BoxError> {
        self.cleared.fetch_add(1, Ordering::SeqCst);
        if self.broken.load(Ordering::SeqCst) {
            return Err("the table is locked".into());
        }
        self.rows.clear();
        Ok(())
    }

    #[event_handler]
    async fn made(&self, event: Made, progress: Progress) {
        self.rows.push((event.n, progress.replaying, progress.head_reached));
    }
}

#[tokio::test]
async fn the_hook_runs_before_anything_is_handled_again() {
    let (store, rows) = (MemoryStore::new(), Rows::default());
    append(&store, 0..10, 1).await;
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    let last = append(&store, 10..20, 1).await;
    settled(&running, &last).await;
    assert_eq!(rows.numbers(), (0..20).collect::<Vec<_>>());
    assert!(rows.rows.all().iter().all(|(_, replaying, _)| !replaying));
    let consumer = running.consumers().remove(0);
    consumer.seek(SeekTo::After(Position::from_u64(5))).await.unwrap();
    assert_eq!(rows.cleared.load(Ordering::SeqCst), 1, "it has run when the seek is answered");
    settled(&running, &last).await;
    assert_eq!(rows.numbers(), (5..20).collect::<Vec<_>>());
    assert!(rows.rows.all().iter().all(|(_, replaying, _)| *replaying));
    let last = append(&store, 20..22, 1).await;
    settled(&running, &last).await;
    assert_eq!(rows.rows.all()[15..], [(20, false, true), (21, false, true)]);
    // Forward, and back where it is meant to keep: no hook.
    consumer.seek(SeekTo::Head).await.unwrap();
    consumer.seek_keeping(SeekTo::After(Position::from_u64(20))).await.unwrap();
    settled(&running, &last).await;
    assert_eq!(rows.rows.all()[17..], [(20, true, false), (21, true, false)]);
    assert_eq!(rows.cleared.load(Ordering::SeqCst), 1);
    stop(running).await;
}

#[tokio::test]
async fn the_head_is_reached_once_everything_that_was_there_is_settled() {
    let (store, rows) = (MemoryStore::new(), Rows::default());
    append(&store, 0..50, 1).await;
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    evento_tests::eventually("it has caught up", || rows.rows.len() == 50).await;
    let last = append(&store, 50..51, 1).await;
    settled(&running, &last).await;
    let reached: Vec<bool> = rows.rows.all().into_iter().map(|(_, _, reached)| reached).collect();
    assert!(reached[..50].iter().all(|reached| !reached));
    stop(running).await;
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    evento_tests::eventually("it stands", || running.status()[0].reason == Some(StallReason::CaughtUp)).await;
    let last = append(&store, 51..52, 1).await;
    settled(&running, &last).await;
    assert_eq!(rows.rows.all().last(), Some(&(51, false, true)));
    stop(running).await;
}

#[tokio::test]
async fn a_hook_that_fails_is_run_again_before_anything_else_also_by_the_next_process() {
    let (store, rows) = (MemoryStore::new(), Rows::default());
    let last = append(&store, 0..10, 1).await;
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    rows.broken.store(true, Ordering::SeqCst);
    let consumer = running.consumers().remove(0);
    let refused = consumer.seek(SeekTo::Start).await;
    assert!(matches!(refused, Err(AdminError::Reset { .. })), "{refused:?}");
    evento_tests::eventually("it is tried again", || rows.cleared.load(Ordering::SeqCst) > 1).await;
    assert_eq!(rows.rows.len(), 10, "nothing is handled beside what is still there");
    stop(running).await;

    let refused = bundle(&store).component(rows.clone()).build().unwrap().start().await;
    assert!(matches!(refused, Err(evento_runtime::RunError::OnReset { .. })));
    rows.broken.store(false, Ordering::SeqCst);
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    assert_eq!(rows.numbers(), (0..10).collect::<Vec<_>>());
    stop(running).await;
}

/// Rows of several tenants, each read by a consumer of its own.
#[derive(Clone, Default)]
struct Tenants {
    rows: Journal<(String, u64)>,
    begun: Journal<String>,
    cleared: Journal<String>,
}

#[projector(version = 1)]
impl Tenants {
    #[on_start]
    async fn begin(&self, consumer: ConsumerId) {
        self.begun.push(consumer.to_string());
    }

    #[on_reset]
    async fn clear(&self, contexts: ContextPattern) {
        self.cleared.push(contexts.to_string());
        self.rows.keep(|(tenant, _)| !contexts.matches(tenant));
    }

    #[event_handler]
    async fn made(&self, event: Made, meta: Metadata) {
        self.rows.push((meta.context().to_owned(), event.n));
    }
}

#[tokio::test]
async fn a_hook_knows_whose_rows_it_clears() {
    let (store, tenants) = (MemoryStore::new(), Tenants::default());
    let of = |tenant: &str, n| NewEvent::from(Made { n }).context(tenant);
    let last = append_all(&store, [of("a", 1), of("b-1", 2), of("b-2", 3), of("a", 4)]).await;
    let builder = bundle(&store).component(tenants.clone()).component_contexts::<Tenants>(["a", "b-*"]);
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let mut begun = tenants.begun.all();
    begun.sort();
    assert_eq!(begun, ["b/Tenants v1 [a]", "b/Tenants v1 [b-*]"]);
    let before = tenants.rows.len();
    let consumers = running.consumers_of::<Tenants>();
    let of_b = consumers.iter().find(|consumer| consumer.id().context.matches("b-1")).unwrap();
    of_b.seek(SeekTo::Start).await.unwrap();
    settled(&running, &last).await;
    assert_eq!((before, tenants.cleared.all()), (4, vec!["b-*".to_owned()]));
    let mut rows = tenants.rows.all();
    rows.sort();
    let all = [("a", 1), ("a", 4), ("b-1", 2), ("b-2", 3)];
    assert_eq!(rows, all.map(|(tenant, n)| (tenant.to_owned(), n)), "the other tenant's rows are gone, or doubled");
    stop(running).await;
}

#[tokio::test]
async fn a_point_in_time_is_a_place_to_go_back_to() {
    let (store, rows) = (MemoryStore::new(), Rows::default());
    append(&store, 0..10, 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let last = append(&store, 10..20, 1).await;
    let open = Box::new(store.clone()).open().await.unwrap();
    let recorded = open.events.read_exact(&[Position::from_u64(11)]).await.unwrap().remove(0).recorded_at;
    let running = bundle(&store).component(rows.clone()).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    consumer.seek(SeekTo::Time(recorded)).await.unwrap();
    settled(&running, &last).await;
    assert_eq!(rows.numbers(), (10..20).collect::<Vec<_>>());
    consumer.seek(SeekTo::Time(Timestamp::from_micros(0))).await.unwrap();
    settled(&running, &last).await;
    assert_eq!(rows.numbers(), (0..20).collect::<Vec<_>>());
    stop(running).await;
}
