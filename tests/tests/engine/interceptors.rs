//! Chains around attempts: their order, their failures, the values they hand on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evento_runtime::component::Kind;
use evento_runtime::deps::Need;
use evento_runtime::interceptor::{Interceptor, Invocation, Next};
use evento_runtime::outcome::HandlerResult;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, async_trait};

use crate::scripted::{
    Journal, Limited, Made, MemoryStore, Pooled, Script, append, bundle, dead_letters, lanes, settled, stop, tasks,
};

/// Notes everything it sees, and fails where it is told to.
struct Noting {
    name: &'static str,
    journal: Journal<String>,
    fails: &'static str,
}

impl Noting {
    fn note(&self, what: &str, call: &Invocation) -> Result<(), BoxError> {
        self.journal.push(format!("{}.{what} {}", self.name, call.attempt()));
        if self.fails == what { Err(format!("{} failed in {what}", self.name).into()) } else { Ok(()) }
    }
}

#[async_trait]
impl Interceptor for Noting {
    async fn before(&self, call: &Invocation) -> Result<(), BoxError> {
        self.note("before", call)
    }

    async fn after(&self, call: &Invocation) -> Result<(), BoxError> {
        self.note("after", call)
    }

    async fn on_error(&self, call: &Invocation, error: BoxError) -> BoxError {
        self.note("on_error", call).err().unwrap_or(error)
    }

    async fn around(&self, call: &Invocation, next: Next<'_>) -> HandlerResult {
        self.note("enter", call)?;
        let result = next.run().await;
        self.note("leave", call)?;
        result
    }
}

/// One event through `A` and `B`; `A` or `B` fails where told, the handler in its first attempt if told.
async fn run(fails: (&'static str, &'static str), handler_fails: bool) -> (Vec<String>, Vec<String>) {
    let store = MemoryStore::new();
    let last = append(&store, [1], 1).await;
    let journal = Journal::default();
    let log = journal.clone();
    let script = Script::new(move |call| {
        log.push(format!("handler {}", call.attempt));
        async move { if handler_fails && call.attempt == 1 { Err("handler failed".into()) } else { Ok(Flow::Continue) } }
    });
    let noting = |name, fails| Noting { name, journal: journal.clone(), fails };
    let running = bundle(&store)
        .component(Limited(script))
        .interceptor(noting("A", fails.0))
        .interceptor(noting("B", fails.1))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    settled(&running, &last).await;
    let errors = dead_letters(&running).await.into_iter().map(|dead| dead.letter.error).collect();
    stop(running).await;
    (journal.all(), errors)
}

#[tokio::test]
async fn in_by_registration_and_out_in_reverse_anew_for_each_attempt() {
    let (seen, errors) = run(("", ""), true).await;
    let expected = [
        "A.enter 1",
        "A.before 1",
        "B.enter 1",
        "B.before 1",
        "handler 1",
        "B.on_error 1",
        "B.leave 1",
        "A.on_error 1",
        "A.leave 1",
        "A.enter 2",
        "A.before 2",
        "B.enter 2",
        "B.before 2",
        "handler 2",
        "B.after 2",
        "B.leave 2",
        "A.after 2",
        "A.leave 2",
    ];
    assert_eq!(seen, expected);
    assert!(errors.is_empty());
}

#[tokio::test]
async fn a_before_that_fails_keeps_the_handler_from_running() {
    let (seen, errors) = run(("", "before"), false).await;
    assert!(!seen.iter().any(|line| line.starts_with("handler")), "{seen:?}");
    assert_eq!(&seen[..6], ["A.enter 1", "A.before 1", "B.enter 1", "B.before 1", "B.on_error 1", "B.leave 1"]);
    assert_eq!(errors, ["B failed in before"]);
}

#[tokio::test]
async fn an_after_that_fails_makes_the_attempt_a_failure() {
    let (seen, errors) = run(("", "after"), false).await;
    assert_eq!(seen.iter().filter(|line| line.starts_with("handler")).count(), 3, "{seen:?}");
    assert_eq!(errors, ["B failed in after"]);
}

#[tokio::test]
async fn on_error_may_replace_the_error_and_never_makes_it_a_success() {
    let (_, errors) = run(("on_error", "before"), false).await;
    assert_eq!(errors, ["A failed in on_error"]);
}

#[derive(Clone, Debug, PartialEq)]
struct Tenant(String);

/// Puts the tenant of the event; counts what is alive of the values it holds around the handler.
struct Tenants(Arc<AtomicUsize>);

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Interceptor for Tenants {
    fn puts(&self) -> Vec<Need> {
        vec![Need::of::<Tenant>()]
    }

    async fn around(&self, call: &Invocation, next: Next<'_>) -> HandlerResult {
        self.0.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(Arc::clone(&self.0));
        call.put(Tenant(format!("{}/{}", call.metadata().key().unwrap_or("nobody"), call.attempt())));
        next.run().await
    }
}

struct Scoped(Journal<(u64, String)>);

#[projector(version = 1)]
impl Scoped {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms")]
    async fn made(&self, event: Made, Local(tenant): Local<Tenant>, attempt: Attempt) -> Result<(), BoxError> {
        tokio::task::yield_now().await;
        self.0.push((event.n, tenant.0));
        if attempt.0 == 1 && event.n.is_multiple_of(2) { Err("once".into()) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_local_value_belongs_to_one_attempt() {
    for pooled in [false, true] {
        let store = MemoryStore::new();
        let last = append(&store, 0..200, 7).await;
        let (journal, alive) = (Journal::default(), Arc::new(AtomicUsize::new(0)));
        let executor = if pooled { evento_runtime::ConsumerExecutors::pooled("pool", 3) } else { lanes(8) };
        let running = bundle(&store)
            .component(Scoped(journal.clone()))
            .interceptor(Tenants(Arc::clone(&alive)))
            .executor(executor)
            .checkpoint_mode(CheckpointMode::Watermark)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let mut seen = journal.all();
        seen.sort();
        let mut expected: Vec<(u64, String)> = (0..200).map(|n| (n, format!("k{}/1", n % 7))).collect();
        expected.extend((0..200).step_by(2).map(|n| (n, format!("k{}/2", n % 7))));
        expected.sort();
        assert_eq!(seen, expected);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_local_that_nobody_puts_stops_the_launch() {
    let builder = bundle(&MemoryStore::new()).component(Scoped(Journal::default())).executor(lanes(1));
    let error = builder.build().unwrap_err();
    assert_eq!(error.problems[0].code, "missing-dependency");
    assert_eq!(error.problems[0].message, "`Scoped::made` takes a `Local<Tenant>`, but no interceptor puts one");
}

/// Panics, or is not asked at all.
struct Refusing(bool);

#[async_trait]
impl Interceptor for Refusing {
    fn applies_to(&self, kind: Kind) -> bool {
        self.0 && kind == Kind::Projector
    }

    async fn before(&self, _call: &Invocation) -> Result<(), BoxError> {
        panic!("in the interceptor")
    }
}

#[tokio::test]
async fn a_panic_in_a_chain_is_that_events_failure() {
    for asked in [true, false] {
        let store = MemoryStore::new();
        let last = append(&store, 0..3, 1).await;
        let script = Script::new(|_| async { Ok(Flow::Continue) });
        let running = bundle(&store)
            .component(Pooled(script))
            .interceptor(Refusing(asked))
            .executor(tasks(2))
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        let dead = dead_letters(&running).await;
        assert_eq!(dead.len(), if asked { 3 } else { 0 });
        assert!(dead.iter().all(|dead| dead.letter.error.contains("in the interceptor")));
        stop(running).await;
    }
}
