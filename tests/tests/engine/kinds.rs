//! What handlers may be and where they run: plain functions, contexts, the catch-all, a runtime of the caller's.

use std::thread::{self, ThreadId};

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, NewEvent};

use crate::scripted::{Foreign, Journal, Made, MemoryStore, append, append_all, bundle, settled, stop, tasks};

/// Plain functions, with and without an executor; they note the thread they run on.
#[derive(Clone)]
struct Blocking(Journal<(ThreadId, String)>);

impl Blocking {
    fn note(&self) {
        let thread = thread::current();
        self.0.push((thread.id(), thread.name().unwrap_or_default().to_owned()));
    }
}

#[projector(version = 1)]
impl Blocking {
    #[event_handler]
    fn made(&self, event: Made) -> Result<(), BoxError> {
        let _ = event;
        self.note();
        Ok(())
    }

    #[event_handler(executor = "pool")]
    fn foreign(&self, event: Foreign) {
        let _ = event;
        self.note();
    }
}

#[tokio::test]
async fn a_plain_function_never_runs_on_an_async_worker() {
    for pooled in [false, true] {
        let store = MemoryStore::new();
        let events: Vec<NewEvent> =
            (0..40).map(|n| if n % 2 == 0 { Made { n }.into() } else { Foreign { n }.into() }).collect();
        let last = append_all(&store, events).await;
        let journal = Journal::default();
        let executor = if pooled { ConsumerExecutors::pooled("pool", 2) } else { tasks(2) };
        let running = bundle(&store)
            .component(Blocking(journal.clone()))
            .executor(executor)
            .checkpoint_mode(CheckpointMode::Watermark)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let seen = journal.all();
        assert_eq!(seen.len(), 40);
        // The one worker of this runtime is this thread.
        assert!(seen.iter().all(|(id, _)| *id != thread::current().id()));
        let on_pool = seen.iter().filter(|(_, name)| name.starts_with("evento-pool-")).count();
        assert_eq!(on_pool, if pooled { 20 } else { 0 }, "{seen:?}");
    }
}

struct Regional(Journal<(String, u64)>);

#[projector(version = 1, contexts = ["eu-*", "us"])]
impl Regional {
    #[event_handler]
    async fn made(&self, event: Made, meta: Metadata) {
        self.0.push((meta.context().to_owned(), event.n));
    }
}

#[tokio::test]
async fn a_component_has_one_consumer_for_each_of_its_contexts() {
    let store = MemoryStore::new();
    let contexts = ["eu-north", "us", "eu_south", "us-east", "eu-", "EU-north"];
    let events = contexts.iter().zip(0..).map(|(context, n)| NewEvent::from(Made { n }).context(*context));
    let last = append_all(&store, events).await;
    let journal = Journal::default();
    let running = bundle(&store).component(Regional(journal.clone())).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    assert_eq!(running.status().len(), 2);
    stop(running).await;
    let mut seen = journal.all();
    seen.sort();
    let expected = [("eu-", 4), ("eu-north", 0), ("us", 1)].map(|(context, n)| (context.to_owned(), n));
    assert_eq!(seen, expected);
}

struct CatchAll(Journal<String>);

#[projector(version = 1)]
impl CatchAll {
    #[event_handler]
    async fn made(&self, event: Made) {
        self.0.push(format!("made {}", event.n));
    }

    #[event_handler]
    async fn rest(&self, event: RawEvent) {
        self.0.push(format!("{} {:?}", event.name, event.payload));
    }
}

#[tokio::test]
async fn the_catch_all_gets_what_no_other_handler_takes() {
    let store = MemoryStore::new();
    let odd = NewEvent::raw("never.heard.of", "text/csv", &b"a;b\0"[..]);
    let last = append_all(&store, [Made { n: 1 }.into(), odd, Foreign { n: 2 }.into()]).await;
    let journal = Journal::default();
    let running = bundle(&store).component(CatchAll(journal.clone())).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(journal.all(), ["made 1", r#"never.heard.of b"a;b\0""#, r#"Foreign b"{\"n\":2}""#]);
}

#[derive(Debug, Event, serde::Serialize, serde::Deserialize)]
#[event(name = "Produced", alias = "Made", alias = "Created")]
struct Produced {
    n: u64,
}

struct Renamed(Journal<u64>);

#[projector(version = 1)]
impl Renamed {
    #[event_handler]
    async fn produced(&self, event: Produced) {
        self.0.push(event.n);
    }
}

#[tokio::test]
async fn an_alias_reads_what_an_older_name_recorded() {
    let store = MemoryStore::new();
    append(&store, [1], 1).await;
    let last = append_all(&store, [Produced { n: 2 }.into()]).await;
    let journal = Journal::default();
    let running = bundle(&store).component(Renamed(journal.clone())).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(journal.all(), [1, 2]);
}

#[test]
fn an_unbounded_executor_runs_on_the_runtime_it_was_given_and_leaves_it_running() {
    let theirs = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("theirs")
        .enable_all()
        .build()
        .unwrap();
    let handle = theirs.handle().clone();
    let ours = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let journal = Journal::default();
    ours.block_on(async {
        let store = MemoryStore::new();
        let last = append(&store, 0..100, 0).await;
        let log = journal.clone();
        let script = crate::scripted::Script::new(move |_| {
            log.push(thread::current().name().unwrap_or_default().to_owned());
            async { Ok(Flow::Continue) }
        });
        let running = bundle(&store)
            .component(crate::scripted::Pooled(script))
            .executor(ConsumerExecutors::unbounded("pool", handle))
            .checkpoint_mode(CheckpointMode::Watermark)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
    });
    assert_eq!(journal.all(), vec!["theirs"; 100]);
    assert_eq!(theirs.block_on(async { 7 }), 7);
}
