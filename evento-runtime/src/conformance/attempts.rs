//! Ownerships that did not end, and the attempts recorded because of that.

use super::{Fixture, consumer, lease};
use crate::StoreErrorKind;
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::store::{OwnershipMark, RecordedAttempt, Settlement, Store};

fn mark(mark: OwnershipMark) -> Settlement {
    Settlement { ownership: Some(mark), ..Settlement::default() }
}

fn recorded(attempts: &[(u64, u32)]) -> Settlement {
    Settlement { attempts: rows(attempts), ..Settlement::default() }
}

fn rows(attempts: &[(u64, u32)]) -> Vec<RecordedAttempt> {
    let each = attempts.iter();
    each.map(|(at, attempts)| RecordedAttempt { position: Position::from_u64(*at), attempts: *attempts }).collect()
}

async fn settle(store: &Store, consumer: &ConsumerId, epoch: u64, what: Settlement) -> Result<(), StoreErrorKind> {
    store.stores.state.settle(&lease(consumer, epoch), what).await.map_err(|error| error.kind())
}

async fn begun(store: &Store, consumer: &ConsumerId) -> u64 {
    store.stores.state.load(consumer).await.unwrap().begun
}

async fn listed(store: &Store, consumer: &ConsumerId) -> Vec<RecordedAttempt> {
    store.stores.state.attempts(consumer).await.unwrap()
}

/// Of each consumer by itself, and seen by the other side.
pub async fn ownerships_are_counted_until_one_ends(fixture: Fixture) {
    let (store, a, b) = (&fixture.store, &consumer("A"), &consumer("B"));
    assert_eq!(begun(store, a).await, 0);
    for epoch in 1..4 {
        settle(store, a, epoch, mark(OwnershipMark::Begins)).await.unwrap();
        settle(store, a, epoch, Settlement::default()).await.unwrap();
        assert_eq!(begun(&fixture.other, a).await, epoch);
    }
    settle(store, b, 1, mark(OwnershipMark::Begins)).await.unwrap();
    assert_eq!(settle(store, a, 2, mark(OwnershipMark::Ends)).await, Err(StoreErrorKind::Fenced));
    assert_eq!((begun(store, a).await, begun(store, b).await), (3, 1));
    settle(store, a, 3, mark(OwnershipMark::Ends)).await.unwrap();
    settle(store, a, 3, mark(OwnershipMark::Ends)).await.unwrap();
    assert_eq!((begun(&fixture.other, a).await, begun(store, b).await), (0, 1));
    settle(store, a, 4, mark(OwnershipMark::Begins)).await.unwrap();
    store.stores.state.forget("orders", "A", 1).await.unwrap();
    assert_eq!((begun(store, a).await, begun(store, b).await), (0, 1));
}

/// Ascending, whatever the order they were written in; the last one of a position counts, and 0 takes it away.
pub async fn recorded_attempts_come_back(fixture: Fixture) {
    let (store, a, b) = (&fixture.store, &consumer("A"), &consumer("B"));
    assert_eq!(listed(store, a).await, []);
    let many: Vec<(u64, u32)> = (1..=200).rev().map(|at| (at * 3, 1)).collect();
    settle(store, a, 1, recorded(&many)).await.unwrap();
    settle(store, b, 1, recorded(&[(3, 7)])).await.unwrap();
    let expected: Vec<(u64, u32)> = many.iter().rev().copied().collect();
    assert_eq!(listed(&fixture.other, a).await, rows(&expected));
    settle(store, a, 1, recorded(&[(3, 5), (3, 2), (6, 9), (6, 0), (1_000, 0), (600, u32::MAX)])).await.unwrap();
    let over: Vec<(u64, u32)> = (3..200).map(|at| (at * 3, 0)).collect();
    settle(store, a, 1, recorded(&over)).await.unwrap();
    settle(store, a, 1, Settlement::default()).await.unwrap();
    assert_eq!(listed(store, a).await, rows(&[(3, 2), (600, u32::MAX)]));
    assert_eq!(listed(store, b).await, rows(&[(3, 7)]));
    // Positions of other sources have other lengths.
    let foreign = |bytes: &[u8]| RecordedAttempt { position: Position::from_bytes(bytes).unwrap(), attempts: 1 };
    let attempts = vec![foreign(&[1; 255]), foreign(&[0, 255]), foreign(&[0])];
    let c = &consumer("C");
    settle(store, c, 1, Settlement { attempts, ..Settlement::default() }).await.unwrap();
    assert_eq!(listed(store, c).await, [foreign(&[0]), foreign(&[0, 255]), foreign(&[1; 255])]);
}

/// With the end of an ownership, with a new beginning, and with the version.
pub async fn recorded_attempts_are_forgotten(fixture: Fixture) {
    let (store, a, b) = (&fixture.store, &consumer("A"), &consumer("B"));
    settle(store, b, 1, recorded(&[(1, 1)])).await.unwrap();
    settle(store, a, 1, recorded(&[(1, 1), (2, 1)])).await.unwrap();
    assert_eq!(settle(store, a, 0, recorded(&[(3, 1)])).await, Err(StoreErrorKind::Fenced));
    settle(store, a, 1, mark(OwnershipMark::Begins)).await.unwrap();
    assert_eq!(listed(store, a).await, rows(&[(1, 1), (2, 1)]));
    settle(store, a, 1, mark(OwnershipMark::Ends)).await.unwrap();
    assert_eq!(listed(store, a).await, []);
    settle(store, a, 2, recorded(&[(1, 1)])).await.unwrap();
    settle(store, a, 2, Settlement { forget_attempts: true, ..recorded(&[(2, 2)]) }).await.unwrap();
    assert_eq!(listed(store, a).await, rows(&[(2, 2)]));
    store.stores.state.forget("orders", "A", 1).await.unwrap();
    assert_eq!((listed(store, a).await, listed(store, b).await), (Vec::new(), rows(&[(1, 1)])));
}
