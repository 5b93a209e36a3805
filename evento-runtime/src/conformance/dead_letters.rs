//! `DeadEventQueue`, and the dead letters of a settlement.

use std::sync::Arc;

use super::{Fixture, consumer, lease, letter};
use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::ConsumerId;
use crate::outcome::ErrorClass;
use crate::store::{Checkpoint, DeadLetter, LetterFilter, MAX_ERROR_TEXT, Settlement, Store, StoredDeadLetter};
use crate::{EventId, StoreErrorKind};

async fn put(store: &Store, consumer: &ConsumerId, letters: Vec<DeadLetter>) {
    let settlement = Settlement { dead_letters: letters, ..Settlement::default() };
    store.stores.state.settle(&lease(consumer, 1), settlement).await.unwrap();
}

async fn list(store: &Store, consumer: &ConsumerId) -> Vec<DeadLetter> {
    let letters = store.stores.dead_letters.list(consumer, &LetterFilter::all(), None, 1_000).await.unwrap();
    assert!(letters.iter().all(|letter| letter.consumer == *consumer));
    letters.into_iter().map(|stored| stored.letter).collect()
}

fn assert_same_event(found: &StoredEvent, put: &StoredEvent) {
    assert_eq!((&found.position, found.id, &found.name), (&put.position, put.id, &put.name));
    assert_eq!((&found.context, &found.key, found.version), (&put.context, &put.key, put.version));
    assert_eq!((found.recorded_at, &found.content_type), (put.recorded_at, &put.content_type));
    assert_eq!((&found.payload, &found.metadata), (&put.payload, &put.metadata));
}

/// The event with its raw bytes, the failure with its microseconds.
pub async fn a_letter_comes_back_as_it_was(fixture: Fixture) {
    let a = &consumer("A");
    assert!(list(&fixture.store, a).await.is_empty());
    let put_in = letter(7, "bad");
    put(&fixture.store, a, vec![put_in.clone()]).await;
    let found = list(&fixture.other, a).await;
    assert_eq!(found.len(), 1);
    assert_same_event(&found[0].event, &put_in.event);
    assert_eq!((&found[0].handler, found[0].class, &found[0].error), (&put_in.handler, put_in.class, &put_in.error));
    assert_eq!(found[0].attempts, 2);
    assert_eq!((found[0].first_failed_at, found[0].last_failed_at), (put_in.first_failed_at, put_in.last_failed_at));
    // An event of another kind of source, without key, version and metadata.
    let foreign = StoredEvent {
        position: Position::from_bytes(&[255; 40]).unwrap(),
        id: EventId::generate(),
        key: None,
        version: None,
        metadata: Vec::new().into(),
        payload: Vec::new().into(),
        ..(*put_in.event).clone()
    };
    put(&fixture.store, a, vec![DeadLetter { event: Arc::new(foreign.clone()), ..put_in }]).await;
    assert_same_event(&list(&fixture.store, a).await[1].event, &foreign);
}

/// One row per consumer and event: attempts summed, first failure kept, the rest replaced.
pub async fn a_second_letter_adds_up(fixture: Fixture) {
    let a = &consumer("A");
    put(&fixture.store, a, vec![letter(7, "first")]).await;
    let second = DeadLetter {
        class: ErrorClass::Ordinary,
        handler: "again".to_owned(),
        attempts: 3,
        first_failed_at: Timestamp::from_micros(8_000_000),
        last_failed_at: Timestamp::from_micros(9_000_000),
        ..letter(7, "second")
    };
    put(&fixture.other, a, vec![second.clone()]).await;
    let found = list(&fixture.store, a).await;
    assert_eq!((found.len(), fixture.store.stores.dead_letters.count(a).await.unwrap()), (1, 1));
    assert_eq!((&*found[0].error, &*found[0].handler, found[0].class), ("second", "again", ErrorClass::Ordinary));
    assert_eq!(found[0].attempts, 5);
    assert_eq!(
        (found[0].first_failed_at, found[0].last_failed_at.as_micros()),
        (letter(7, "").first_failed_at, 9_000_000)
    );
    // Twice in one settlement is no different, and the sum has an end.
    put(&fixture.store, a, vec![second.clone(), DeadLetter { attempts: u32::MAX, ..second }]).await;
    assert_eq!(list(&fixture.store, a).await[0].attempts, u32::MAX);
}

/// NUL, quotes, megabytes: shortened and marked where needed, never refused.
pub async fn any_error_text_can_be_stored(fixture: Fixture) {
    let a = &consumer("A");
    let garbled = String::from_utf8_lossy(&[0xff, b'a', 0xc3, 0x28]).into_owned();
    let texts = [
        String::new(),
        "\0".to_owned(),
        format!("{}\0", "é\0".repeat(MAX_ERROR_TEXT)),
        "x".repeat(2 * 1_024 * 1_024),
        "\u{1F980}".repeat(70 * 1_024),
        "'; DROP TABLE evento_event; --\" \\ %s {}".to_owned(),
        garbled,
        "x".repeat(MAX_ERROR_TEXT),
    ];
    for (position, text) in (1..).zip(&texts) {
        put(&fixture.store, a, vec![DeadLetter { handler: text.clone(), ..letter(position, text) }]).await;
    }
    let found = list(&fixture.store, a).await;
    assert_eq!(found.len(), texts.len());
    for (letter, text) in found.iter().zip(&texts) {
        assert!(letter.error.len() <= MAX_ERROR_TEXT && !letter.error.contains('\0'));
        if text.len() <= MAX_ERROR_TEXT && !text.contains('\0') {
            assert_eq!(letter.error, *text);
        } else if text.len() > MAX_ERROR_TEXT {
            assert!(letter.error.ends_with("(cut)"));
        }
    }
}

/// By position, a page at a time.
pub async fn letters_are_listed_in_order(fixture: Fixture) {
    let (a, queue) = (&consumer("A"), &fixture.store.stores.dead_letters);
    put(&fixture.store, a, [300, 2, 70_000, 1, 256].map(|position| letter(position, "x")).into()).await;
    let numbers = |letters: Vec<StoredDeadLetter>| -> Vec<u64> {
        letters.iter().map(|stored| stored.letter.event.position.as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(queue.list(a, &LetterFilter::all(), None, 3).await.unwrap()), [1, 2, 256]);
    let after = Position::from_u64(256);
    assert_eq!(numbers(queue.list(a, &LetterFilter::all(), Some(&after), 3).await.unwrap()), [300, 70_000]);
    assert_eq!(numbers(queue.list(a, &LetterFilter::all(), None, usize::MAX).await.unwrap()).len(), 5);
    assert!(queue.list(a, &LetterFilter::all(), None, 0).await.unwrap().is_empty());
    assert_eq!(queue.count(a).await.unwrap(), 5);
}

/// The same event may be dead for one consumer and fine for another.
pub async fn letters_of_others_are_not_seen(fixture: Fixture) {
    put(&fixture.store, &consumer("A"), vec![letter(1, "a")]).await;
    put(&fixture.store, &consumer("a"), vec![letter(1, "b"), letter(2, "b")]).await;
    assert_eq!(list(&fixture.store, &consumer("A")).await.len(), 1);
    assert_eq!(list(&fixture.store, &consumer("a")).await.len(), 2);
    assert!(list(&fixture.store, &consumer("B")).await.is_empty());
    assert_eq!(fixture.store.stores.dead_letters.count(&consumer("B")).await.unwrap(), 0);
}

/// A checkpoint that passes an event comes with its letter or not at all.
pub async fn letters_and_checkpoint_are_one_step(fixture: Fixture) {
    let (a, state) = (&consumer("A"), &fixture.store.stores.state);
    let position = Some(Position::from_u64(1));
    let settlement = || Settlement {
        dead_letters: vec![letter(1, "x")],
        checkpoint: Some(Checkpoint { watermark: position.clone(), reach: position.clone(), open: Vec::new() }),
        ..Settlement::default()
    };
    state.settle(&lease(a, 2), settlement()).await.unwrap();
    assert_eq!(list(&fixture.store, a).await.len(), 1);
    assert_eq!(state.load(a).await.unwrap().checkpoint.unwrap().watermark, position);
    let refused = state.settle(&lease(a, 1), settlement()).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Fenced);
    assert_eq!(list(&fixture.store, a).await[0].attempts, 2);
}

/// Marked by anybody, unmarked by the outcome: resolved ones are listed no more, failed ones stay.
pub async fn letters_are_requested_and_resolved(fixture: Fixture) {
    let (a, b, queue) = (&consumer("A"), &consumer("B"), &fixture.other.stores.dead_letters);
    put(&fixture.store, a, (1..=4).map(|n| letter(n, "x")).collect()).await;
    put(&fixture.store, b, vec![letter(1, "x")]).await;
    assert!(queue.wanted("orders").await.unwrap().is_empty());
    assert_eq!(queue.request(a, &LetterFilter::all().key("o-2")).await.unwrap(), 0);
    assert_eq!(queue.request(a, &LetterFilter::all().name("placed")).await.unwrap(), 0, "names are compared by bytes");
    assert_eq!(queue.request(a, &LetterFilter::at(Position::from_u64(3))).await.unwrap(), 1);
    assert_eq!(queue.request(a, &LetterFilter::at(Position::from_u64(1)).key("o-1").name("Placed")).await.unwrap(), 1);
    let requested = async || {
        let letters = fixture.store.stores.dead_letters.requested(a, 10).await.unwrap();
        letters.iter().map(|stored| stored.letter.event.position.as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(requested().await, [1, 3]);
    assert_eq!(fixture.store.stores.dead_letters.wanted("orders").await.unwrap(), std::slice::from_ref(a));
    assert!(fixture.store.stores.dead_letters.wanted("other").await.unwrap().is_empty());

    // One is handled after all, one fails again.
    let settlement = Settlement {
        resolved: vec![letter(1, "").event.id, letter(99, "").event.id],
        dead_letters: vec![letter(3, "again")],
        ..Settlement::default()
    };
    fixture.store.stores.state.settle(&lease(a, 1), settlement).await.unwrap();
    assert!(requested().await.is_empty() && queue.wanted("orders").await.unwrap().is_empty());
    let letters = queue.list(a, &LetterFilter::all(), None, 10).await.unwrap();
    let seen: Vec<_> = letters.iter().map(|stored| (&*stored.letter.error, stored.letter.attempts)).collect();
    assert_eq!(seen, [("x", 2), ("again", 4), ("x", 2)]);
    assert_eq!((queue.count(a).await.unwrap(), queue.count(b).await.unwrap()), (3, 1));
    // A resolved one cannot be requested; one that dies again is a letter again.
    assert_eq!(queue.request(a, &LetterFilter::all()).await.unwrap(), 3);
    put(&fixture.store, a, vec![letter(1, "back")]).await;
    assert_eq!((queue.count(a).await.unwrap(), requested().await), (4, vec![2, 3, 4]));
}

/// What a filter picks of the letters of a consumer: the same when listed, a page at a time, and when requested.
async fn assert_picked(fixture: &Fixture, consumer: &ConsumerId, which: LetterFilter, expected: &[u64]) {
    let (queue, other) = (&fixture.store.stores.dead_letters, &fixture.other.stores.dead_letters);
    let numbers = |letters: &[StoredDeadLetter]| -> Vec<u64> {
        letters.iter().map(|stored| stored.letter.event.position.as_u64().unwrap()).collect()
    };
    let picked = queue.list(consumer, &which, None, 1_000).await.unwrap();
    assert_eq!(numbers(&picked), expected, "{which:?}");
    assert!(picked.iter().all(|stored| which.matches(&stored.letter)), "{which:?}");
    if let Some((first, rest)) = expected.split_first() {
        let first = Position::from_u64(*first);
        let page = other.list(consumer, &which, Some(&first), rest.len().saturating_sub(1)).await.unwrap();
        assert_eq!(numbers(&page), &rest[..rest.len().saturating_sub(1)], "{which:?}");
    }
    assert_eq!(other.request(consumer, &which).await.unwrap(), expected.len() as u64, "{which:?}");
    let requested = queue.requested(consumer, 1_000).await.unwrap();
    assert_eq!(numbers(&requested), expected, "{which:?}");
    // What dies again is not requested any more.
    let again = requested.into_iter().map(|stored| DeadLetter { attempts: 0, ..stored.letter }).collect();
    put(&fixture.store, consumer, again).await;
    assert!(queue.requested(consumer, 1_000).await.unwrap().is_empty());
}

/// By each of its parts, and by several: those that fit all of them.
pub async fn letters_are_filtered(fixture: Fixture) {
    let a = &consumer("A");
    let make = |position: u64, name: &str, key: Option<&str>, handler: &str, class: ErrorClass, failed: i64| {
        let plain = letter(position, "x");
        let event = StoredEvent { name: name.into(), key: key.map(Into::into), ..(*plain.event).clone() };
        let last_failed_at = Timestamp::from_micros(failed);
        DeadLetter { event: Arc::new(event), handler: handler.to_owned(), class, last_failed_at, ..plain }
    };
    let (ordinary, transient, permanent) = (ErrorClass::Ordinary, ErrorClass::Transient, ErrorClass::Permanent);
    let letters = vec![
        make(1, "Placed", Some("o-1"), "placed", ordinary, 1_000_000),
        make(2, "placed", Some("O-1"), "Placed", transient, 1_000_001),
        make(3, "Placed", Some("o-1 "), "placed ", permanent, 1_000_002),
        make(300, "Closed", None, "closed", ordinary, 2_000_000),
        make(70_000, "Placed", Some("ö"), "placed", permanent, -5),
    ];
    put(&fixture.store, a, letters).await;
    put(&fixture.store, &consumer("B"), vec![letter(1, "x")]).await;
    let (all, at) = (LetterFilter::all, |micros| Timestamp::from_micros(micros));
    let picked = async |which: LetterFilter, expected: &[u64]| assert_picked(&fixture, a, which, expected).await;
    picked(all(), &[1, 2, 3, 300, 70_000]).await;
    picked(LetterFilter::at(Position::from_u64(300)), &[300]).await;
    picked(LetterFilter::at(Position::from_u64(301)), &[]).await;
    picked(all().name("Placed"), &[1, 3, 70_000]).await;
    picked(all().name("placed"), &[2]).await;
    picked(all().key("o-1"), &[1]).await;
    picked(all().key("o-1 "), &[3]).await;
    picked(all().key("o\u{308}"), &[]).await;
    picked(all().key("ö"), &[70_000]).await;
    picked(all().handler("placed"), &[1, 70_000]).await;
    picked(all().handler("Placed"), &[2]).await;
    picked(all().handler("placed "), &[3]).await;
    picked(all().handler("placed%"), &[]).await;
    picked(all().class(ordinary), &[1, 300]).await;
    picked(all().class(transient), &[2]).await;
    picked(all().class(permanent), &[3, 70_000]).await;
    picked(all().since(at(1_000_001)), &[2, 3, 300]).await;
    picked(all().before(at(1_000_001)), &[1, 70_000]).await;
    picked(all().since(at(1_000_001)).before(at(1_000_002)), &[2]).await;
    picked(all().since(at(1_000_001)).before(at(1_000_001)), &[]).await;
    picked(all().since(at(i64::MIN)).before(at(i64::MAX)), &[1, 2, 3, 300, 70_000]).await;
    picked(all().name("Placed").class(permanent), &[3, 70_000]).await;
    picked(all().name("Placed").class(permanent).handler("placed").key("ö").before(at(0)).error("x"), &[70_000]).await;
    picked(all().name("Placed").class(transient), &[]).await;
    for nul in [all().name("Placed\0"), all().key("\0"), all().handler("placed\0"), all().error("\0")] {
        picked(nul, &[]).await;
    }
    // One that was handled after all is not picked by anything.
    let resolved = Settlement { resolved: vec![letter(1, "").event.id], ..Settlement::default() };
    fixture.store.stores.state.settle(&lease(a, 1), resolved).await.unwrap();
    picked(all().class(ordinary), &[300]).await;
    picked(all().name("Placed"), &[3, 70_000]).await;
}

/// By a part of its text, byte by byte: nothing in it has a meaning of its own.
pub async fn letters_are_filtered_by_their_error(fixture: Fixture) {
    let a = &consumer("A");
    let long = format!("{}needle", "x".repeat(MAX_ERROR_TEXT - 6));
    let texts =
        ["100% of a_b", "Timed out", "timed out\ncaused by: disk", "größe \u{1F980} ", "a\\b 'c' \"d\"", "", &long];
    put(&fixture.store, a, (1..).zip(texts).map(|(position, text)| letter(position, text)).collect()).await;
    let picked = async |part: &str, expected: &[u64]| {
        assert_picked(&fixture, a, LetterFilter::all().error(part), expected).await;
    };
    picked("", &[1, 2, 3, 4, 5, 6, 7]).await;
    picked("imed out", &[2, 3]).await;
    picked("timed", &[3]).await;
    picked("TIMED", &[]).await;
    picked("out\ncaused", &[3]).await;
    picked("%", &[1]).await;
    picked("100%b", &[]).await;
    picked("a_b", &[1]).await;
    picked("_", &[1]).await;
    picked("\\", &[5]).await;
    picked("'c' \"", &[5]).await;
    picked("' OR 1 = 1 --", &[]).await;
    picked("größe", &[4]).await;
    picked("gro\u{308}ße", &[]).await;
    picked("grosse", &[]).await;
    picked("GRÖSSE", &[]).await;
    picked("\u{1F980} ", &[4]).await;
    picked("\u{1F980}  ", &[]).await;
    picked("needle", &[7]).await;
    picked("out ", &[]).await;
    picked("100% of a_b", &[1]).await;
    picked("100% of a_b ", &[]).await;
}

/// What was discarded is listed no more, comes back with its next failure, and is deleted by its age.
pub async fn letters_are_discarded_and_purged(fixture: Fixture) {
    let (a, b) = (&consumer("A"), &consumer("B"));
    put(&fixture.store, a, (1..=4).map(|position| letter(position, "bad")).collect()).await;
    put(&fixture.store, b, vec![letter(1, "bad")]).await;
    let queue = &fixture.other.stores.dead_letters;
    queue.request(a, &LetterFilter::at(Position::from_u64(2))).await.unwrap();
    assert_eq!(queue.discard(a, &LetterFilter::at(Position::from_u64(2))).await.unwrap(), 1);
    assert_eq!(queue.discard(a, &LetterFilter::all().name("\0")).await.unwrap(), 0);
    let open =
        |letters: Vec<DeadLetter>| letters.iter().map(|letter| letter.event.position.clone()).collect::<Vec<_>>();
    assert_eq!(open(list(&fixture.store, a).await), [1, 3, 4].map(Position::from_u64));
    assert!(queue.wanted("orders").await.unwrap().is_empty());
    assert_eq!(queue.discard(a, &LetterFilter::all()).await.unwrap(), 3);
    assert_eq!(queue.discard(a, &LetterFilter::all()).await.unwrap(), 0);
    assert_eq!((queue.count(a).await.unwrap(), queue.count(b).await.unwrap()), (0, 1));
    // Again with its attempts added up, since the row is there.
    put(&fixture.store, a, vec![letter(3, "worse")]).await;
    let back = list(&fixture.store, a).await;
    assert_eq!((back.len(), back[0].attempts, &*back[0].error), (1, 4, "worse"));
    assert_eq!(queue.purge(a, Timestamp::from_micros(1)).await.unwrap(), 0);
    assert_eq!(queue.purge(a, Timestamp::from_micros(i64::MAX)).await.unwrap(), 3);
    assert_eq!((queue.count(a).await.unwrap(), queue.count(b).await.unwrap()), (1, 1));
    put(&fixture.store, a, vec![letter(4, "bad")]).await;
    assert_eq!(list(&fixture.store, a).await[1].attempts, 2);
}
