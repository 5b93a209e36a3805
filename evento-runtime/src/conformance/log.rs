//! `EventSource` and `EventStore`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::{Fixture, event};
use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::ContextPattern;
use crate::source::{
    Append, Browse, EventFilter, Expected, FetchLimits, MAX_METADATA, MAX_PAYLOAD, PositionCheck, StreamKey,
};
use crate::store::Store;
use crate::{AppendError, EventId, NewEvent};

const MANY: FetchLimits = FetchLimits { events: 100_000, bytes: usize::MAX };

async fn append(store: &Store, events: Vec<NewEvent>) -> crate::Appended {
    store.append(None::<String>, Expected::Any, events).await.unwrap()
}

async fn all(store: &Store) -> Vec<StoredEvent> {
    store.events.fetch(None, MANY, &EventFilter::all()).await.unwrap().events
}

fn named(names: &[&str]) -> EventFilter {
    EventFilter::new(Some(names.iter().map(|name| (*name).to_owned()).collect()), ContextPattern::All)
}

/// Payload, metadata, content type, context, key, id: exactly what the producer gave.
pub async fn events_come_back_as_they_were(fixture: Fixture) {
    let store = &fixture.store;
    assert_eq!(store.events.head().await.unwrap(), None);
    let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let id = EventId::foreign("shop", "4711");
    let first = event("Placed", every_byte.clone())
        .id(id)
        .key("Straße \u{1F980} ")
        .context("tenant-ä")
        .metadata("user", "a\"d\0a")
        .metadata("n", 1.5);
    let appended = append(store, vec![first, event("Empty", [])]).await;
    let events = all(&fixture.other).await;
    assert_eq!(events.len(), 2);
    let first = &events[0];
    assert_eq!((&first.position, first.id, &*first.name), (&appended.first, id, "Placed"));
    assert_eq!((first.key.as_deref(), first.version), (Some("Straße \u{1F980} "), Some(1)));
    assert_eq!((&*first.context, &*first.content_type), ("tenant-ä", "application/octet-stream"));
    assert_eq!(first.payload, every_byte);
    assert_eq!(&first.metadata[..], r#"{"n":1.5,"user":"a\"d\u0000a"}"#.as_bytes());
    assert!(first.recorded_at.as_secs() > 1_700_000_000);
    let second = &events[1];
    assert_eq!((&second.position, &*second.context), (&appended.last, "default"));
    assert_eq!((second.key.as_deref(), second.version), (None, None));
    assert!(second.payload.is_empty() && second.metadata.is_empty());
    assert_eq!(store.events.head().await.unwrap(), Some(appended.last));
}

/// A payload of 8 MiB and metadata of 16 KiB go in; one byte more is refused.
pub async fn sizes_are_taken_up_to_their_limits(fixture: Fixture) {
    let store = &fixture.store;
    // {"m":"…"} has eight bytes around the value.
    let meta = |bytes: usize| event("Meta", []).metadata("m", "x".repeat(bytes - 8));
    append(store, vec![event("Big", vec![7; MAX_PAYLOAD]), meta(MAX_METADATA)]).await;
    let error = store.append(None::<String>, Expected::Any, [event("Big", vec![7; MAX_PAYLOAD + 1])]).await;
    assert!(matches!(error, Err(AppendError::PayloadTooLarge { .. })), "{error:?}");
    let error = store.append(None::<String>, Expected::Any, [meta(MAX_METADATA + 1)]).await;
    assert!(matches!(error, Err(AppendError::MetadataTooLarge { .. })), "{error:?}");
    let events = all(store).await;
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].payload.len(), events[1].metadata.len()), (MAX_PAYLOAD, MAX_METADATA));
}

/// Case, spaces, composed and decomposed letters, length: all make another stream.
pub async fn keys_are_compared_byte_by_byte(fixture: Fixture) {
    let long = "k".repeat(255);
    let keys = ["a", "A", "a ", " a", "ä", "Ä", "a\u{308}", "a%", "a_", &long, &long[..254]];
    for key in keys {
        let appended = fixture.store.append(key, Expected::New, [event("E", [])]).await.unwrap();
        assert_eq!(appended.version, Some(1), "{key}");
    }
    // The context is part of the stream.
    let elsewhere = fixture.store.append("a", Expected::New, [event("E", []).context("other")]).await.unwrap();
    assert_eq!(elsewhere.version, Some(1));
    for key in keys {
        let appended = fixture.other.append(key, Expected::Version(1), [event("E", [])]).await.unwrap();
        assert_eq!(appended.version, Some(2), "{key}");
    }
}

/// Each with its own error, and nothing stored.
pub async fn unusable_names_and_keys_are_refused(fixture: Fixture) {
    let store = &fixture.store;
    for (key, new) in [
        (StreamKey::from(""), event("E", [])),
        (StreamKey::from("k".repeat(256)), event("E", [])),
        (StreamKey::from("k\0"), event("E", [])),
        (StreamKey::from("k"), event("no spaces", [])),
        (StreamKey::from("k"), event("E", []).context("")),
    ] {
        let error = store.append(key, Expected::Any, [new]).await;
        assert!(matches!(error, Err(AppendError::Invalid { .. })), "{error:?}");
    }
    let error = store.append("a", Expected::Any, [event("E", []).key("b")]).await;
    assert!(matches!(error, Err(AppendError::KeyMismatch { .. })), "{error:?}");
    let error = store.append(None::<String>, Expected::New, [event("E", [])]).await;
    assert!(matches!(error, Err(AppendError::VersionWithoutKey)), "{error:?}");
    let error = store.append("a", Expected::Any, Vec::<NewEvent>::new()).await;
    assert!(matches!(error, Err(AppendError::Empty)), "{error:?}");
    assert!(all(store).await.is_empty());
}

/// New, a version, and the conflict that says what was found.
pub async fn versions_are_checked(fixture: Fixture) {
    let store = &fixture.store;
    let two = || vec![event("E", []), event("E", [])];
    let appended = store.append("a", Expected::New, two()).await.unwrap();
    assert_eq!(appended.version, Some(2));
    assert!(appended.first < appended.last);
    for wrong in [Expected::New, Expected::Version(0), Expected::Version(1), Expected::Version(3)] {
        match fixture.other.append("a", wrong, two()).await {
            Err(AppendError::Conflict { key, actual, .. }) => assert_eq!((&*key, actual), ("a", 2)),
            other => panic!("{wrong:?}: {other:?}"),
        }
    }
    assert_eq!(store.append("a", Expected::Version(2), two()).await.unwrap().version, Some(4));
    assert_eq!(store.append("a", Expected::Any, two()).await.unwrap().version, Some(6));
    let versions: Vec<_> = all(store).await.iter().map(|event| event.version.unwrap()).collect();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6]);
}

/// 32 appends that expect the same version, from two sides.
pub async fn one_of_many_contenders_wins(fixture: Fixture) {
    fixture.store.append("a", Expected::New, [event("E", [])]).await.unwrap();
    let mut contenders = tokio::task::JoinSet::new();
    for number in 0..32 {
        let store = if number % 2 == 0 { fixture.store.clone() } else { fixture.other.clone() };
        contenders.spawn(async move { store.append("a", Expected::Version(1), [event("E", [number])]).await });
    }
    let results = contenders.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    let conflicts = results.iter().filter(|result| matches!(result, Err(AppendError::Conflict { actual: 2, .. })));
    assert_eq!(conflicts.count(), 31);
    assert_eq!(all(&fixture.store).await.len(), 2);
}

/// The positions of the first time, whatever version is expected by now.
pub async fn an_id_again_is_known(fixture: Fixture) {
    let ids = [EventId::generate(), EventId::generate()];
    let batch = || ids.map(|id| event("E", [1, 2]).id(id).metadata("n", 1));
    let first = fixture.store.append("a", Expected::New, batch()).await.unwrap();
    assert!(!first.known);
    fixture.store.append("a", Expected::Any, [event("Later", [])]).await.unwrap();
    for expected in [Expected::New, Expected::Any, Expected::Version(9)] {
        let again = fixture.other.append("a", expected, batch()).await.unwrap();
        assert!(again.known);
        assert_eq!((again.first, again.last, again.version), (first.first.clone(), first.last.clone(), Some(2)));
    }
    assert_eq!(all(&fixture.store).await.len(), 3);
    let keyless = || [event("E", [9]).id(EventId::foreign("x", "1"))];
    let first = append(&fixture.store, keyless().into()).await;
    let again = append(&fixture.store, keyless().into()).await;
    assert_eq!((again.known, again.first), (true, first.first));
}

/// An id names one fact for ever: other payload, name, key, context, type or metadata are refused.
pub async fn an_id_with_other_bytes_is_refused(fixture: Fixture) {
    let store = &fixture.store;
    let known = EventId::generate();
    store.append("a", Expected::Any, [event("E", [1]).id(known)]).await.unwrap();
    let others = [
        event("E", [2]).key("a"),
        event("E", []).key("a"),
        event("F", [1]).key("a"),
        event("E", [1]).key("b"),
        event("E", [1]),
        event("E", [1]).key("a").context("c"),
        event("E", [1]).key("a").metadata("m", 1),
        NewEvent::raw("E", "text/plain", vec![1]).key("a"),
    ];
    for other in others {
        let error = store.append(None::<String>, Expected::Any, [other.id(known)]).await;
        assert!(matches!(error, Err(AppendError::IdReused { id }) if id == known), "{error:?}");
    }
    let twice = [event("E", [3]), event("E", [3])].map(|event| event.id(EventId::foreign("x", "y")));
    let error = store.append(None::<String>, Expected::Any, twice).await;
    assert!(matches!(error, Err(AppendError::IdReused { .. })), "{error:?}");
    assert_eq!(all(store).await.len(), 1);
}

/// A batch with one known event leaves nothing of itself; so does one in the middle of others.
pub async fn a_batch_is_stored_wholly_or_not_at_all(fixture: Fixture) {
    let known = EventId::generate();
    append(&fixture.store, vec![event("E", [1]).id(known)]).await;
    let mut batch: Vec<_> = (0..100).map(|_| event("E", [2])).collect();
    batch.push(event("E", [1]).id(known));
    let error = fixture.store.append(None::<String>, Expected::Any, batch).await;
    assert!(matches!(error, Err(AppendError::PartlyKnown { known: 1, total: 101 })), "{error:?}");
    assert_eq!(all(&fixture.store).await.len(), 1);

    // At the same time as appends that are good.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40_u8 {
        let store = fixture.store.clone();
        tasks.spawn(async move {
            let mut batch = vec![event("Good", [number]), event("Good", [number])];
            if number % 2 == 1 {
                batch.push(event("E", [1]).id(known));
            }
            let stored = store.append("k", Expected::Any, batch).await.is_ok();
            assert_eq!(stored, number % 2 == 0);
        });
    }
    tasks.join_all().await;
    let events = all(&fixture.store).await;
    assert_eq!(events.len(), 1 + 40);
    assert!(events[1..].iter().all(|event| event.payload[0] % 2 == 0));
    let versions: Vec<_> = events[1..].iter().map(|event| event.version.unwrap()).collect();
    assert_eq!(versions, (1..=40).collect::<Vec<_>>());
}

/// 333 events of 50 streams in one batch.
pub async fn large_batches_keep_their_order(fixture: Fixture) {
    let batch = (0..333_u32).map(|n| event("E", n.to_be_bytes()).key(format!("k{}", n % 50))).collect();
    let appended = append(&fixture.store, batch).await;
    let events = all(&fixture.store).await;
    let payloads: Vec<_> =
        events.iter().map(|event| u32::from_be_bytes(event.payload[..].try_into().unwrap())).collect();
    assert_eq!(payloads, (0..333).collect::<Vec<_>>());
    assert!(events.windows(2).all(|pair| pair[0].position < pair[1].position));
    assert_eq!((&events[0].position, &events[332].position), (&appended.first, &appended.last));
    assert_eq!((events[0].version, events[50].version, events[332].version), (Some(1), Some(2), Some(7)));
}

/// By number, by bytes, and always one event.
pub async fn pages_end_at_their_limits(fixture: Fixture) {
    let store = &fixture.store.events;
    let empty = store.fetch(None, MANY, &EventFilter::all()).await.unwrap();
    assert!(empty.events.is_empty() && empty.read_to.is_none() && !empty.more);
    append(&fixture.store, (0..10).map(|_| event("E", vec![0; 100])).collect()).await;
    let head = store.head().await.unwrap();
    let all = all(&fixture.store).await;

    let page = store.fetch(None, FetchLimits { events: 4, bytes: usize::MAX }, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), page.more, page.read_to.as_ref()), (4, true, Some(&all[3].position)));
    let page = store.fetch(page.read_to.as_ref(), MANY, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), page.more, &page.read_to), (6, false, &head));
    assert_eq!(page.events[0].position, all[4].position);
    let page = store.fetch(head.as_ref(), MANY, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), page.more, &page.read_to), (0, false, &head));

    let page = store.fetch(None, FetchLimits { events: 100, bytes: 250 }, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), page.more, page.read_to.as_ref()), (3, true, Some(&all[2].position)));
    let page = store.fetch(None, FetchLimits { events: 100, bytes: 1 }, &EventFilter::all()).await.unwrap();
    assert_eq!((page.events.len(), page.more), (1, true));
    // A page that was cut short leaves the connection fit for the next one.
    assert_eq!(self::all(&fixture.store).await.len(), 10);
}

/// More than two pages nobody handles: the next page passes them, and a restart does not read them again.
pub async fn foreign_events_are_passed(fixture: Fixture) {
    let store = &fixture.store.events;
    for _ in 0..6 {
        append(&fixture.store, (0..200).map(|_| event("Foreign", [])).collect()).await;
    }
    let limits = FetchLimits { events: 500, bytes: usize::MAX };
    let page = store.fetch(None, limits, &named(&["Mine"])).await.unwrap();
    assert_eq!((page.events.len(), page.more), (0, false));
    assert_eq!(page.read_to, store.head().await.unwrap());
    let mine = append(&fixture.store, vec![event("Mine", []), event("Foreign", [])]).await;
    let page = store.fetch(page.read_to.as_ref(), limits, &named(&["Mine"])).await.unwrap();
    assert_eq!((page.events.len(), page.events[0].position == mine.first), (1, true));
    assert_eq!(page.read_to, Some(mine.last), "past the foreign event behind it");
}

/// Names and contexts, exact and by prefix, byte by byte; any number of names.
pub async fn names_and_contexts_are_filtered(fixture: Fixture) {
    let contexts = ["t", "t-1", "t-2", "T-1", "t_1", "t%", "tä", "tå", "x"];
    append(&fixture.store, contexts.iter().map(|context| event("A", []).context(*context)).collect()).await;
    append(&fixture.store, ["a", "B", "AA"].map(|name| event(name, [])).into()).await;
    for pattern in ["*", "t*", "t-*", "t_*", "t%*", "tä*", "t\u{e4}", "t-1", "T*", "y*", "default"] {
        let pattern = ContextPattern::parse(pattern).unwrap();
        for names in [None, Some(vec!["A"]), Some(vec!["a"]), Some(vec!["A", "B"]), Some(vec![])] {
            let names: Option<BTreeSet<String>> = names.map(|names| names.into_iter().map(str::to_owned).collect());
            let filter = EventFilter::new(names, pattern.clone());
            let page = fixture.store.events.fetch(None, MANY, &filter).await.unwrap();
            let all = all(&fixture.store).await;
            let expected: Vec<_> = all.iter().filter(|event| filter.matches(event)).map(|event| event.id).collect();
            let found: Vec<_> = page.events.iter().map(|event| event.id).collect();
            assert_eq!(found, expected, "{filter:?}");
            assert_eq!(page.read_to.as_ref(), all.last().map(|event| &event.position));
        }
    }
    let many: Vec<String> = (0..1_000).map(|n| format!("Name{n}")).chain(["B".to_owned()]).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(fixture.store.events.fetch(None, MANY, &named(&many)).await.unwrap().events.len(), 1);
}

/// Readers that follow many writers see every event, once, in order: no page passes what is still being written.
pub async fn nothing_appears_below_what_was_read(fixture: Fixture) {
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8_u32 {
        let store = if writer % 2 == 0 { fixture.store.clone() } else { fixture.other.clone() };
        writers.spawn(async move {
            for number in 0..25_u32 {
                let name = if number % 3 == 0 { "Foreign" } else { "Mine" };
                append(&store, vec![event(name, []), event("Mine", [])]).await;
            }
        });
    }
    let mut seen: Vec<StoredEvent> = Vec::new();
    let mut after: Option<Position> = None;
    let mut writing = true;
    loop {
        let limits = FetchLimits { events: 7, bytes: usize::MAX };
        let page = fixture.store.events.fetch(after.as_ref(), limits, &named(&["Mine"])).await.unwrap();
        assert!(page.read_to >= after, "read_to moves forward only");
        assert!(page.events.iter().all(|event| Some(&event.position) > after.as_ref()));
        seen.extend(page.events);
        after = page.read_to;
        if !writing && !page.more {
            break;
        }
        // One more round after the last writer ended.
        while writers.try_join_next().is_some() {}
        writing = !writers.is_empty();
    }
    let all = all(&fixture.store).await;
    let expected: Vec<_> = all.iter().filter(|event| &*event.name == "Mine").map(|event| event.id).collect();
    assert_eq!(seen.iter().map(|event| event.id).collect::<Vec<_>>(), expected);
    assert_eq!(all.iter().map(|event| &event.position).collect::<BTreeSet<_>>().len(), 400, "no position twice");
}

/// The same event appended 16 times at once.
pub async fn one_id_from_many_sides_is_one_event(fixture: Fixture) {
    let id = EventId::generate();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let store = if number % 2 == 0 { fixture.store.clone() } else { fixture.other.clone() };
        tasks.spawn(async move { store.append("k", Expected::Any, [event("E", [1]).id(id)]).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| !answer.known).count(), 1);
    assert!(answers.iter().all(|answer| answer.first == answers[0].first && answer.version == Some(1)));
    assert_eq!(all(&fixture.store).await.len(), 1);
}

/// Any number of positions, in any order; those of nothing are left out.
pub async fn single_events_are_read_by_position(fixture: Fixture) {
    let store = &fixture.store.events;
    for _ in 0..7 {
        append(&fixture.store, (0..100).map(|_| event("E", [])).collect()).await;
    }
    let all = all(&fixture.store).await;
    let mut wanted: Vec<_> = all.iter().rev().map(|event| event.position.clone()).collect();
    wanted.extend([Position::from_u64(0), Position::from_u64(u64::MAX), Position::from_bytes(b"foreign").unwrap()]);
    wanted.push(all[0].position.clone());
    let found = store.read_exact(&wanted).await.unwrap();
    assert_eq!(found.iter().map(|event| event.id).collect::<Vec<_>>(), all.iter().map(|e| e.id).collect::<Vec<_>>());
    let one = store.read_exact(&wanted[5..6]).await.unwrap();
    assert_eq!((one.len(), &one[0].position), (1, &wanted[5]));
    assert!(store.read_exact(&[]).await.unwrap().is_empty());
}

/// A checkpoint above the head: a restored backup, or another log.
pub async fn positions_of_another_history_are_found_out(fixture: Fixture) {
    let store = &fixture.store.events;
    let lost = store.validate(&Position::from_u64(1)).await.unwrap();
    assert!(matches!(lost, PositionCheck::HistoryLost(_)), "{lost:?}");
    let appended = append(&fixture.store, vec![event("E", []), event("E", [])]).await;
    assert_eq!(store.validate(&appended.first).await.unwrap(), PositionCheck::Usable);
    assert_eq!(store.validate(&appended.last).await.unwrap(), PositionCheck::Usable);
    let above = Position::from_u64(appended.last.as_u64().unwrap() + 1);
    assert!(matches!(store.validate(&above).await.unwrap(), PositionCheck::HistoryLost(_)));
    // Of another kind of source. Reading on from it would skip everything, so it is refused.
    for foreign in [&[0_u8][..], &[0; 12], &[255]] {
        let foreign = Position::from_bytes(foreign).unwrap();
        assert!(matches!(store.validate(&foreign).await.unwrap(), PositionCheck::HistoryLost(_)));
        let refused = store.fetch(Some(&foreign), MANY, &EventFilter::all()).await.unwrap_err();
        assert_eq!(refused.kind(), crate::StoreErrorKind::Corrupt);
    }
}

/// What lies before it: by the order of positions, and nothing above the head.
pub async fn a_point_in_time_is_found(fixture: Fixture) {
    let store = &fixture.store.events;
    let before = async |micros: i64| fixture.other.events.before(Timestamp::from_micros(micros)).await.unwrap();
    for time in [i64::MIN, 0, i64::MAX] {
        assert_eq!(before(time).await, None, "of an empty log");
    }
    // Three times at least, and several events of one.
    let mut times = BTreeSet::new();
    while times.len() < 3 {
        append(&fixture.store, (0..3).map(|_| event("E", [])).collect()).await;
        times.extend(all(&fixture.store).await.iter().map(|event| event.recorded_at.as_micros()));
    }
    let all = all(&fixture.store).await;
    let head = store.head().await.unwrap();
    assert_eq!(head.as_ref(), all.last().map(|event| &event.position));
    let expected = |time: i64| {
        let first = all.iter().position(|event| event.recorded_at.as_micros() >= time).unwrap_or(all.len());
        first.checked_sub(1).map(|last| all[last].position.clone())
    };
    for time in times.iter().flat_map(|time| [time - 1, *time, time + 1]) {
        assert_eq!(before(time).await, expected(time), "{time}");
    }
    let (first, last) = (all[0].recorded_at.as_micros(), *times.last().unwrap());
    for time in [i64::MIN, -1, 0, first] {
        assert_eq!(before(time).await, None, "{time} is not after the first event");
    }
    for time in [last + 1, last + 3_600_000_000, i64::MAX] {
        assert_eq!(before(time).await, head, "{time} is after the last event");
    }
    let middle = *times.iter().nth(1).unwrap();
    assert!(before(middle).await.is_some() && before(middle).await < head);
}

/// An append through one instance wakes the readers of the other.
pub async fn appends_wake(fixture: Fixture) {
    let mut wake = fixture.other.events.wake();
    wake.borrow_and_update();
    append(&fixture.store, vec![event("E", [])]).await;
    wake.changed().await.unwrap();
    assert_eq!(all(&fixture.other).await.len(), 1);
}

/// Polled once and dropped: nothing is lost half way, and the same ids tell.
pub async fn dropping_an_append_does_not_undo_it(fixture: Fixture) {
    let events = Arc::clone(&fixture.store.events);
    let ids: Vec<_> = (0..20).map(|_| EventId::generate()).collect();
    for id in &ids {
        let batch = Append::prepare("k", Expected::Any, [event("E", []).id(*id)]).unwrap();
        let mut future = events.append(batch);
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(future);
        // Polled once it has begun.
        drop(polled);
    }
    for id in &ids {
        fixture.store.append("k", Expected::Any, [event("E", []).id(*id)]).await.unwrap();
    }
    let events = all(&fixture.store).await;
    assert_eq!(events.len(), 20);
    assert_eq!(events.iter().map(|event| event.version.unwrap()).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
}

/// How much is left, what came last, and the events of one key.
pub async fn the_log_is_looked_at_from_its_end_and_by_key(fixture: Fixture) {
    let log = &fixture.other.events;
    let latest = async |before: Option<&Position>, limit: usize| {
        log.positions(&Browse::Latest { before: before.cloned() }, limit).await.unwrap()
    };
    assert!(latest(None, 10).await.is_empty());
    assert_eq!(log.count_after(None, 10).await.unwrap(), 0);
    let keyed = |n: usize| event("E", []).key(if n.is_multiple_of(3) { "ö" } else { "o" }).context("té");
    append(&fixture.store, (0..9).map(keyed).chain([event("E", []).key("ö")]).collect()).await;
    let all: Vec<_> = all(&fixture.store).await.into_iter().map(|event| event.position).collect();
    let backwards: Vec<_> = all.iter().rev().cloned().collect();
    assert_eq!(latest(None, 100).await, backwards);
    assert_eq!(latest(None, 3).await, backwards[..3]);
    assert_eq!(latest(Some(&backwards[2]), 2).await, backwards[3..5]);
    assert!(latest(Some(&all[0]), 2).await.is_empty());
    assert_eq!(log.count_after(None, 100).await.unwrap(), 10);
    assert_eq!(log.count_after(None, 4).await.unwrap(), 4);
    assert_eq!(log.count_after(Some(&all[6]), 100).await.unwrap(), 3);
    assert_eq!(log.count_after(all.last(), 100).await.unwrap(), 0);
    let of_key = async |context: &str, key: &str, after: Option<&Position>, limit: usize| {
        let which = Browse::Key { context: context.to_owned(), key: key.to_owned(), after: after.cloned() };
        log.positions(&which, limit).await.unwrap()
    };
    let thirds = [&all[0], &all[3], &all[6]].map(Clone::clone);
    assert_eq!(of_key("té", "ö", None, 10).await, thirds);
    assert_eq!(of_key("té", "ö", None, 2).await, thirds[..2]);
    assert_eq!(of_key("té", "ö", Some(&all[0]), 10).await, thirds[1..]);
    assert_eq!(of_key("default", "ö", None, 10).await, [all[9].clone()]);
    for (context, key) in [("té", "O"), ("Té", "ö"), ("té", "ö "), ("té", "\0"), ("\0", "ö"), ("' OR 1=1 --", "ö")]
    {
        assert!(of_key(context, key, None, 10).await.is_empty(), "{context:?} {key:?}");
    }
}
