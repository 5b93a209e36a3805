//! `ConsumerStateStore`.

use super::{Fixture, consumer, consumer_of, event, lease, letter};
use crate::event::{EventId, Position, Timestamp};
use crate::identity::{ConsumerId, Epoch};
use crate::outcome::ErrorClass;
use crate::source::{Append, EventFilter, Expected, FetchLimits};
use crate::store::{Checkpoint, ConsumerState, ErrorHistory, Failure, Settlement, Store};
use crate::{NewEvent, StoreErrorKind};

fn checkpoint(watermark: u64, reach: u64, open: &[u64]) -> Checkpoint {
    let position = |number: u64| (number > 0).then(|| Position::from_u64(number));
    Checkpoint {
        watermark: position(watermark),
        reach: position(reach),
        open: open.iter().map(|number| Position::from_u64(*number)).collect(),
    }
}

fn at(checkpoint: Checkpoint) -> Settlement {
    Settlement { checkpoint: Some(checkpoint), ..Settlement::default() }
}

async fn settle(
    store: &Store,
    consumer: &ConsumerId,
    epoch: u64,
    settlement: Settlement,
) -> Result<(), StoreErrorKind> {
    let settled = store.stores.state.settle(&lease(consumer, epoch), settlement).await;
    settled.map_err(|error| error.kind())
}

async fn load(store: &Store, consumer: &ConsumerId) -> ConsumerState {
    store.stores.state.load(consumer).await.unwrap()
}

/// Reading writes nothing.
pub async fn an_unknown_consumer_has_the_default_state(fixture: Fixture) {
    let state = load(&fixture.store, &consumer("A")).await;
    assert_eq!((state.checkpoint, state.epoch, state.enabled, state.started), (None, Epoch(0), true, false));
    assert_eq!(state.errors, ErrorHistory::default());
    assert!(fixture.store.stores.state.consumers("orders").await.unwrap().is_empty());
}

/// Checkpoint with a full window of open positions, error history, flags; seen by the other side.
pub async fn what_was_settled_is_loaded(fixture: Fixture) {
    let open: Vec<u64> = (0..1_024).map(|n| 1_000_000 + n * 3).collect();
    let mut errors = ErrorHistory::default();
    for n in 0..25_u32 {
        errors.push(Failure {
            position: Position::from_bytes(&n.to_be_bytes()).unwrap(),
            handler: "placed".to_owned(),
            class: [ErrorClass::Ordinary, ErrorClass::Transient, ErrorClass::Permanent][n as usize % 3],
            attempt: n,
            error: format!("no \"{n}\" \0 \u{1F980}"),
            at: Timestamp::from_micros(-5 + i64::from(n)),
        });
    }
    let settlement = Settlement {
        dead_letters: vec![letter(7, "bad")],
        errors: Some(errors.clone()),
        started: true,
        checkpoint: Some(checkpoint(999_999, 2_000_000, &open)),
        ..Settlement::default()
    };
    settle(&fixture.store, &consumer("A"), 3, settlement).await.unwrap();
    let state = load(&fixture.other, &consumer("A")).await;
    assert_eq!(state.checkpoint, Some(checkpoint(999_999, 2_000_000, &open)));
    assert_eq!((state.epoch, state.enabled, state.started), (Epoch(3), true, true));
    assert_eq!((state.errors.streak, state.errors.recent.len()), (25, ErrorHistory::KEPT));
    assert_eq!(state.errors, errors);
    // Positions of other sources have other lengths; nothing covered is not the same as nothing stored.
    let foreign = Checkpoint {
        watermark: Some(Position::from_bytes(&[0, 255, 1]).unwrap()),
        reach: Some(Position::from_bytes(&[1; 255]).unwrap()),
        open: vec![Position::from_bytes(&[0, 255, 1, 0]).unwrap()],
    };
    for (name, checkpoint) in [("B", foreign), ("C", Checkpoint::default())] {
        settle(&fixture.store, &consumer(name), 1, at(checkpoint.clone())).await.unwrap();
        assert_eq!(load(&fixture.store, &consumer(name)).await.checkpoint, Some(checkpoint));
    }
}

/// What a settlement does not name stays.
pub async fn parts_leave_the_rest_alone(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let mut errors = ErrorHistory { streak: 4, recent: Vec::new() };
    settle(store, a, 1, Settlement { started: true, ..Settlement::default() }).await.unwrap();
    settle(store, a, 1, Settlement { errors: Some(errors.clone()), ..Settlement::default() }).await.unwrap();
    assert_eq!(load(store, a).await.checkpoint, None);
    settle(store, a, 1, at(checkpoint(5, 5, &[]))).await.unwrap();
    settle(store, a, 1, Settlement::default()).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.started, &state.errors, state.checkpoint), (true, &errors, Some(checkpoint(5, 5, &[]))));
    errors.streak = 0;
    settle(store, a, 1, Settlement { errors: Some(errors.clone()), ..Settlement::default() }).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.started, state.errors), (true, errors));
}

/// An older write that comes late is ignored, the rest of it is not.
pub async fn a_checkpoint_never_moves_back(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    settle(store, a, 1, at(checkpoint(300, 400, &[350]))).await.unwrap();
    for late in [checkpoint(299, 400, &[]), checkpoint(2, 500, &[]), checkpoint(300, 399, &[]), checkpoint(0, 0, &[])] {
        let settlement = Settlement { dead_letters: vec![letter(9, "late")], ..at(late) };
        settle(store, a, 1, settlement).await.unwrap();
        assert_eq!(load(store, a).await.checkpoint, Some(checkpoint(300, 400, &[350])));
    }
    assert_eq!(store.stores.dead_letters.count(a).await.unwrap(), 1);
    for next in [checkpoint(300, 400, &[]), checkpoint(300, 401, &[401]), checkpoint(65_536, 65_536, &[])] {
        settle(store, a, 1, at(next.clone())).await.unwrap();
        assert_eq!(load(store, a).await.checkpoint, Some(next));
    }
}

/// A reset is a new epoch.
pub async fn a_new_epoch_may_start_anywhere(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    settle(store, a, 1, at(checkpoint(300, 400, &[]))).await.unwrap();
    settle(store, a, 2, at(checkpoint(10, 10, &[]))).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.checkpoint, state.epoch), (Some(checkpoint(10, 10, &[])), Epoch(2)));
}

/// No part of it, whatever else it carries.
pub async fn a_stale_epoch_writes_nothing(fixture: Fixture) {
    let a = &consumer("A");
    settle(&fixture.store, a, 5, Settlement::default()).await.unwrap();
    for epoch in [0, 1, 4] {
        let settlement = Settlement {
            dead_letters: vec![letter(1, "stale")],
            errors: Some(ErrorHistory { streak: 9, recent: Vec::new() }),
            started: true,
            resetting: Some(true),
            replay_to: Some(Position::from_u64(9)),
            checkpoint: Some(checkpoint(9, 9, &[])),
            emitted: Append::prepare("k", Expected::Any, [event("Stale", "x")]).unwrap().events,
            resolved: vec![letter(1, "stale").event.id],
            ..Settlement::default()
        };
        assert_eq!(settle(&fixture.other, a, epoch, settlement).await, Err(StoreErrorKind::Fenced));
    }
    let state = load(&fixture.store, a).await;
    assert_eq!((state.checkpoint, state.epoch, state.started), (None, Epoch(5), false));
    assert_eq!((state.resetting, state.replay_to), (false, None));
    assert_eq!(state.errors, ErrorHistory::default());
    assert_eq!(fixture.store.stores.dead_letters.count(a).await.unwrap(), 0);
    assert_eq!(settle(&fixture.store, a, 5, at(checkpoint(1, 1, &[]))).await, Ok(()));
    // The fence of one consumer is nobody else's.
    assert_eq!(settle(&fixture.store, &consumer("B"), 1, Settlement::default()).await, Ok(()));
}

/// What a caller does whose first attempt had an unknown outcome.
pub async fn settling_again_is_harmless(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for _ in 0..3 {
        settle(store, a, 1, Settlement { started: true, ..at(checkpoint(7, 9, &[8])) }).await.unwrap();
    }
    let state = load(store, a).await;
    assert_eq!((state.checkpoint, state.started), (Some(checkpoint(7, 9, &[8])), true));
}

/// Good and refused ones side by side: each has its own outcome.
pub async fn settlements_at_the_same_time_keep_apart(fixture: Fixture) {
    for n in 0..20 {
        settle(&fixture.store, &consumer(&format!("C{n}")), 2, Settlement::default()).await.unwrap();
    }
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20_u64 {
        let store = if n % 3 == 0 { fixture.store.clone() } else { fixture.other.clone() };
        tasks.spawn(async move {
            let epoch = if n % 2 == 0 { 2 } else { 1 };
            let settlement = Settlement { dead_letters: vec![letter(n + 1, "x")], ..at(checkpoint(n + 1, n + 1, &[])) };
            let settled = settle(&store, &consumer(&format!("C{n}")), epoch, settlement).await;
            assert_eq!(settled, if n % 2 == 0 { Ok(()) } else { Err(StoreErrorKind::Fenced) });
        });
    }
    tasks.join_all().await;
    for n in 0..20_u64 {
        let consumer = consumer(&format!("C{n}"));
        let expected = (n % 2 == 0).then(|| checkpoint(n + 1, n + 1, &[]));
        assert_eq!(load(&fixture.store, &consumer).await.checkpoint, expected);
        let letters = fixture.store.stores.dead_letters.count(&consumer).await.unwrap();
        assert_eq!(letters, if n % 2 == 0 { 1 } else { 0 });
    }
}

/// Until it is said otherwise, and whatever else is settled; positions of any source.
pub async fn a_reset_is_kept_until_it_is_done(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let state = load(store, a).await;
    assert_eq!((state.resetting, state.replay_to), (false, None));
    settle(store, a, 1, Settlement { started: true, ..at(checkpoint(7, 7, &[])) }).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.resetting, state.replay_to), (false, None));

    let replay_to = Some(Position::from_u64(7));
    let reset = Settlement { resetting: Some(true), replay_to: replay_to.clone(), ..at(Checkpoint::default()) };
    settle(store, a, 2, reset).await.unwrap();
    let unrelated = [
        Settlement::default(),
        at(checkpoint(1, 1, &[])),
        Settlement { started: true, errors: Some(ErrorHistory::default()), ..Settlement::default() },
        Settlement { dead_letters: vec![letter(1, "x")], ..Settlement::default() },
    ];
    for settlement in unrelated {
        settle(store, a, 2, settlement).await.unwrap();
        fixture.other.stores.state.set_enabled(a, false).await.unwrap();
        let state = load(&fixture.other, a).await;
        assert_eq!((state.resetting, state.replay_to), (true, replay_to.clone()));
    }
    assert_eq!(load(store, a).await.checkpoint, Some(checkpoint(1, 1, &[])));

    settle(store, a, 2, Settlement { resetting: Some(false), ..Settlement::default() }).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.resetting, state.replay_to), (false, replay_to));
    assert_eq!((state.started, state.enabled, state.checkpoint), (true, false, Some(checkpoint(1, 1, &[]))));
    for bytes in [&[1; 255][..], &[0], &[255, 0]] {
        let replay_to = Some(Position::from_bytes(bytes).unwrap());
        settle(store, a, 2, Settlement { replay_to: replay_to.clone(), ..Settlement::default() }).await.unwrap();
        let state = load(store, a).await;
        assert_eq!((state.resetting, state.replay_to), (false, replay_to));
    }
    // Alone it makes the consumer known; it is nobody else's, and is forgotten with the rest.
    let b = &consumer("B");
    settle(store, b, 1, Settlement { resetting: Some(true), ..Settlement::default() }).await.unwrap();
    assert!(load(store, b).await.resetting && !load(store, a).await.resetting);
    assert_eq!(store.stores.state.consumers("orders").await.unwrap(), [a.clone(), b.clone()]);
    for component in ["A", "B"] {
        store.stores.state.forget("orders", component, 1).await.unwrap();
        let state = load(store, &consumer(component)).await;
        assert_eq!((state.resetting, state.replay_to), (false, None));
    }
}

/// Also for a consumer that was never seen; it needs no ownership and touches nothing else.
pub async fn pause_is_kept(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    store.stores.state.set_enabled(a, false).await.unwrap();
    let state = load(&fixture.other, a).await;
    assert_eq!((state.enabled, state.checkpoint), (false, None));
    settle(store, a, 1, Settlement { started: true, ..at(checkpoint(3, 3, &[])) }).await.unwrap();
    assert!(!load(store, a).await.enabled);
    fixture.other.stores.state.set_enabled(a, true).await.unwrap();
    let state = load(store, a).await;
    assert_eq!((state.enabled, state.started, state.checkpoint), (true, true, Some(checkpoint(3, 3, &[]))));
}

/// Of this bundle only, sorted, with version and pattern.
pub async fn consumers_are_listed(fixture: Fixture) {
    let ids = [
        consumer_of("orders", "A", 1, "*"),
        consumer_of("orders", "A", 1, "tenant-1"),
        consumer_of("orders", "A", 1, "tenant-*"),
        consumer_of("orders", "A", 2, "*"),
        consumer_of("orders", "B", u32::MAX, "*"),
    ];
    for id in ids.iter().rev() {
        settle(&fixture.store, id, 1, Settlement::default()).await.unwrap();
    }
    settle(&fixture.store, &consumer_of("Orders", "A", 1, "*"), 1, Settlement::default()).await.unwrap();
    let mut sorted = ids.to_vec();
    sorted.sort();
    assert_eq!(fixture.other.stores.state.consumers("orders").await.unwrap(), sorted);
}

/// Names that a careless store would take for the same.
pub async fn consumers_are_told_apart_byte_by_byte(fixture: Fixture) {
    let ids = [
        consumer_of("o", "a-b", 1, "*"),
        consumer_of("o-a", "b", 1, "*"),
        consumer_of("o", "A-b", 1, "*"),
        consumer_of("o", "a-b", 11, "*"),
        consumer_of("o", "a-b", 1, "x"),
        consumer_of("o", "a-b", 1, "X"),
        consumer_of("o", "a-b", 1, "x "),
        consumer_of("o", "a-b", 1, "ä"),
        consumer_of("o", "a-b", 1, "a\u{308}"),
    ];
    for (n, id) in (1..).zip(&ids) {
        settle(&fixture.store, id, 1, at(checkpoint(n, n, &[]))).await.unwrap();
    }
    for (n, id) in (1..).zip(&ids) {
        assert_eq!(load(&fixture.store, id).await.checkpoint, Some(checkpoint(n, n, &[])), "{id}");
    }
}

/// `#[on_start]` runs once per bundle, component and version.
pub async fn on_start_is_shared_by_the_contexts_of_a_version(fixture: Fixture) {
    let started = Settlement { started: true, ..Settlement::default() };
    settle(&fixture.store, &consumer_of("orders", "A", 1, "tenant-1"), 1, started).await.unwrap();
    assert!(load(&fixture.store, &consumer_of("orders", "A", 1, "tenant-2")).await.started);
    assert!(!load(&fixture.store, &consumer_of("orders", "A", 2, "tenant-1")).await.started);
    assert!(!load(&fixture.store, &consumer_of("orders", "B", 1, "tenant-1")).await.started);
    assert!(!load(&fixture.store, &consumer_of("other", "A", 1, "tenant-1")).await.started);
}

/// New ones get positions and versions like any other; known ones, also under other bytes, are left as they are.
pub async fn what_was_emitted_is_in_the_log_once(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let twice = event("Made", "first").id(EventId::foreign("test", "1"));
    store.append("k", Expected::New, [event("Made", "zero"), twice.clone()]).await.unwrap();
    let other_bytes = event("Made", "other").id(EventId::foreign("test", "1"));
    let emitted = [event("Made", "second"), other_bytes, event("Made", "third")];
    let settlement = || {
        let events = emitted
            .iter()
            .cloned()
            .flat_map(|one: NewEvent| Append::prepare("k", Expected::Any, [one]).unwrap().events);
        Settlement { emitted: events.collect(), checkpoint: Some(checkpoint(2, 2, &[])), ..Settlement::default() }
    };
    let mut wake = store.events.wake();
    wake.mark_unchanged();
    settle(store, a, 1, settlement()).await.unwrap();
    assert!(wake.has_changed().unwrap(), "nobody was told");
    settle(store, a, 1, settlement()).await.unwrap();
    let limits = FetchLimits { events: 100, bytes: usize::MAX };
    let events = fixture.other.events.fetch(None, limits, &EventFilter::all()).await.unwrap().events;
    let seen: Vec<_> = events.iter().map(|event| (&event.payload[..], event.version)).collect();
    assert_eq!(seen, [(&b"zero"[..], Some(1)), (b"first", Some(2)), (b"second", Some(3)), (b"third", Some(4))]);
    assert_eq!(load(store, a).await.checkpoint, Some(checkpoint(2, 2, &[])));
}

/// All contexts of the version, and nothing of another version.
pub async fn forgotten_is_gone_but_for_the_epoch(fixture: Fixture) {
    let (store, state) = (&fixture.store, &fixture.store.stores.state);
    let gone = [consumer_of("orders", "A", 1, "x"), consumer_of("orders", "A", 1, "y")];
    let stays = consumer_of("orders", "A", 2, "x");
    for id in gone.iter().chain([&stays]) {
        let settlement = Settlement {
            dead_letters: vec![letter(1, "x")],
            started: true,
            errors: Some(ErrorHistory { streak: 1, recent: Vec::new() }),
            checkpoint: Some(checkpoint(1, 1, &[])),
            ..Settlement::default()
        };
        settle(store, id, 7, settlement).await.unwrap();
        state.set_enabled(id, false).await.unwrap();
    }
    assert_eq!(state.forget("orders", "A", 1).await.unwrap(), 2);
    for id in &gone {
        let state = load(store, id).await;
        assert_eq!((state.checkpoint, state.enabled, state.started), (None, true, false));
        assert_eq!((state.epoch, state.errors), (Epoch(7), ErrorHistory::default()));
        assert_eq!(store.stores.dead_letters.count(id).await.unwrap(), 0);
        assert_eq!(settle(store, id, 6, Settlement::default()).await, Err(StoreErrorKind::Fenced));
    }
    assert_eq!(state.consumers("orders").await.unwrap(), std::slice::from_ref(&stays));
    assert_eq!(load(store, &stays).await.checkpoint, Some(checkpoint(1, 1, &[])));
    assert_eq!(store.stores.dead_letters.count(&stays).await.unwrap(), 1);
    assert_eq!(state.forget("orders", "A", 1).await.unwrap(), 0);
}
