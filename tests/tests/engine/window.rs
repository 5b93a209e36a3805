//! G3: at every size of the window nothing is lost, no more would run again than it says, and everything goes on.

use evento_runtime::{CheckpointMode, Flow};

use crate::scripted::{
    Closed, Journal, Made, MemoryStore, Mixed, Script, append_all, bundle, dead_letters, lanes, settled, stop,
};
use evento_runtime::prelude::NewEvent;

#[tokio::test]
async fn every_window_lets_everything_through_and_is_never_exceeded() {
    for window in [1, 2, 3, 7, 64, 1_023, 1_024, 16_384] {
        let store = MemoryStore::new();
        let events = (0..240).map(|n| match n % 20 {
            // An inline handler among those on an executor.
            19 => NewEvent::from(Closed { n }),
            _ => NewEvent::from(Made { n }).key(format!("k{}", n % 7)),
        });
        let last = append_all(&store, events).await;
        let journal = Journal::default();
        let log = journal.clone();
        let script = Script::new(move |call| {
            log.push(call.n);
            async move {
                tokio::task::yield_now().await;
                // Some fail once, and some for good.
                match (call.n % 9, call.attempt, call.n % 60) {
                    (_, _, 30) => Err(evento_runtime::HandlerError::permanent("never").into()),
                    (0, 1, _) => Err("not yet".into()),
                    _ => Ok(Flow::Continue),
                }
            }
        });
        let builder = bundle(&store).window(window).component(Mixed(script)).executor(lanes(8));
        let running = builder.checkpoint_mode(CheckpointMode::Watermark).build().unwrap().start().await.unwrap();
        let mut most = 0;
        evento_tests::eventually("it goes on to the end", || {
            let status = running.status().remove(0);
            most = most.max(status.exposure);
            status.watermark.as_ref() >= Some(&last)
        })
        .await;
        settled(&running, &last).await;
        assert!(most <= window, "{most} would run again, window {window}");
        assert_eq!(dead_letters(&running).await.len(), 4, "window {window}");
        stop(running).await;
        let mut handled = journal.all();
        handled.sort_unstable();
        handled.dedup();
        assert_eq!(handled, (0..240).collect::<Vec<_>>(), "window {window}");
    }
}
