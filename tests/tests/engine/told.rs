//! What listeners are told: every change of ownership, every dead letter, every stall and its end.

use evento_runtime::consumer::{Happening, StallReason};
use evento_runtime::{Flow, HandlerError};

use crate::scripted::{Journal, Limited, MemoryStore, Script, append, bundle, settled, stop};

#[tokio::test]
async fn listeners_hear_of_everything_in_order() {
    let store = MemoryStore::new();
    let last = append(&store, 0..3, 1).await;
    let script = Script::new(|call| async move {
        match (call.n, call.attempt) {
            (1, 1) => Err("once".into()),
            (2, _) => Err(HandlerError::permanent("never").into()),
            _ => Ok(Flow::Continue),
        }
    });
    let called = Journal::default();
    let journal = called.clone();
    let bundle = bundle(&store)
        .component(Limited(script))
        .on_event(|_| panic!("a listener's own trouble"))
        .on_event(move |event| journal.push(event.what.clone()))
        .build()
        .unwrap();
    let mut events = bundle.events();
    let running = bundle.start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    let mut heard = Vec::new();
    while let Ok(event) = events.try_recv() {
        assert_eq!(&*event.consumer.component, "Limited");
        heard.push(event.what);
    }
    assert_eq!(called.all(), heard, "who is called and who subscribes hear the same");
    let dead = Happening::DeadLetter { position: last, handler: "Limited::made".to_owned() };
    assert_eq!(heard.first(), Some(&Happening::Started));
    assert!(matches!(heard[1], Happening::OwnershipGained { .. }), "{heard:?}");
    assert!(heard.contains(&Happening::Stalled { reason: StallReason::BackingOff }), "{heard:?}");
    assert!(heard.contains(&Happening::Resumed) && heard.contains(&dead), "{heard:?}");
    assert_eq!(heard.last(), Some(&Happening::Stopped));
}
