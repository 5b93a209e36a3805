//! Taking events out of the log: what every consumer has settled, but for what versions need.

use super::{Fixture, consumer, consumer_of, event, lease};
use crate::error::{AppendError, StoreErrorKind};
use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;
use crate::source::{EventFilter, Expected, FetchLimits, Prune};
use crate::store::{Checkpoint, Settlement, Store};

/// Later than everything.
const EVER: Timestamp = Timestamp::from_micros(i64::MAX);

/// Appends, one after the other, events of these keys; answers their positions.
async fn appended(store: &Store, keys: &[Option<&str>]) -> Vec<Position> {
    let mut positions = Vec::with_capacity(keys.len());
    for key in keys {
        let appended = store.append(key.map(str::to_owned), Expected::Any, [event("Placed", *b"p")]).await.unwrap();
        positions.push(appended.last);
    }
    positions
}

fn at(watermark: Option<&Position>) -> Settlement {
    let (watermark, reach) = (watermark.cloned(), watermark.cloned());
    Settlement { checkpoint: Some(Checkpoint { watermark, reach, open: Vec::new() }), ..Settlement::default() }
}

/// The consumer has come so far.
async fn settled(store: &Store, consumer: &ConsumerId, epoch: u64, watermark: Option<&Position>) {
    store.stores.state.settle(&lease(consumer, epoch), at(watermark)).await.unwrap();
}

/// What is left.
async fn left(store: &Store) -> Vec<Position> {
    let limits = FetchLimits { events: 1_000, bytes: usize::MAX };
    let batch = store.events.fetch(None, limits, &EventFilter::all()).await.unwrap();
    batch.events.into_iter().map(|event| event.position).collect()
}

/// Without keys everything but the last one of the log goes; the mark says up to where, to both.
pub async fn what_every_consumer_has_settled_is_taken_out(fixture: Fixture) {
    let Fixture { store, other, .. } = &fixture;
    let events = appended(store, &[None; 5]).await;
    assert_eq!(store.events.pruned().await.unwrap(), None);
    // Nobody reads it: nobody knows what is needed.
    let nobody = store.prune(EVER, 1_000).await.unwrap();
    assert_eq!((nobody.events, nobody.slowest, nobody.more), (0, None, false));
    let view = consumer("View");
    settled(store, &view, 1, Some(&events[4])).await;
    let pruned = store.prune(EVER, 1_000).await.unwrap();
    assert_eq!((pruned.events, pruned.to.as_ref(), pruned.more), (4, Some(&events[3]), false));
    assert_eq!(pruned.slowest, Some((view, Some(events[4].clone()))));
    for store in [store, other] {
        assert_eq!(left(store).await, [events[4].clone()]);
        assert_eq!(store.events.pruned().await.unwrap().as_ref(), Some(&events[3]));
    }
    assert_eq!(store.events.read_exact(&events).await.unwrap().len(), 1);
    let again = other.prune(EVER, 1_000).await.unwrap();
    assert_eq!((again.events, again.to.as_ref()), (0, Some(&events[3])));
}

/// Of any bundle, paused, without a checkpoint; until it is forgotten.
pub async fn nothing_is_taken_out_above_the_slowest_consumer(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let events = appended(store, &[None; 8]).await;
    let (quick, slow) = (consumer("Quick"), consumer_of("billing", "Slow", 3, "tenant-*"));
    settled(store, &quick, 1, Some(&events[7])).await;
    // Open above its watermark, and reached far beyond: what may run again stays.
    let open = Checkpoint {
        watermark: Some(events[1].clone()),
        reach: Some(events[6].clone()),
        open: vec![events[2].clone()],
    };
    let settlement = Settlement { checkpoint: Some(open), ..Settlement::default() };
    store.stores.state.settle(&lease(&slow, 1), settlement).await.unwrap();
    store.stores.state.set_enabled(&slow, false).await.unwrap();
    let pruned = store.prune(EVER, 1_000).await.unwrap();
    assert_eq!((pruned.events, pruned.to.as_ref()), (2, Some(&events[1])));
    assert_eq!(pruned.slowest, Some((slow.clone(), Some(events[1].clone()))));
    assert_eq!(left(store).await, events[2..]);
    // One that was seen and has settled nothing needs everything that is there.
    let new = consumer_of("billing", "New", 1, "*");
    store.stores.state.settle(&lease(&new, 1), Settlement::default()).await.unwrap();
    settled(store, &slow, 1, Some(&events[6])).await;
    let pruned = store.prune(EVER, 1_000).await.unwrap();
    assert_eq!((pruned.events, pruned.slowest), (0, Some((new, None))));
    store.stores.state.forget("billing", "New", 1).await.unwrap();
    assert_eq!(store.prune(EVER, 1_000).await.unwrap().events, 5);
    assert_eq!(left(store).await, events[7..]);
}

/// The last event of each key stays, and with it what an append is judged by.
pub async fn versions_stay_what_they_were(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let keys = [Some("a"), Some("b"), Some("a"), None, Some("a"), Some("b"), Some("A"), None];
    let events = appended(store, &keys).await;
    store.append("a", Expected::Any, [event("Placed", *b"p").context("elsewhere")]).await.unwrap();
    let last = appended(store, &[None]).await.remove(0);
    settled(store, &consumer("View"), 1, Some(&last)).await;
    // In small pieces, as in large ones.
    let mut taken = 0;
    loop {
        let mut piece = Prune::before(EVER);
        piece.events = 2;
        let pruned = store.events.prune(&piece).await.unwrap();
        taken += pruned.events;
        if !pruned.more {
            break;
        }
    }
    assert_eq!(taken, 5, "two of `a`, one of `b`, two without a key");
    let left = left(store).await;
    assert!([4, 5, 6].iter().all(|stays: &usize| left.contains(&events[*stays])), "{left:?}");
    assert_eq!(left.len(), 5, "three keys here, one elsewhere, the last one");
    let append = async |key: &str, expected| store.append(key, expected, [event("Placed", *b"n")]).await;
    for wrong in [Expected::New, Expected::Version(2), Expected::Version(4)] {
        let refused = append("a", wrong).await.unwrap_err();
        assert!(matches!(refused, AppendError::Conflict { actual: 3, .. }), "{refused:?}");
    }
    assert_eq!(append("a", Expected::Version(3)).await.unwrap().version, Some(4));
    assert_eq!(append("a", Expected::Any).await.unwrap().version, Some(5));
    assert_eq!(append("b", Expected::Any).await.unwrap().version, Some(3));
    assert_eq!(append("A", Expected::Version(1)).await.unwrap().version, Some(2));
    assert_eq!(append("c", Expected::New).await.unwrap().version, Some(1));
}

/// Up to the first event that is not older: no position is passed over.
pub async fn what_is_young_stays(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let events = appended(store, &[None; 3]).await;
    settled(store, &consumer("View"), 1, Some(&events[2])).await;
    let recorded: Vec<_> =
        store.events.read_exact(&events).await.unwrap().iter().map(|event| event.recorded_at).collect();
    for before in [Timestamp::from_micros(0), recorded[0]] {
        let pruned = store.prune(before, 1_000).await.unwrap();
        assert_eq!((pruned.events, pruned.to, pruned.more), (0, None, false), "recorded then is not before");
    }
    assert_eq!(left(store).await, events);
    let after = Timestamp::from_micros(recorded[2].as_micros() + 1);
    assert_eq!(store.prune(after, 1_000).await.unwrap().events, 2);
}

/// A checkpoint at the end of the log stays one of this log, and no position is given out again.
pub async fn the_last_event_stays(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let events = appended(store, &[None; 3]).await;
    settled(store, &consumer("View"), 1, Some(&events[2])).await;
    for _ in 0..2 {
        store.prune(EVER, 1_000).await.unwrap();
        assert_eq!(left(store).await, events[2..]);
        assert_eq!(store.events.validate(&events[2]).await.unwrap(), crate::source::PositionCheck::Usable);
    }
    let next = appended(store, &[None]).await.remove(0);
    assert!(next > events[2], "{next}");
    let limits = FetchLimits { events: 10, bytes: usize::MAX };
    let batch = store.events.fetch(Some(&events[2]), limits, &EventFilter::all()).await.unwrap();
    assert_eq!(batch.events.iter().map(|event| &event.position).collect::<Vec<_>>(), [&next]);
    assert_eq!(batch.read_to.as_ref(), Some(&next));
}

/// What stayed as the last of its key goes once a later one is old as well.
pub async fn an_earlier_last_event_goes_with_the_next(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let view = consumer("View");
    let mut events = appended(store, &[Some("a"), None]).await;
    settled(store, &view, 1, events.last()).await;
    assert_eq!(store.prune(EVER, 1_000).await.unwrap().events, 0);
    events.extend(appended(store, &[Some("a"), None]).await);
    settled(store, &view, 1, events.last()).await;
    assert_eq!(store.prune(EVER, 1_000).await.unwrap().events, 2, "the first of `a`, and what was the last of the log");
    assert_eq!(left(store).await, events[2..]);
}

/// The figure is what is taken out then, in pieces of any size.
pub async fn counting_takes_nothing_out(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let keys: Vec<Option<&str>> = (0..40).map(|n| ["a", "b", "c"].get(n % 5).copied()).collect();
    let events = appended(store, &keys).await;
    settled(store, &consumer("View"), 1, events.last()).await;
    let whole = store.prunable(EVER, 1_000).await.unwrap();
    let (mut counted, mut piece) = (0, Prune::before(EVER).dry());
    piece.events = 3;
    loop {
        let pruned = store.events.prune(&piece).await.unwrap();
        counted += pruned.events;
        if !pruned.more {
            break;
        }
        piece.after = pruned.to;
    }
    assert_eq!((counted, left(store).await.len()), (whole.events, 40));
    assert_eq!(store.events.pruned().await.unwrap(), None);
    let taken = store.prune(EVER, 1_000).await.unwrap();
    assert_eq!((taken.events, &taken.to), (whole.events, &whole.to));
    assert_eq!(left(store).await.len(), 40 - usize::try_from(taken.events).unwrap());
}

/// Any instance may: what is taken out is counted once, and what is to stay stays.
pub async fn several_prune_at_once(fixture: Fixture) {
    let Fixture { store, other, .. } = &fixture;
    let keys: Vec<Option<&str>> = (0..60).map(|n| ["a", "b"].get(n % 3).copied()).collect();
    let events = appended(store, &keys).await;
    settled(store, &consumer("View"), 1, events.last()).await;
    let mut piece = Prune::before(EVER);
    piece.events = 5;
    let one = async |store: &Store| {
        let mut taken = 0;
        loop {
            let pruned = store.events.prune(&piece).await.unwrap();
            taken += pruned.events;
            if !pruned.more {
                return taken;
            }
        }
    };
    let taken: u64 = futures_util::future::join_all([store, other, store, other].map(one)).await.into_iter().sum();
    assert_eq!(usize::try_from(taken).unwrap(), 60 - left(store).await.len());
    assert_eq!(left(store).await.len(), 3, "two keys, and the last one");
}

/// Where a consumer is moved back, it is looked at in the same step whether everything is still there.
pub async fn nobody_goes_back_to_what_is_gone(fixture: Fixture) {
    let Fixture { store, .. } = &fixture;
    let events = appended(store, &[None; 6]).await;
    let view = consumer("View");
    settled(store, &view, 1, Some(&events[3])).await;
    assert_eq!(store.prune(EVER, 1_000).await.unwrap().events, 4);
    settled(store, &view, 1, Some(&events[5])).await;
    for below in [None, Some(&events[0]), Some(&events[2])] {
        for forget_completed in [false, true] {
            let back = Settlement { rereads: true, forget_completed, ..at(below) };
            let refused = store.stores.state.settle(&lease(&view, 2), back).await.unwrap_err();
            assert_eq!(refused.kind(), StoreErrorKind::Pruned, "{refused}");
            assert!(!refused.kind().is_transient());
        }
    }
    let stored = store.stores.state.load(&view).await.unwrap().checkpoint.unwrap();
    assert_eq!(stored.watermark.as_ref(), Some(&events[5]), "nothing of it was stored");
    let back = Settlement { rereads: true, forget_completed: true, ..at(Some(&events[3])) };
    store.stores.state.settle(&lease(&view, 2), back).await.unwrap();
    assert_eq!(store.prune(EVER, 1_000).await.unwrap().events, 0, "it is the slowest again");
}

/// At the same time: either it is refused, or nothing that it needs is taken out.
pub async fn a_seek_and_a_pruning_never_both_succeed(fixture: Fixture) {
    let Fixture { store, other, .. } = &fixture;
    let view = consumer("View");
    for epoch in 1..=12_u64 {
        let events = appended(store, &[None; 4]).await;
        settled(store, &view, 2 * epoch, Some(&events[3])).await;
        let back = Settlement { rereads: true, forget_completed: true, ..at(Some(&events[0])) };
        let lease = lease(&view, 2 * epoch + 1);
        let (moved, pruned) = tokio::join!(store.stores.state.settle(&lease, back), other.prune(EVER, 1_000));
        pruned.unwrap();
        let there = left(store).await;
        match moved {
            Ok(()) => assert!(events[1..].iter().all(|event| there.contains(event)), "{epoch}: {there:?}"),
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Pruned, "{error}");
                assert_eq!(there, events[3..], "{epoch}");
            }
        }
    }
}
