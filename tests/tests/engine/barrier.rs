//! G14: a handler in the consumer's own loop runs alone among its consumer's work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evento_runtime::{CheckpointMode, Flow, NewEvent};

use crate::scripted::{
    Closed, Foreign, Journal, Made, MemoryStore, Mixed, Script, append_all, bundle, settled, stop, tasks,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_waits_for_what_is_before_it_and_nothing_overtakes_it() {
    for mode in [CheckpointMode::OnStart, CheckpointMode::Watermark] {
        let store = MemoryStore::new();
        let events: Vec<NewEvent> =
            (0..300).map(|n| if n % 10 == 9 { Closed { n }.into() } else { Made { n }.into() }).collect();
        let last = append_all(&store, events).await;
        let running_now = Arc::new(AtomicUsize::new(0));
        let journal = Journal::default();
        let (r, j) = (Arc::clone(&running_now), journal.clone());
        let script = Script::new(move |call| {
            let (running_now, journal) = (Arc::clone(&r), j.clone());
            async move {
                let others = running_now.fetch_add(1, Ordering::SeqCst);
                assert!(!call.sequential || others == 0, "{} runs beside others", call.n);
                tokio::time::sleep(Duration::from_micros(100)).await;
                // A failure in between is no reason to go ahead.
                let fails = call.n % 7 == 0 && call.attempt == 1;
                running_now.fetch_sub(1, Ordering::SeqCst);
                if fails {
                    return Err("once".into());
                }
                journal.push(call.n);
                Ok(Flow::Continue)
            }
        });
        let running = bundle(&store)
            .component(Mixed(script))
            .executor(tasks(8))
            .checkpoint_mode(mode)
            .build()
            .unwrap()
            .start()
            .await
            .unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let order = journal.all();
        assert_eq!(order.len(), 300);
        for (index, n) in order.iter().enumerate() {
            // Within a stretch of ten the order is free; the tenth is the barrier.
            assert_eq!(index as u64 / 10, n / 10, "{n} crossed a barrier");
            assert!(n % 10 != 9 || index % 10 == 9, "{n} did not wait");
        }
    }
}

#[tokio::test]
async fn events_nobody_handles_are_no_barrier() {
    let store = MemoryStore::new();
    let events: Vec<NewEvent> =
        (0..16).map(|n| if n % 2 == 1 { Foreign { n }.into() } else { Made { n }.into() }).collect();
    let last = append_all(&store, events).await;
    let together = Arc::new(tokio::sync::Barrier::new(8));
    let script = Script::new(move |_| {
        let together = Arc::clone(&together);
        async move {
            // Only if all eight run at once does anyone get through.
            together.wait().await;
            Ok(Flow::Continue)
        }
    });
    let running = bundle(&store).component(Mixed(script)).executor(tasks(8)).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
}
