//! `DedupeStore`, and the claims of a settlement.

use std::time::Duration;

use super::{Fixture, consumer, consumer_of, lease};
use crate::event::EventId;
use crate::identity::{ConsumerId, OwnerId};
use crate::store::{ClaimState, Claims, Lease, Settlement, Store};

const HOUR: Duration = Duration::from_secs(3_600);
/// No case takes so long.
const MINUTE: Duration = Duration::from_secs(60);

fn id(number: usize) -> EventId {
    EventId::foreign("claims", &number.to_string())
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> Vec<EventId> {
    numbers.into_iter().map(id).collect()
}

fn taken<const N: usize>(numbers: [usize; N], expiry: Duration) -> Claims {
    Claims { taken: ids(numbers), expiry, ..Claims::default() }
}

fn done(numbers: impl IntoIterator<Item = usize>) -> Claims {
    Claims { done: ids(numbers), ..Claims::default() }
}

fn released<const N: usize>(numbers: [usize; N]) -> Claims {
    Claims { released: ids(numbers), ..Claims::default() }
}

async fn settle(store: &Store, consumer: &ConsumerId, owner: OwnerId, claims: Claims) {
    let lease = Lease { owner, ..lease(consumer, 1) };
    store.stores.state.settle(&lease, Settlement { claims, ..Settlement::default() }).await.unwrap();
}

async fn claims<const N: usize>(
    store: &Store,
    consumer: &ConsumerId,
    numbers: [usize; N],
) -> Vec<(EventId, ClaimState)> {
    store.stores.claims.claims(consumer, &ids(numbers)).await.unwrap()
}

/// `None` where nobody claimed it.
async fn claim(store: &Store, consumer: &ConsumerId, number: usize) -> Option<ClaimState> {
    claims(store, consumer, [number]).await.first().map(|(_, state)| *state)
}

/// That it is held by `owner` for `expiry`, give or take how long a case runs.
fn assert_held(state: Option<ClaimState>, owner: OwnerId, expiry: Duration) {
    let Some(ClaimState::Held { owner: holder, remaining }) = state else { panic!("{state:?}") };
    assert_eq!(holder, owner);
    assert!(remaining <= expiry && remaining + MINUTE > expiry, "{remaining:?} of {expiry:?}");
}

/// Seen by whoever asks, in the order asked for; those that nobody claimed are left out.
pub async fn a_claim_is_held_until_it_expires(fixture: Fixture) {
    let (a, owner) = (&consumer("A"), OwnerId::generate());
    assert!(claims(&fixture.store, a, [1, 2]).await.is_empty());
    settle(&fixture.store, a, owner, taken([1, 2], HOUR)).await;
    for store in [&fixture.store, &fixture.other] {
        let found = claims(store, a, [9, 2, 3, 1, 2]).await;
        assert_eq!(found.iter().map(|(event, _)| *event).collect::<Vec<_>>(), ids([2, 1]));
        for (_, state) in found {
            assert_held(Some(state), owner, HOUR);
        }
        assert!(claims(store, a, []).await.is_empty());
    }
    // The clock runs.
    let remaining = async || match claim(&fixture.other, a, 1).await {
        Some(ClaimState::Held { remaining, .. }) => remaining,
        state => panic!("{state:?}"),
    };
    let before = remaining().await;
    while remaining().await == before {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(remaining().await < before);
}

/// For longer or for shorter, and for another owner: who may is decided by the engine, under its epoch.
pub async fn taking_again_renews(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let [mine, theirs] = [(); 2].map(|()| OwnerId::generate());
    settle(store, a, mine, taken([1, 2], HOUR)).await;
    settle(store, a, mine, taken([1], 3 * HOUR)).await;
    assert_held(claim(store, a, 1).await, mine, 3 * HOUR);
    assert_held(claim(store, a, 2).await, mine, HOUR);
    settle(&fixture.other, a, theirs, taken([1], 2 * HOUR)).await;
    assert_held(claim(store, a, 1).await, theirs, 2 * HOUR);
    assert_held(claim(store, a, 2).await, mine, HOUR);
    // As long as a store can say.
    settle(store, a, mine, taken([3], Duration::MAX)).await;
    let state = claim(store, a, 3).await;
    assert!(matches!(state, Some(ClaimState::Held { remaining, .. }) if remaining > 24 * 300 * HOUR), "{state:?}");
}

/// It is shown until somebody takes it: its owner may still be at it.
pub async fn an_expired_claim_has_nothing_remaining(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let [mine, theirs] = [(); 2].map(|()| OwnerId::generate());
    settle(store, a, mine, taken([1, 2], Duration::ZERO)).await;
    let expired = Some(ClaimState::Held { owner: mine, remaining: Duration::ZERO });
    assert_eq!((claim(&fixture.other, a, 1).await, claim(store, a, 2).await), (expired, expired));
    settle(&fixture.other, a, theirs, taken([1], HOUR)).await;
    assert_held(claim(store, a, 1).await, theirs, HOUR);
    assert_eq!(claim(store, a, 2).await, expired);
}

/// Whoever takes it, releases it, or says so again.
pub async fn what_is_done_stays_done(fixture: Fixture) {
    let (store, a, owner) = (&fixture.store, &consumer("A"), OwnerId::generate());
    settle(store, a, owner, taken([1, 2], HOUR)).await;
    settle(store, a, owner, done([1, 3])).await;
    let is_done = async |number| claim(&fixture.other, a, number).await == Some(ClaimState::Done);
    assert!(is_done(1).await && !is_done(2).await && is_done(3).await);
    for owner in [owner, OwnerId::generate()] {
        for claims in [taken([1, 3], HOUR), released([1, 3]), done([1, 3]), taken([1, 3], Duration::ZERO)] {
            settle(store, a, owner, claims.clone()).await;
            assert!(is_done(1).await && !is_done(2).await && is_done(3).await, "{claims:?}");
        }
    }
    // By somebody else than who began it.
    settle(store, a, OwnerId::generate(), done([2])).await;
    assert!(is_done(2).await);
}

/// By its owner only.
pub async fn a_released_claim_is_gone(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let [mine, theirs] = [(); 2].map(|()| OwnerId::generate());
    settle(store, a, mine, taken([1, 2, 3], HOUR)).await;
    settle(&fixture.other, a, theirs, taken([3], HOUR)).await;
    settle(store, a, mine, released([1, 3, 9])).await;
    assert_eq!(claim(store, a, 1).await, None);
    assert_held(claim(store, a, 2).await, mine, HOUR);
    assert_held(claim(store, a, 3).await, theirs, HOUR);
    settle(&fixture.other, a, theirs, released([2, 3])).await;
    assert_held(claim(store, a, 2).await, mine, HOUR);
    assert_eq!(claim(store, a, 3).await, None);
    settle(store, a, mine, taken([1], HOUR)).await;
    assert_held(claim(store, a, 1).await, mine, HOUR);
}

/// In this order, whatever a settlement carries: forgotten, taken, released, done.
pub async fn forgetting_comes_before_the_rest(fixture: Fixture) {
    let (store, a, b, owner) = (&fixture.store, &consumer("A"), &consumer("B"), OwnerId::generate());
    for consumer in [a, b] {
        settle(store, consumer, owner, Claims { done: ids([2, 3]), ..taken([1, 5], HOUR) }).await;
    }
    let again = Claims { taken: ids([2, 4, 5]), expiry: HOUR, released: ids([4]), done: ids([5]), forget: true };
    settle(store, a, owner, again).await;
    assert_eq!(claims(store, a, [1, 3, 4]).await, []);
    assert_held(claim(store, a, 2).await, owner, HOUR);
    assert_eq!(claim(store, a, 5).await, Some(ClaimState::Done));
    assert_eq!(claims(store, b, [1, 2, 3, 5]).await.len(), 4, "another consumer's are its own");
    settle(store, a, owner, Claims { forget: true, ..Claims::default() }).await;
    assert_eq!(claims(store, a, [1, 2, 3, 4, 5]).await, []);
}

/// The same event is another claim for each consumer.
pub async fn claims_of_others_are_not_seen(fixture: Fixture) {
    let store = &fixture.store;
    let consumers =
        [consumer("A"), consumer("a"), consumer_of("orders", "A", 2, "*"), consumer_of("orders", "A", 1, "t")];
    let owners: Vec<OwnerId> = consumers.iter().map(|_| OwnerId::generate()).collect();
    for (consumer, owner) in consumers.iter().zip(&owners) {
        settle(store, consumer, *owner, taken([1], HOUR)).await;
    }
    settle(store, &consumers[0], owners[0], done([1])).await;
    settle(store, &consumers[1], owners[1], released([1])).await;
    assert_eq!(claim(store, &consumers[0], 1).await, Some(ClaimState::Done));
    assert_eq!(claim(store, &consumers[1], 1).await, None);
    assert_held(claim(store, &consumers[2], 1).await, owners[2], HOUR);
    assert_held(claim(store, &consumers[3], 1).await, owners[3], HOUR);
    assert_eq!(claim(store, &consumer("B"), 1).await, None);
}

/// More than fit into one statement, and some named twice.
pub async fn many_claims_at_once(fixture: Fixture) {
    let (store, a, owner) = (&fixture.store, &consumer("A"), OwnerId::generate());
    let all: Vec<EventId> = (0..200).map(id).collect();
    let twice: Vec<EventId> = all.iter().chain(&all).copied().collect();
    let released: Vec<EventId> = (100..190).chain(150..160).map(id).collect();
    let done: Vec<EventId> = (0..90).chain(10..20).map(id).collect();
    settle(store, a, owner, Claims { taken: twice.clone(), expiry: HOUR, released, done, forget: false }).await;
    let found = fixture.other.stores.claims.claims(a, &twice).await.unwrap();
    assert_eq!(found.len(), 110);
    for (number, (event, state)) in (0..100).chain(190..200).zip(found) {
        assert_eq!(event, id(number));
        if number < 90 {
            assert_eq!(state, ClaimState::Done);
        } else {
            assert_held(Some(state), owner, HOUR);
        }
    }
}

/// By the bundle, and by how long ago they were done or have expired; held ones never.
pub async fn claims_are_swept_by_age(fixture: Fixture) {
    let (store, owner) = (&fixture.store, OwnerId::generate());
    let (a, b, other) = (consumer("A"), consumer("B"), consumer_of("Orders", "A", 1, "*"));
    for consumer in [&a, &b, &other] {
        settle(store, consumer, owner, taken([1], HOUR)).await;
        settle(store, consumer, owner, taken([2], Duration::ZERO)).await;
        settle(store, consumer, owner, done([3])).await;
    }
    let sweep = async |age| fixture.other.stores.claims.sweep_claims("orders", age).await.unwrap();
    assert_eq!((sweep(HOUR).await, sweep(Duration::MAX).await), (0, 0));
    assert_eq!(claims(store, &a, [1, 2, 3]).await.len(), 3);
    // More than a store deletes at once.
    settle(store, &a, owner, done(10..1_110)).await;
    assert_eq!(sweep(Duration::ZERO).await, 1_104);
    for consumer in [&a, &b] {
        assert_eq!(claims(store, consumer, [1, 2, 3]).await.len(), 1);
        assert_held(claim(store, consumer, 1).await, owner, HOUR);
    }
    assert_eq!(claims(store, &other, [1, 2, 3]).await.len(), 3);
    assert_eq!(sweep(Duration::ZERO).await, 0);
}
