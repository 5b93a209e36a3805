//! Versions, `#[on_start]`, forgetting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use evento_runtime::RunError;
use evento_runtime::prelude::*;

use crate::scripted::{Journal, Made, MemoryStore, append, bundle, settled, stop};

mod first {
    use super::*;

    pub(super) struct View(pub(super) Journal<u64>, pub(super) Arc<AtomicU32>);

    #[projector(version = 1)]
    impl View {
        #[on_start]
        async fn make_tables(&self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }

        #[event_handler]
        async fn made(&self, event: Made) {
            assert_eq!(self.1.load(Ordering::SeqCst), 1, "before the first event");
            self.0.push(event.n);
        }
    }
}

mod second {
    use super::*;

    pub(super) struct View(pub(super) Journal<u64>);

    #[projector(version = 2)]
    impl View {
        #[event_handler]
        async fn made(&self, event: Made) {
            self.0.push(event.n);
        }
    }
}

#[tokio::test]
async fn a_new_version_starts_over_beside_the_old_one() {
    let store = MemoryStore::new();
    let last = append(&store, 0..50, 1).await;
    let (old, new, hooks) = (Journal::default(), Journal::default(), Arc::new(AtomicU32::new(0)));
    for _ in 0..2 {
        let running = bundle(&store)
            .component(first::View(old.clone(), Arc::clone(&hooks)))
            .component(second::View(new.clone()))
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        assert_eq!(running.status().iter().map(|status| status.consumer.version).collect::<Vec<_>>(), [1, 2]);
        stop(running).await;
    }
    assert_eq!((old.len(), new.len()), (50, 50));
    assert_eq!(hooks.load(Ordering::SeqCst), 1, "once per version, not once per start");
}

#[tokio::test]
async fn a_forgotten_version_starts_over_should_it_come_back() {
    let store = MemoryStore::new();
    let last = append(&store, 0..50, 1).await;
    let (old, new, hooks) = (Journal::default(), Journal::default(), Arc::new(AtomicU32::new(0)));
    let run = async |builder: evento_runtime::BundleBuilder| {
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        stop(running).await;
    };
    let first = || first::View(old.clone(), Arc::clone(&hooks));
    run(bundle(&store).component(first())).await;
    run(bundle(&store).component(second::View(new.clone())).forget("View", 1)).await;
    hooks.store(0, Ordering::SeqCst);
    run(bundle(&store).component(first()).component(second::View(new.clone()))).await;
    assert_eq!((old.len(), new.len()), (100, 50));
    assert_eq!(hooks.load(Ordering::SeqCst), 1, "its hook runs again as well");
}

struct Refuses;

#[projector(version = 1)]
impl Refuses {
    #[on_start]
    async fn make_tables(&self) -> Result<(), BoxError> {
        Err("no rights".into())
    }

    #[event_handler]
    async fn made(&self, _event: Made) {}
}

#[tokio::test]
async fn a_hook_that_fails_stops_the_start_and_says_which() {
    let store = MemoryStore::new();
    append(&store, 0..5, 1).await;
    let error = bundle(&store).component(Refuses).build().unwrap().start().await.unwrap_err();
    let RunError::OnStart { hook, source, .. } = &error else { panic!("{error}") };
    assert_eq!((hook.as_str(), source.to_string().as_str()), ("Refuses::make_tables", "no rights"));
}
