//! From a plan to a process and back, and what the open store has to say.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::RunError;
use evento_runtime::bundle::{Bundle, BundleBuilder, LaunchError};
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::identity::{ConsumerId, ContextPattern};

use crate::fake::Fake;
use crate::help;
use crate::shop::*;

fn sequential(store: &Fake) -> BundleBuilder {
    Bundle::builder("orders").register::<Sequential>().store(store.clone())
}

fn consumer(component: &str, version: u32, context: &str) -> ConsumerId {
    let context = ContextPattern::parse(context).unwrap();
    ConsumerId { bundle: "orders".into(), component: component.into(), version, context }
}

fn knows(known: impl IntoIterator<Item = (ConsumerId, u64)>) -> Fake {
    Fake { known: known.into_iter().collect(), ..Fake::default() }
}

async fn refused(builder: BundleBuilder) -> LaunchError {
    match builder.build().unwrap().start().await {
        Err(RunError::Launch(error)) => {
            error.problems.iter().for_each(crate::note);
            error
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_opened_before_the_start_and_everything_is_closed_at_the_stop() {
    let store = Fake::default();
    let bundle = sequential(&store).build().unwrap();
    assert_eq!(store.opened_and_closed(), (0, 0));
    let running = bundle.start().await.unwrap();
    assert_eq!(store.opened_and_closed(), (1, 0));
    assert_eq!(running.store().events.describe(), "orders.db");
    running.stop(Duration::from_secs(1)).await.unwrap();
    assert_eq!(store.opened_and_closed(), (1, 1));
}

#[tokio::test]
async fn run_until_ends_with_its_future() {
    let store = Fake::default();
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let bundle = sequential(&store).build().unwrap();
    let run = bundle.run_until(async move { told.await.unwrap() });
    let mut run = std::pin::pin!(run);
    tokio::select! {
        _ = &mut run => panic!("ended by itself"),
        () = tokio::time::sleep(Duration::from_millis(20)) => {}
    }
    tell.send(()).unwrap();
    run.await.unwrap();
    assert_eq!(store.opened_and_closed(), (1, 1));
}

#[tokio::test]
async fn a_stop_before_the_start_is_through_ends_in_order() {
    let store = Fake::default();
    let bundle = Bundle::builder("orders").register::<Waiting>().store(store.clone()).build().unwrap();
    bundle.run_until(async {}).await.unwrap();
    assert_eq!(store.opened_and_closed(), (1, 1));
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_a_typed_error() {
    let store = Fake { broken: true, ..Fake::default() };
    let error = sequential(&store).build().unwrap().start().await.unwrap_err();
    assert!(matches!(error, RunError::Store(_)), "{error:?}");
    assert_eq!(store.opened_and_closed(), (0, 0));
}

#[tokio::test]
async fn orphan_checkpoint() {
    let store = knows([(consumer("Sequentail", 1, "*"), 5), (consumer("Sequential", 1, "*"), 5)]);
    let error = refused(sequential(&store)).await;
    assert_eq!(error.problems.len(), 1);
    let problem = &error.problems[0];
    assert_eq!(problem.code, "orphan-checkpoint");
    assert_eq!(problem.message, "the store knows `Sequentail` version 1, but no such component is linked");
    assert_eq!(
        help(problem),
        "did you mean `Sequential`? link its crate with `evento_runtime::link!(its_crate);`, or say `.forget(\"Sequentail\", 1)` if it \
         is gone for good"
    );
    assert_eq!(store.opened_and_closed(), (1, 1), "closed again");
    // Forgotten first, then judged.
    let running = sequential(&store).forget("Sequentail", 1).build().unwrap().start().await.unwrap();
    assert_eq!(*store.forgotten.lock().unwrap(), [("Sequentail".to_owned(), 1)]);
    running.stop(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn history_lost() {
    let store = knows([(consumer("Sequential", 1, "*"), 5_000)]);
    let error = refused(sequential(&store)).await;
    let problem = &error.problems[0];
    assert_eq!((problem.code, error.problems.len()), ("history-lost", 1));
    assert_eq!(
        problem.message,
        "`orders/Sequential v1` has read up to position 5000 of `orders.db`, but the log ends at 1000"
    );
    assert_eq!(store.opened_and_closed(), (1, 1));
}

#[tokio::test]
async fn other_version_and_other_context() {
    let store = knows([(consumer("Sequential", 0, "*"), 5), (consumer("Sequential", 1, "tenant-*"), 5)]);
    let running = sequential(&store).build().unwrap().start().await.unwrap();
    running.warnings().iter().for_each(crate::note);
    let told: Vec<_> = running.warnings().iter().map(|warning| (warning.code, warning.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                "other-context",
                "the store keeps a checkpoint for contexts `tenant-*` of `Sequential`, which it no longer reads"
            ),
            ("other-version", "the store still keeps `Sequential` version 0; this bundle has version 1"),
        ]
    );
    running.stop(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn short_claims() {
    let store = Fake::default();
    let observer = |expiry| {
        let builder = Bundle::builder("orders")
            .register::<Mails>()
            .executor(ConsumerExecutors::tasks("mail", 4))
            .store(store.clone());
        builder.claim_expiry(Duration::from_secs(expiry))
    };
    for (expiry, warned) in [(9, true), (10, false)] {
        let running = observer(expiry).build().unwrap().start().await.unwrap();
        let told: Vec<_> = running.warnings().iter().filter(|warning| warning.code == "short-claims").collect();
        assert_eq!(told.len(), usize::from(warned), "{told:?}");
        for problem in told {
            crate::note(problem);
            assert_eq!(
                problem.message,
                "claims of observers expire after 9s, sooner than an ownership in `orders.db`, 10s"
            );
            assert_eq!(
                help(problem),
                "an instance that stands still for 10s may handle an event beside the one that has taken over; with \
                 `.claim_expiry(..)` of at least that, the other one waits first"
            );
        }
        running.stop(Duration::ZERO).await.unwrap();
    }
    // Where nothing is claimed nothing is said.
    let running = sequential(&store).claim_expiry(Duration::from_secs(9)).build().unwrap().start().await.unwrap();
    assert!(running.warnings().iter().all(|warning| warning.code != "short-claims"));
    running.stop(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_constructor_without_its_value_closes_the_store_again() {
    // `String` is listed and provided, so `build` passes; this one asks for more than it lists.
    let store = Fake::default();
    let builder = Bundle::builder("orders").register::<Liar>().store(store.clone());
    let error = refused(builder).await;
    assert_eq!(error.problems[0].code, "missing-dependency");
    assert_eq!(store.opened_and_closed(), (1, 1));
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_nothing_open() {
    let store = Fake::default();
    let start = Box::pin(sequential(&store).build().unwrap().start());
    assert!(futures_now(start).is_none());
    evento_tests::eventually("the store was dropped", || Arc::strong_count(&store.opened) == 1).await;
}

/// Polls once.
fn futures_now<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(&mut future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

/// Refused with the place of the component and what can be done; not where it begins with what comes next.
#[tokio::test]
async fn history_pruned() {
    let store = evento_runtime::store::MemoryStore::new();
    let builder = || Bundle::builder("orders").store(store.clone());
    let running = builder().register::<Sequential>().build().unwrap().start().await.unwrap();
    let event = || evento_runtime::NewEvent::raw("Placed", "application/json", b"{}".to_vec());
    let appended = running.store().append(None::<String>, evento_runtime::Expected::Any, [event(), event(), event()]);
    let last = appended.await.unwrap().last;
    evento_tests::eventually("settled", || running.status()[0].watermark.as_ref() == Some(&last)).await;
    running.stop(Duration::from_secs(5)).await.unwrap();
    let store_of = store.store();
    let ever = evento_runtime::event::Timestamp::from_micros(i64::MAX);
    assert_eq!(store_of.prune(ever, 1_000).await.unwrap().events, 2);
    // What has read it goes on.
    let running = builder().register::<Sequential>().build().unwrap().start().await.unwrap();
    running.stop(Duration::from_secs(5)).await.unwrap();
    let error = refused(builder().register::<Sequential>().register::<Waiting>()).await;
    let [problem] = &error.problems[..] else { panic!("{error:?}") };
    assert_eq!(problem.code, "history-pruned");
    assert_eq!(
        problem.message,
        "`orders/Waiting v1` begins with the first event of `memory`, which was pruned up to position 2"
    );
    assert!(help(problem).starts_with("`start = \"head\"` in its attribute begins with what comes next"), "{problem}");
}
