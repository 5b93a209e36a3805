//! Letters that later events queue behind: what the owner of a consumer that parks has to find again.

use super::{Fixture, consumer, lease, letter};
use crate::StoreErrorKind;
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::outcome::ErrorClass;
use crate::store::{
    DeadLetter, LetterFilter, LetterKind, ParkedKey, ParkedRow, ParkedWish, Settlement, Store, StoredDeadLetter,
};

fn key(context: &str, key: &str) -> ParkedKey {
    ParkedKey { context: context.into(), key: key.into() }
}

/// Given up, with others behind it.
fn head(position: u64, of: &ParkedKey) -> DeadLetter {
    DeadLetter { parks: Some(of.clone()), ..letter(position, "x") }
}

/// One of those.
fn behind(position: u64, of: &ParkedKey) -> DeadLetter {
    DeadLetter { kind: LetterKind::Parked, attempts: 0, error: String::new(), ..head(position, of) }
}

async fn put(store: &Store, consumer: &ConsumerId, letters: Vec<DeadLetter>) {
    settle(store, consumer, Settlement { dead_letters: letters, ..Settlement::default() }).await;
}

async fn settle(store: &Store, consumer: &ConsumerId, settlement: Settlement) {
    store.stores.state.settle(&lease(consumer, 1), settlement).await.unwrap();
}

fn numbers(letters: &[StoredDeadLetter]) -> Vec<u64> {
    letters.iter().map(|stored| stored.letter.event.position.as_u64().unwrap()).collect()
}

fn row(of: &ParkedKey, position: u64, kind: LetterKind, requested: bool) -> ParkedRow {
    ParkedRow { key: of.clone(), position: Position::from_u64(position), kind, requested }
}

/// Kind, key and order; keys and contexts byte by byte; seen by whoever owns the consumer next.
pub async fn what_is_queued_comes_back_as_it_was(fixture: Fixture) {
    let (a, queue) = (&consumer("A"), &fixture.other.stores.dead_letters);
    let long = "k".repeat(255);
    let keys = [key("default", "o-1"), key("default", "O-1"), key("shop", "o-1"), key("", "o-1 "), key(&long, &long)];
    assert!(queue.parked(a).await.unwrap().is_empty());
    put(&fixture.store, a, vec![letter(1, "nobody waits for it")]).await;
    let rows = (10..).zip(&keys).map(|(position, key)| head(position, key));
    let rows = rows.chain((300..).zip(&keys).map(|(position, key)| behind(position, key)));
    put(&fixture.store, a, rows.collect()).await;
    put(&fixture.store, &consumer("B"), vec![head(1, &keys[0])]).await;
    let dead = (10..).zip(&keys).map(|(position, key)| row(key, position, LetterKind::Dead, false));
    let waiting = (300..).zip(&keys).map(|(position, key)| row(key, position, LetterKind::Parked, false));
    assert_eq!(queue.parked(a).await.unwrap(), dead.chain(waiting).collect::<Vec<_>>());
    let all = queue.list(a, &LetterFilter::all(), None, 100).await.unwrap();
    let waiting = all.iter().find(|stored| stored.letter.event.position == Position::from_u64(304)).unwrap();
    assert_eq!((waiting.letter.kind, waiting.letter.attempts), (LetterKind::Parked, 0));
    assert_eq!(waiting.letter.parks.as_ref(), Some(&keys[4]));
    assert_eq!((all[0].letter.kind, &all[0].letter.parks), (LetterKind::Dead, &None));
    let kind = async |kind| numbers(&queue.list(a, &LetterFilter::all().kind(kind), None, 100).await.unwrap());
    assert_eq!(kind(LetterKind::Dead).await, [1, 10, 11, 12, 13, 14]);
    assert_eq!(kind(LetterKind::Parked).await, [300, 301, 302, 303, 304]);
    // What was not tried has not failed in any way.
    for class in [ErrorClass::Ordinary, ErrorClass::Transient, ErrorClass::Permanent] {
        let which = LetterFilter::all().class(class);
        assert!(numbers(&queue.list(a, &which, None, 100).await.unwrap()).iter().all(|number| *number < 300));
        let which = which.kind(LetterKind::Parked);
        assert_eq!(queue.request(a, &which).await.unwrap(), 0);
        assert!(queue.list(a, &which, None, 100).await.unwrap().is_empty());
    }
    assert_eq!(queue.count(a).await.unwrap(), 11);
    // Once it was tried it is a dead letter, in the same place.
    put(&fixture.store, a, vec![DeadLetter { kind: LetterKind::Dead, attempts: 1, ..behind(300, &keys[0]) }]).await;
    put(&fixture.store, a, vec![DeadLetter { parks: None, ..head(10, &keys[0]) }]).await;
    assert_eq!(kind(LetterKind::Parked).await, [301, 302, 303, 304]);
    assert_eq!(queue.parked(a).await.unwrap().iter().filter(|row| row.key == keys[0]).count(), 2);
    // Of a lost ownership nothing is queued.
    state_refuses(&fixture, a, head(99, &keys[0])).await;
}

async fn state_refuses(fixture: &Fixture, consumer: &ConsumerId, letter: DeadLetter) {
    let newer = lease(consumer, 2);
    fixture.store.stores.state.settle(&newer, Settlement::default()).await.unwrap();
    let before = fixture.store.stores.dead_letters.parked(consumer).await.unwrap();
    let settlement = Settlement { dead_letters: vec![letter], ..Settlement::default() };
    let refused = fixture.store.stores.state.settle(&lease(consumer, 1), settlement).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced);
    assert_eq!(fixture.store.stores.dead_letters.parked(consumer).await.unwrap(), before);
}

/// Marked and unmarked together, with what is queued by the same settlement, and nothing of another key.
pub async fn a_wish_is_about_everything_of_a_key(fixture: Fixture) {
    let (a, queue) = (&consumer("A"), &fixture.other.stores.dead_letters);
    let (one, two) = (key("default", "o-1"), key("shop", "o-1"));
    let letters = vec![head(1, &one), behind(2, &one), head(3, &two), behind(4, &two), letter(5, "x")];
    put(&fixture.store, a, letters).await;
    put(&fixture.store, &consumer("B"), vec![head(6, &one)]).await;
    let wish = |key: &ParkedKey, redrive| vec![ParkedWish { key: key.clone(), redrive }];
    let settlement =
        Settlement { dead_letters: vec![behind(7, &one)], parked: wish(&one, true), ..Settlement::default() };
    settle(&fixture.store, a, settlement).await;
    assert_eq!(numbers(&queue.requested(a, 100).await.unwrap()), [1, 2, 7]);
    assert!(queue.requested(&consumer("B"), 100).await.unwrap().is_empty());
    let settlement =
        Settlement { resolved: vec![letter(1, "").event.id], parked: wish(&one, true), ..Settlement::default() };
    settle(&fixture.store, a, settlement).await;
    assert_eq!(numbers(&queue.requested(a, 100).await.unwrap()), [2, 7]);
    assert_eq!(
        queue.parked(a).await.unwrap(),
        [
            row(&one, 2, LetterKind::Parked, true),
            row(&two, 3, LetterKind::Dead, false),
            row(&two, 4, LetterKind::Parked, false),
            row(&one, 7, LetterKind::Parked, true)
        ]
    );
    settle(&fixture.store, a, Settlement { parked: wish(&one, false), ..Settlement::default() }).await;
    assert!(queue.requested(a, 100).await.unwrap().is_empty() && queue.wanted("orders").await.unwrap().is_empty());
}

/// Nor is what was forgotten.
pub async fn resolved_is_queued_no_more(fixture: Fixture) {
    let (a, queue) = (&consumer("A"), &fixture.other.stores.dead_letters);
    let one = key("default", "o-1");
    put(&fixture.store, a, vec![head(1, &one), behind(2, &one)]).await;
    let resolved = |number| Settlement { resolved: vec![letter(number, "").event.id], ..Settlement::default() };
    settle(&fixture.store, a, resolved(1)).await;
    assert_eq!(queue.parked(a).await.unwrap(), [row(&one, 2, LetterKind::Parked, false)]);
    // Told to go back, the consumer may find it in the same place again.
    put(&fixture.store, a, vec![behind(1, &one)]).await;
    assert_eq!(
        queue.parked(a).await.unwrap(),
        [row(&one, 1, LetterKind::Parked, false), row(&one, 2, LetterKind::Parked, false)]
    );
    let again = queue.list(a, &LetterFilter::all().kind(LetterKind::Parked), None, 10).await.unwrap();
    assert_eq!(numbers(&again), [1, 2]);
    settle(&fixture.store, a, resolved(1)).await;
    settle(&fixture.store, a, resolved(2)).await;
    assert!(queue.parked(a).await.unwrap().is_empty());
    // Nor is what somebody has discarded.
    put(&fixture.store, a, vec![head(3, &one), behind(4, &one), behind(5, &key("shop", "o-1"))]).await;
    assert_eq!(queue.discard(a, &LetterFilter::at(Position::from_u64(3))).await.unwrap(), 1);
    assert_eq!(queue.parked(a).await.unwrap().len(), 2);
    assert_eq!(queue.discard(a, &LetterFilter::all().kind(LetterKind::Parked)).await.unwrap(), 2);
    assert!(queue.parked(a).await.unwrap().is_empty());
    put(&fixture.store, a, vec![letter(3, "nobody waits for it any more")]).await;
    assert!(queue.parked(a).await.unwrap().is_empty());
    put(&fixture.store, a, vec![head(3, &one)]).await;
    assert_eq!(fixture.store.stores.state.forget("orders", "A", 1).await.unwrap(), 1);
    assert!(queue.parked(a).await.unwrap().is_empty());
    put(&fixture.store, a, vec![letter(3, "x")]).await;
    assert!(queue.parked(a).await.unwrap().is_empty());
}
