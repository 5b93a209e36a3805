//! G2 (a stop loses nothing), G10, G15: how a bundle stops.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::{CheckpointMode, Flow, RunError};
use tokio::sync::Semaphore;

use crate::scripted::{
    Journal, MemoryStore, Plain, Pooled, Script, append, bundle, lanes, settled, stop, stored, tasks,
};

/// Marks begin and end, and takes a while in between.
fn slow(journal: &Journal<(u64, bool)>, gate: &Arc<Semaphore>) -> Script {
    let (journal, gate) = (journal.clone(), Arc::clone(gate));
    Script::new(move |call| {
        let (journal, gate) = (journal.clone(), Arc::clone(&gate));
        async move {
            journal.push((call.n, true));
            gate.acquire().await.unwrap().forget();
            journal.push((call.n, false));
            Ok(Flow::Continue)
        }
    })
}

#[tokio::test]
async fn running_handlers_finish_and_nothing_starts_after_the_signal() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..1_000, 0).await;
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let builder = |journal: &Journal<_>| {
            bundle(&store).component(Pooled(slow(journal, &gate))).executor(tasks(8)).checkpoint_mode(mode)
        };
        let running = builder(&journal).build().unwrap().start().await.unwrap();
        evento_tests::eventually("eight run", || journal.len() == 8).await;
        let open = Arc::clone(&gate);
        let opener = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            open.add_permits(1_000);
        });
        stop(running).await;
        opener.await.unwrap();
        let first = journal.all();
        assert_eq!(first.iter().filter(|(_, begins)| *begins).count(), 8, "something started after the signal");
        assert_eq!(first.len(), 16, "something was not waited for");
        // The next run handles the rest, and nothing twice.
        let running = builder(&journal).build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let mut begun: Vec<u64> = journal.all().into_iter().filter(|(_, begins)| *begins).map(|(n, _)| n).collect();
        begun.sort_unstable();
        assert_eq!(begun, (0..1_000).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_deadline_is_kept_and_names_who_still_runs() {
    for parallel in [true, false] {
        let store = MemoryStore::new();
        append(&store, 0..10, 0).await;
        let (journal, gate) = (Journal::default(), Arc::new(Semaphore::new(0)));
        let script = slow(&journal, &gate);
        let builder = if parallel {
            bundle(&store).component(Pooled(script)).executor(tasks(2))
        } else {
            bundle(&store).component(Plain(script))
        };
        let running = builder.build().unwrap().start().await.unwrap();
        evento_tests::eventually("one runs", || journal.len() > 0).await;
        let began = tokio::time::Instant::now();
        let error = running.stop(Duration::from_millis(100)).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(3));
        let RunError::Stragglers { stragglers } = error else { panic!("{error}") };
        let handler = if parallel { "Pooled::made at 1" } else { "Plain::made at 1" };
        assert!(stragglers[0].contains(handler), "{stragglers:?}");
        gate.add_permits(100);
    }
}

#[tokio::test]
async fn what_waits_for_another_attempt_is_delivered_again_in_every_mode() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let last = append(&store, 0..20, 0).await;
        let journal = Journal::default();
        let log = journal.clone();
        let failing = Script::new(move |call| {
            let log = log.clone();
            async move {
                log.push(call.n);
                Ok(Flow::RetryAfter(Duration::from_secs(3_600)))
            }
        });
        let running = bundle(&store)
            .component(Pooled(failing))
            .executor(tasks(4))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        evento_tests::eventually("four have failed", || journal.len() >= 4).await;
        let began = tokio::time::Instant::now();
        stop(running).await;
        assert!(began.elapsed() < Duration::from_secs(2), "a waiting attempt wakes at once");
        let done = Journal::default();
        let log = done.clone();
        let healthy = Script::new(move |call| {
            log.push(call.n);
            async { Ok(Flow::Continue) }
        });
        let running = bundle(&store)
            .component(Pooled(healthy))
            .executor(tasks(4))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        assert_eq!(crate::scripted::dead_letters(&running).await.len(), 0);
        stop(running).await;
        let mut handled = done.all();
        handled.sort_unstable();
        assert_eq!(handled, (0..20).collect::<Vec<_>>(), "{mode}");
    }
}

#[tokio::test]
async fn a_handler_that_the_stop_made_fail_has_not_failed() {
    let store = MemoryStore::new();
    append(&store, 0..1, 0).await;
    let begun = Journal::default();
    let log = begun.clone();
    let script = Script::new(move |mut call| {
        log.push(call.n);
        async move {
            call.stop.stopped().await;
            Err("interrupted".into())
        }
    });
    let running = bundle(&store).component(Pooled(script)).executor(lanes(1)).build().unwrap().start().await.unwrap();
    evento_tests::eventually("it runs", || begun.len() == 1).await;
    let letters = Arc::clone(&running.store().stores.dead_letters);
    let consumer = running.status()[0].consumer.clone();
    stop(running).await;
    assert_eq!(letters.count(&consumer).await.unwrap(), 0);
    let state = stored(&store, "Pooled").await;
    assert_eq!((state.errors.streak, state.errors.recent.len()), (0, 0));
}
