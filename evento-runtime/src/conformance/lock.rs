//! `ConsumerLock`.

use super::{Fixture, consumer, consumer_of, lease};
use crate::StoreErrorKind;
use crate::identity::Epoch;
use crate::store::{ConsumerLock, Lease, Settlement};

async fn acquire(lock: &dyn ConsumerLock, component: &str) -> Option<Lease> {
    lock.acquire(&consumer(component), Epoch(0)).await.unwrap()
}

/// Per consumer; the owner itself does not get it twice either.
pub async fn one_owner_at_a_time(fixture: Fixture) {
    let (mine, theirs) = (&*fixture.store.stores.lock, &*fixture.other.stores.lock);
    assert_ne!(mine.owner(), theirs.owner());
    assert!(mine.renew_interval() < mine.lease_duration());
    let held = acquire(mine, "A").await.unwrap();
    assert_eq!((held.owner, &held.consumer), (mine.owner(), &consumer("A")));
    assert!(held.epoch > Epoch(0));
    assert_eq!(acquire(theirs, "A").await, None);
    assert_eq!(acquire(mine, "A").await, None);
    assert!(acquire(theirs, "a").await.is_some());
    assert!(theirs.acquire(&consumer_of("orders", "A", 2, "*"), Epoch(0)).await.unwrap().is_some());
    assert!(theirs.acquire(&consumer_of("orders", "A", 1, "x"), Epoch(0)).await.unwrap().is_some());
    assert!(theirs.acquire(&consumer_of("Orders", "A", 1, "*"), Epoch(0)).await.unwrap().is_some());
    mine.release(&held).await.unwrap();
    assert_eq!(acquire(theirs, "A").await.unwrap().owner, theirs.owner());
}

/// With every ownership, and above what a state store has seen.
pub async fn epochs_grow(fixture: Fixture) {
    let mut last = Epoch(0);
    for round in 0..6 {
        let lock = if round % 2 == 0 { &fixture.store.stores.lock } else { &fixture.other.stores.lock };
        let above = if round == 3 { Epoch(1_000) } else { Epoch(0) };
        let held = lock.acquire(&consumer("A"), above).await.unwrap().unwrap();
        assert!(held.epoch > last && held.epoch > above);
        last = held.epoch;
        lock.release(&held).await.unwrap();
    }
    assert!(last > Epoch(1_000));
}

/// Any number of times; a late one does not harm the next owner.
pub async fn release_is_idempotent(fixture: Fixture) {
    let (mine, theirs) = (&*fixture.store.stores.lock, &*fixture.other.stores.lock);
    let first = acquire(mine, "A").await.unwrap();
    for _ in 0..3 {
        mine.release(&first).await.unwrap();
    }
    mine.release(&lease(&consumer("never-owned"), 1)).await.unwrap();
    let second = acquire(theirs, "A").await.unwrap();
    mine.release(&first).await.unwrap();
    assert_eq!(acquire(mine, "A").await, None);
    assert_eq!(theirs.renew(std::slice::from_ref(&second)).await.unwrap(), [true]);
    // Nor does one of the same owner, but of an epoch before.
    theirs.release(&Lease { epoch: first.epoch, ..second.clone() }).await.unwrap();
    assert_eq!(theirs.renew(&[second]).await.unwrap(), [true]);
}

/// In the order asked; what was given back, lost or never had is not held.
pub async fn renewal_answers_for_each(fixture: Fixture) {
    let (mine, theirs) = (&*fixture.store.stores.lock, &*fixture.other.stores.lock);
    assert!(mine.renew(&[]).await.unwrap().is_empty());
    let a = acquire(mine, "A").await.unwrap();
    let b = acquire(mine, "B").await.unwrap();
    let c = acquire(mine, "C").await.unwrap();
    let d = acquire(theirs, "D").await.unwrap();
    mine.release(&b).await.unwrap();
    mine.release(&c).await.unwrap();
    let c_again = acquire(theirs, "C").await.unwrap();
    let unknown = lease(&consumer("unknown"), 1);
    let asked = [a.clone(), b, c, d.clone(), unknown];
    assert_eq!(mine.renew(&asked).await.unwrap(), [true, false, false, false, false]);
    assert_eq!(theirs.renew(&[d, c_again]).await.unwrap(), [true, true]);
    let never = Lease { epoch: Epoch(a.epoch.0 + 1), ..a.clone() };
    assert_eq!(mine.renew(&[never, a]).await.unwrap(), [false, true]);
}

/// 16 at once, from both sides.
pub async fn one_of_many_contenders_owns(fixture: Fixture) {
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..16 {
        let stores = if n % 2 == 0 { fixture.store.stores.clone() } else { fixture.other.stores.clone() };
        tasks.spawn(async move { acquire(&*stores.lock, "A").await });
    }
    assert_eq!(tasks.join_all().await.into_iter().flatten().count(), 1);
}

/// What the engine does at a takeover: from the first write of the new owner on, none of the old one gets through.
pub async fn the_one_before_is_fenced(fixture: Fixture) {
    let (mine, theirs) = (&fixture.store.stores, &fixture.other.stores);
    let before = acquire(&*mine.lock, "A").await.unwrap();
    mine.state.settle(&before, Settlement::default()).await.unwrap();
    mine.lock.release(&before).await.unwrap();
    let seen = theirs.state.load(&consumer("A")).await.unwrap().epoch;
    assert!(seen >= before.epoch);
    let after = theirs.lock.acquire(&consumer("A"), seen).await.unwrap().unwrap();
    assert!(after.epoch > before.epoch);
    theirs.state.settle(&after, Settlement::default()).await.unwrap();
    let refused = mine.state.settle(&before, Settlement::default()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced);
    theirs.state.settle(&after, Settlement::default()).await.unwrap();
}

/// Where lock and state are one store.
pub async fn forgetting_what_is_owned_is_refused(fixture: Fixture) {
    let stores = &fixture.store.stores;
    let held = acquire(&*stores.lock, "A").await.unwrap();
    stores.state.settle(&held, Settlement::default()).await.unwrap();
    match fixture.other.stores.state.forget("orders", "A", 1).await {
        Err(error) => assert_eq!(error.kind(), StoreErrorKind::Busy),
        // A lock of another store is not seen; the bundle asks that one.
        Ok(forgotten) => assert_eq!(forgotten, 1),
    }
    stores.lock.release(&held).await.unwrap();
    assert!(fixture.other.stores.state.forget("orders", "A", 1).await.unwrap() <= 1);
    assert!(stores.state.consumers("orders").await.unwrap().is_empty());
}

/// Who owns what of a bundle right now.
pub async fn owners_are_listed(fixture: Fixture) {
    let (mine, theirs) = (&*fixture.store.stores.lock, &*fixture.other.stores.lock);
    assert!(mine.owners("orders").await.unwrap().is_empty());
    let b = theirs.acquire(&consumer_of("orders", "B", 2, "té*"), Epoch(41)).await.unwrap().unwrap();
    let a = acquire(mine, "A").await.unwrap();
    mine.acquire(&consumer_of("Orders", "A", 1, "*"), Epoch(0)).await.unwrap().unwrap();
    assert_eq!(theirs.owners("orders").await.unwrap(), [a.clone(), b.clone()]);
    mine.release(&a).await.unwrap();
    assert_eq!(theirs.owners("orders").await.unwrap(), [b]);
}
