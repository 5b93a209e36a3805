//! Reading one's own writes: a wait ends when everything up to a position is settled, and not before.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::{BundleBuilder, CheckpointMode, Running, WaitError};
use tokio::sync::Notify;

use crate::scripted::{
    Foreign, Journal, MemoryStore, Plain, Pooled, Script, append, append_all, bundle, lanes, stop, tasks,
};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(50);

async fn begun(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

/// Logs; event 3 waits for the gate first, and event 5 fails.
fn gated(journal: &Journal<u64>, gate: &Arc<Notify>) -> Script {
    let (journal, gate) = (journal.clone(), Arc::clone(gate));
    Script::new(move |call| {
        let (journal, gate) = (journal.clone(), Arc::clone(&gate));
        async move {
            if call.n == 3 {
                gate.notified().await;
            }
            journal.push(call.n);
            if call.n == 5 { Ok(Flow::DeadLetter("no".into())) } else { Ok(Flow::Continue) }
        }
    })
}

#[tokio::test]
async fn a_wait_ends_when_nothing_at_or_below_the_position_is_open() {
    let (store, journal, gate) = (MemoryStore::new(), Journal::default(), Arc::new(Notify::new()));
    let builder = bundle(&store).component(Pooled(gated(&journal, &gate))).executor(tasks(4));
    let running = begun(builder.checkpoint_mode(CheckpointMode::Watermark)).await;
    append(&store, 0..3, 0).await;
    let third = append(&store, 3..4, 0).await;
    let last = append(&store, 4..8, 0).await;
    let before = Position::from_u64(third.as_u64().unwrap() - 1);
    running.wait_for::<Pooled>(&before, LONG).await.unwrap();
    // Everything behind the third is handled, but the third.
    evento_tests::eventually("the others are", || journal.len() == 7).await;
    for position in [&third, &last] {
        let error = running.wait_for::<Pooled>(position, SHORT).await.unwrap_err();
        assert!(matches!(error, WaitError::Timeout { .. }), "{error}");
    }
    let waiting = running.wait_for::<Pooled>(&last, LONG);
    let (waited, ()) = tokio::join!(waiting, async { gate.notify_one() });
    assert_eq!(waited.unwrap().dead_letters, 1);
    assert_eq!(running.wait_for::<Pooled>(&third, LONG).await.unwrap().dead_letters, 0, "none at or below it");
    // What nobody handles is waited for as well.
    let foreign = append_all(&store, [Foreign { n: 1 }.into()]).await;
    running.wait_for::<Pooled>(&foreign, LONG).await.unwrap();
    stop(running).await;
}

#[tokio::test]
async fn an_instance_that_stands_by_asks_the_store() {
    let (store, journal, gate) = (MemoryStore::new(), Journal::default(), Arc::new(Notify::new()));
    let plain = || bundle(&store).component(Plain(gated(&journal, &gate)));
    let owner = begun(plain()).await;
    let other = begun(plain()).await;
    let last = append(&store, 0..3, 0).await;
    other.wait_for::<Plain>(&last, LONG).await.unwrap();
    assert_eq!(journal.len(), 3);
    let stuck = append(&store, 3..4, 0).await;
    let error = other.wait_for::<Plain>(&stuck, SHORT).await.unwrap_err();
    assert!(error.to_string().contains("standby"), "{error}");
    let (waited, ()) = tokio::join!(other.wait_for::<Plain>(&stuck, LONG), async { gate.notify_one() });
    waited.unwrap();
    stop(other).await;
    stop(owner).await;
}

#[tokio::test]
async fn a_wait_for_what_nobody_can_tell_is_refused() {
    let (store, journal, gate) = (MemoryStore::new(), Journal::default(), Arc::new(Notify::new()));
    let running = begun(bundle(&store).component(Pooled(gated(&journal, &gate))).executor(lanes(2))).await;
    let last = append(&store, 0..1, 0).await;
    let error = running.wait_for::<Pooled>(&last, SHORT).await.unwrap_err();
    assert!(matches!(error, WaitError::OnStart { .. }), "{error}");
    assert!(matches!(running.wait_for::<Plain>(&last, SHORT).await, Err(WaitError::Unknown { .. })));
    running.consumers().remove(0).pause().await.unwrap();
    stop(running).await;
}
