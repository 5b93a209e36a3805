//! `SagaStateStore`, and the instances of a settlement. Timers have a file of their own.

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::{Fixture, consumer, consumer_of, event, lease, letter};
use crate::event::{EventId, Position, Timestamp};
use crate::identity::{ConsumerId, Epoch};
use crate::source::{Append, EventFilter, Expected, FetchLimits, PreparedEvent};
use crate::store::{
    Association, Checkpoint, Claims, SagaChange, SagaFound, SagaId, SagaInstance, Settlement, Store, Timer,
};
use crate::{StoreErrorKind, store};

pub(super) fn saga(number: u128) -> SagaId {
    SagaId::from_uuid(Uuid::from_u128(number))
}

fn by(property: &str, value: &str) -> Association {
    Association::new(property, value).unwrap().unwrap()
}

pub(super) fn lives(id: SagaId, state: &str, associations: &[Association]) -> SagaChange {
    let state = Some(Bytes::copy_from_slice(state.as_bytes()));
    SagaChange { id, state, associations: associations.to_vec(), applied: Position::from_u64(1) }
}

pub(super) fn ends(id: SagaId) -> SagaChange {
    SagaChange { id, state: None, associations: Vec::new(), applied: Position::from_u64(2) }
}

pub(super) fn changes(sagas: impl Into<Vec<SagaChange>>) -> Settlement {
    Settlement { sagas: sagas.into(), ..Settlement::default() }
}

pub(super) async fn settle(store: &Store, consumer: &ConsumerId, settlement: Settlement) -> Result<(), StoreErrorKind> {
    let settled = store.stores.state.settle(&lease(consumer, 1), settlement).await;
    settled.map_err(|error| error.kind())
}

/// What is found where the event would begin an instance that nobody knows.
async fn find(store: &Store, consumer: &ConsumerId, association: &Association) -> SagaFound {
    store.stores.sagas.find(consumer, association, saga(u128::MAX)).await.unwrap()
}

async fn found_id(store: &Store, consumer: &ConsumerId, association: &Association) -> Option<SagaId> {
    match find(store, consumer, association).await {
        SagaFound::Live(instance) => Some(instance.id),
        SagaFound::Begun | SagaFound::Unknown => None,
    }
}

async fn was_begun(store: &Store, consumer: &ConsumerId, id: SagaId) -> bool {
    let found = store.stores.sagas.find(consumer, &by("nobody", "nothing"), id).await.unwrap();
    assert!(!matches!(found, SagaFound::Live(_)), "{found:?}");
    found == SagaFound::Begun
}

async fn all(store: &Store, consumer: &ConsumerId) -> Vec<SagaInstance> {
    store.stores.sagas.instances(consumer, None, usize::MAX).await.unwrap()
}

/// State byte for byte, position of whatever source, associations sorted; by each of them, from the other side.
pub async fn an_instance_comes_back_as_it_was(fixture: Fixture) {
    let a = &consumer("A");
    assert_eq!(find(&fixture.store, a, &by("order", "1")).await, SagaFound::Unknown);
    assert!(all(&fixture.store, a).await.is_empty());
    let every_byte: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let full = SagaChange {
        id: saga(7),
        state: Some(every_byte.clone().into()),
        associations: vec![by("order", "2"), by("order", "10"), by("Customer", "é \u{1F980}")],
        applied: Position::from_bytes(&[255; 40]).unwrap(),
    };
    let bare = SagaChange { id: saga(8), state: Some(Bytes::new()), associations: Vec::new(), ..full.clone() };
    settle(&fixture.store, a, changes([full.clone(), bare])).await.unwrap();
    let sorted = vec![by("Customer", "é \u{1F980}"), by("order", "10"), by("order", "2")];
    let expected = SagaInstance::new(saga(7), every_byte.into(), sorted, full.applied.clone());
    for association in &full.associations {
        assert_eq!(find(&fixture.other, a, association).await, SagaFound::Live(expected.clone()));
    }
    let bare = SagaInstance::new(saga(8), Bytes::new(), Vec::new(), full.applied);
    assert_eq!(all(&fixture.other, a).await, [expected.clone(), bare]);

    let next = SagaChange { applied: Position::from_u64(3), ..lives(saga(7), "next", &expected.associations) };
    settle(&fixture.other, a, changes([next])).await.unwrap();
    let next = SagaInstance::new(saga(7), "next".into(), expected.associations, Position::from_u64(3));
    assert_eq!(find(&fixture.store, a, &by("order", "2")).await, SagaFound::Live(next));
}

/// Case, spaces, composed and decomposed letters, length: of the value and of its name.
pub async fn associations_are_compared_byte_by_byte(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let long = "v".repeat(255);
    let texts = ["a", "A", "a ", " a", "ä", "Ä", "a\u{308}", "a%", "a_", &long, &long[..254]];
    let mut wanted: Vec<Association> = texts.iter().map(|text| by("order", text)).collect();
    wanted.extend(texts.iter().map(|text| by(text, "1")));
    for (number, association) in (1..).zip(&wanted) {
        let change = lives(saga(number), "x", std::slice::from_ref(association));
        assert_eq!(settle(store, a, changes([change])).await, Ok(()), "{association}");
    }
    for (number, association) in (1..).zip(&wanted) {
        assert_eq!(found_id(&fixture.other, a, association).await, Some(saga(number)), "{association}");
    }
    for nobody in [by("order", "a  "), by("ORDER", "a"), by("order ", "a"), by("a", "order"), by("order", "a\u{307}")] {
        assert_eq!(find(store, a, &nobody).await, SagaFound::Unknown, "{nobody}");
    }
}

/// Any number of values, also of one property.
pub async fn an_instance_is_found_by_several_values(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let mut many: Vec<Association> = (0..150).map(|n| by("order", &n.to_string())).collect();
    many.push(by("customer", "1"));
    settle(store, a, changes([lives(saga(1), "x", &many), lives(saga(2), "y", &[by("customer", "2")])])).await.unwrap();
    for association in &many {
        assert_eq!(found_id(store, a, association).await, Some(saga(1)), "{association}");
    }
    assert_eq!(found_id(store, a, &by("customer", "2")).await, Some(saga(2)));
    many.sort();
    assert_eq!(all(store, a).await[0].associations, many);
    // Most of them go at once.
    settle(store, a, changes([lives(saga(1), "x", &many[..1])])).await.unwrap();
    assert_eq!(all(store, a).await[0].associations, many[..1]);
    assert_eq!(find(store, a, &many[150]).await, SagaFound::Unknown);
}

/// What an instance is found by no more is free for another.
pub async fn replaced_associations_free_their_values(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let [x, y, z] = ["x", "y", "z"].map(|value| by("order", value));
    settle(store, a, changes([lives(saga(1), "x", &[x.clone(), y.clone()])])).await.unwrap();
    // One that is named twice is one.
    settle(store, a, changes([lives(saga(1), "z", &[z.clone(), y.clone(), z.clone()])])).await.unwrap();
    assert_eq!(find(store, a, &x).await, SagaFound::Unknown);
    assert_eq!(found_id(store, a, &y).await, Some(saga(1)));
    assert_eq!(all(store, a).await[0].associations, [y.clone(), z.clone()]);
    settle(store, a, changes([lives(saga(2), "x", std::slice::from_ref(&x))])).await.unwrap();
    assert_eq!((found_id(store, a, &x).await, found_id(store, a, &z).await), (Some(saga(2)), Some(saga(1))));
    // Given up and taken in one step.
    let swap = [lives(saga(1), "z", std::slice::from_ref(&y)), lives(saga(2), "x", &[x.clone(), z.clone()])];
    settle(store, a, changes(swap)).await.unwrap();
    assert_eq!((found_id(store, a, &y).await, found_id(store, a, &z).await), (Some(saga(1)), Some(saga(2))));
    settle(store, a, changes([ends(saga(2)), lives(saga(3), "x", std::slice::from_ref(&x))])).await.unwrap();
    assert_eq!(found_id(store, a, &x).await, Some(saga(3)));
}

/// It frees its values and never comes back; neither does one that ended with the event that began it.
pub async fn what_has_ended_stays_ended(fixture: Fixture) {
    let (store, a, x) = (&fixture.store, &consumer("A"), by("order", "x"));
    settle(store, a, changes([lives(saga(1), "x", std::slice::from_ref(&x))])).await.unwrap();
    // One that lives and is found by something else was begun as well: its event must not begin it again.
    assert!(was_begun(store, a, saga(1)).await && !was_begun(store, a, saga(2)).await);
    settle(store, a, changes([ends(saga(1)), ends(saga(2))])).await.unwrap();
    let found = async |begun| fixture.other.stores.sagas.find(a, &x, begun).await.unwrap();
    assert_eq!((found(saga(1)).await, found(saga(2)).await), (SagaFound::Begun, SagaFound::Begun));
    assert_eq!(found(saga(3)).await, SagaFound::Unknown);
    assert!(all(store, a).await.is_empty());
    // A change for it changes nothing, and takes nothing.
    let late = [lives(saga(1), "late", &[x.clone(), by("order", "y")]), lives(saga(2), "late", &[by("order", "z")])];
    settle(store, a, changes(late)).await.unwrap();
    settle(store, a, changes([ends(saga(1))])).await.unwrap();
    assert!(all(store, a).await.is_empty() && was_begun(store, a, saga(1)).await && was_begun(store, a, saga(2)).await);
    let next = lives(saga(3), "next", &[x.clone(), by("order", "y"), by("order", "z")]);
    settle(store, a, changes([next])).await.unwrap();
    assert_eq!(found_id(store, a, &x).await, Some(saga(3)), "a live one comes first");
    // Nor does an end that is repeated harm the next.
    settle(store, a, changes([ends(saga(1))])).await.unwrap();
    assert_eq!(found_id(store, a, &x).await, Some(saga(3)));
}

fn prepared(name: &str, id: &str) -> PreparedEvent {
    let event = event(name, "x").id(EventId::foreign("sagas", id));
    Append::prepare("k", Expected::Any, [event]).unwrap().events.remove(0)
}

/// Everything a settlement can carry beside instances.
fn with_all_parts(sagas: impl Into<Vec<SagaChange>>) -> Settlement {
    let position = Some(Position::from_u64(9));
    Settlement {
        dead_letters: vec![letter(1, "x")],
        emitted: vec![prepared("Emitted", "emitted")],
        scheduled: vec![Timer {
            event: prepared("Due", "scheduled"),
            saga: saga(1),
            due_at: Timestamp::from_micros(5),
        }],
        fired: vec![prepared("Fired", "kept")],
        claims: Claims { taken: vec![EventId::foreign("sagas", "claim")], ..Claims::default() },
        errors: Some(store::ErrorHistory { streak: 9, recent: Vec::new() }),
        started: true,
        resetting: Some(true),
        replay_to: position.clone(),
        checkpoint: Some(Checkpoint { watermark: position.clone(), reach: position, open: Vec::new() }),
        ..changes(sagas)
    }
}

/// One live instance that is found by `x`, and one timer of its.
async fn prepare_one(store: &Store, consumer: &ConsumerId, epoch: u64) {
    let kept = Timer { event: prepared("Fired", "kept"), saga: saga(1), due_at: Timestamp::from_micros(4) };
    let settlement = Settlement { scheduled: vec![kept], ..changes([lives(saga(1), "first", &[by("order", "x")])]) };
    store.stores.state.settle(&lease(consumer, epoch), settlement).await.unwrap();
}

/// Nothing but what [`prepare_one`] wrote.
async fn assert_untouched(store: &Store, consumer: &ConsumerId, epoch: u64) {
    let instances = all(store, consumer).await;
    assert_eq!(instances.len(), 1);
    assert_eq!((instances[0].id, &instances[0].state[..]), (saga(1), &b"first"[..]));
    assert_eq!(instances[0].associations, [by("order", "x")]);
    assert!(!was_begun(store, consumer, saga(2)).await);
    let timers = store.stores.sagas.timers(consumer, 10).await.unwrap();
    assert_eq!((timers.len(), timers[0].event.id), (1, EventId::foreign("sagas", "kept")));
    let claim = [EventId::foreign("sagas", "claim")];
    assert!(store.stores.claims.claims(consumer, &claim).await.unwrap().is_empty());
    let state = store.stores.state.load(consumer).await.unwrap();
    assert_eq!((state.epoch, state.started, state.resetting), (Epoch(epoch), false, false));
    assert_eq!((state.checkpoint, state.replay_to, state.errors.streak), (None, None, 0));
    assert_eq!(store.stores.dead_letters.count(consumer).await.unwrap(), 0);
    assert_eq!(store.events.head().await.unwrap(), None);
}

/// Nothing of the whole settlement is written, the epoch included.
pub async fn a_value_of_another_instance_is_refused(fixture: Fixture) {
    let (store, a, x) = (&fixture.store, &consumer("A"), by("order", "x"));
    prepare_one(store, a, 1).await;
    let contested = lives(saga(2), "second", &[by("order", "y"), x.clone()]);
    let third = || lives(saga(3), "third", &[by("order", "z")]);
    let refused = [
        vec![contested.clone()],
        vec![third(), lives(saga(1), "changed", &[x.clone(), by("order", "w")]), contested.clone()],
        // Freed too late, and taken twice.
        vec![contested, ends(saga(1))],
        vec![third(), lives(saga(4), "fourth", &[by("order", "z")])],
        vec![
            ends(saga(2)),
            lives(saga(2), "ended", std::slice::from_ref(&x)),
            lives(saga(5), "fifth", std::slice::from_ref(&x)),
        ],
    ];
    for sagas in refused {
        let settled = fixture.other.stores.state.settle(&lease(a, 2), with_all_parts(sagas.clone())).await;
        assert_eq!(settled.map_err(|error| error.kind()), Err(StoreErrorKind::Conflict), "{sagas:?}");
        assert_untouched(store, a, 1).await;
    }
    assert_eq!(settle(store, a, changes([third()])).await, Ok(()), "nothing is left of what was refused");
}

/// 16 instances at once, from both sides.
pub async fn one_of_many_instances_gets_a_value(fixture: Fixture) {
    let (a, x) = (&consumer("A"), by("order", "x"));
    settle(&fixture.store, a, Settlement::default()).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16_u128 {
        let store = if number % 2 == 0 { fixture.store.clone() } else { fixture.other.clone() };
        let (a, x) = (a.clone(), x.clone());
        tasks.spawn(async move {
            let associations = [by("customer", &number.to_string()), x];
            let emitted = vec![prepared("Begun", &number.to_string())];
            let settlement = Settlement { emitted, ..changes([lives(saga(number), "x", &associations)]) };
            settle(&store, &a, settlement).await
        });
    }
    let settled = tasks.join_all().await;
    assert_eq!(settled.iter().filter(|settled| settled.is_ok()).count(), 1, "{settled:?}");
    assert!(settled.iter().all(|settled| matches!(settled, Ok(()) | Err(StoreErrorKind::Conflict))), "{settled:?}");
    let instances = all(&fixture.store, a).await;
    assert_eq!((instances.len(), found_id(&fixture.store, a, &x).await), (1, Some(instances[0].id)));
    let limits = FetchLimits { events: 100, bytes: usize::MAX };
    let events = fixture.store.events.fetch(None, limits, &EventFilter::all()).await.unwrap().events;
    assert_eq!(events.len(), 1);
}

/// The same id and the same value mean another instance for each consumer.
pub async fn instances_of_others_are_not_seen(fixture: Fixture) {
    let (store, x) = (&fixture.store, by("order", "x"));
    let consumers =
        [consumer("A"), consumer("a"), consumer_of("orders", "A", 2, "*"), consumer_of("orders", "A", 1, "t")];
    for (number, consumer) in consumers.iter().enumerate() {
        let change = lives(saga(1), &number.to_string(), std::slice::from_ref(&x));
        settle(store, consumer, changes([change])).await.unwrap();
    }
    settle(store, &consumers[0], changes([ends(saga(1))])).await.unwrap();
    assert_eq!(find(store, &consumers[0], &x).await, SagaFound::Unknown);
    assert!(was_begun(store, &consumers[0], saga(1)).await);
    for (number, consumer) in consumers.iter().enumerate().skip(1) {
        let SagaFound::Live(instance) = find(store, consumer, &x).await else { panic!("{consumer}") };
        assert_eq!((instance.id, &*instance.state), (saga(1), number.to_string().as_bytes()));
        assert!(!was_begun(store, consumer, saga(2)).await);
        assert_eq!(all(store, consumer).await.len(), 1);
    }
    assert!(all(store, &consumer("B")).await.is_empty() && !was_begun(store, &consumer("B"), saga(1)).await);
}

/// By id, a page at a time; ended ones take no place in it.
pub async fn instances_are_listed_in_pages(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let numbers = [1_u128, 2, 3, 255, 256, 65_536, u128::MAX - 1];
    let two = |n: u128| [by("order", &n.to_string()), by("customer", &n.to_string())];
    settle(store, a, changes(numbers.iter().rev().map(|n| lives(saga(*n), "x", &two(*n))).collect::<Vec<_>>()))
        .await
        .unwrap();
    settle(store, a, changes([ends(saga(2)), ends(saga(256))])).await.unwrap();
    let page = async |after: Option<u128>, limit: usize| {
        let page = fixture.other.stores.sagas.instances(a, after.map(saga), limit).await.unwrap();
        assert!(page.iter().all(|instance| instance.associations.len() == 2));
        page.iter().map(|instance| instance.id.as_uuid().as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [1, 3]);
    assert_eq!(page(Some(3), 2).await, [255, 65_536]);
    assert_eq!(page(Some(65_536), 2).await, [u128::MAX - 1]);
    assert_eq!(page(Some(2), usize::MAX).await, [3, 255, 65_536, u128::MAX - 1]);
    assert!(page(Some(u128::MAX - 1), 2).await.is_empty() && page(None, 0).await.is_empty());
}

/// No instance, no timer, no claim.
pub async fn a_stale_epoch_changes_no_instance(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    prepare_one(store, a, 5).await;
    for epoch in [0, 4] {
        let sagas = [lives(saga(1), "stale", &[by("order", "y")]), lives(saga(3), "x", &[]), ends(saga(2))];
        let settled = fixture.other.stores.state.settle(&lease(a, epoch), with_all_parts(sagas)).await;
        assert_eq!(settled.map_err(|error| error.kind()), Err(StoreErrorKind::Fenced));
        assert_untouched(store, a, 5).await;
    }
}

/// What a caller does whose first attempt had an unknown outcome.
pub async fn changing_again_is_harmless(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    prepare_one(store, a, 1).await;
    let lease = lease(a, 1);
    for _ in 0..3 {
        let sagas = [lives(saga(1), "next", &[by("order", "y")]), ends(saga(2)), lives(saga(3), "x", &[])];
        store.stores.state.settle(&lease, with_all_parts(sagas)).await.unwrap();
        let states: Vec<_> = all(store, a).await.iter().map(|instance| (instance.id, instance.state.clone())).collect();
        assert_eq!(states, [(saga(1), "next".into()), (saga(3), "x".into())]);
        assert!(was_begun(store, a, saga(2)).await);
        assert_eq!((found_id(store, a, &by("order", "y")).await, found_id(store, a, &by("order", "x")).await), {
            (Some(saga(1)), None)
        });
        let timers = store.stores.sagas.timers(a, 10).await.unwrap();
        assert_eq!((timers.len(), timers[0].event.id), (1, EventId::foreign("sagas", "scheduled")));
        let limits = FetchLimits { events: 100, bytes: usize::MAX };
        let events = store.events.fetch(None, limits, &EventFilter::all()).await.unwrap().events;
        assert_eq!(events.iter().map(|event| &*event.name).collect::<Vec<_>>(), ["Emitted", "Fired"]);
        assert_eq!(
            store.stores.claims.claims(a, &[EventId::foreign("sagas", "claim")]).await.unwrap().len(),
            1,
            "the claim is there"
        );
    }
}

/// By the bundle, and by how long ago they ended; live ones never.
pub async fn ended_instances_are_swept_by_age(fixture: Fixture) {
    let (store, x) = (&fixture.store, by("order", "x"));
    let (a, b, other) = (consumer("A"), consumer("B"), consumer_of("Orders", "A", 1, "*"));
    settle(store, &a, changes([lives(saga(1), "x", std::slice::from_ref(&x)), ends(saga(2))])).await.unwrap();
    for consumer in [&b, &other] {
        settle(store, consumer, changes([ends(saga(2))])).await.unwrap();
    }
    let sweep = async |age| fixture.other.stores.sagas.sweep_ended("orders", age).await.unwrap();
    assert_eq!((sweep(Duration::from_secs(3_600)).await, sweep(Duration::MAX).await), (0, 0));
    assert!(was_begun(store, &a, saga(2)).await);
    assert_eq!(sweep(Duration::ZERO).await, 2);
    assert!(!was_begun(store, &a, saga(2)).await && !was_begun(store, &b, saga(2)).await);
    assert!(was_begun(store, &other, saga(2)).await);
    assert_eq!(found_id(store, &a, &x).await, Some(saga(1)));
    assert_eq!(sweep(Duration::ZERO).await, 0);
}

/// Instances, their values and timers, and claims go with their version.
pub async fn a_forgotten_version_leaves_no_instance(fixture: Fixture) {
    let (store, x) = (&fixture.store, by("order", "x"));
    let (gone, stays) = (consumer("A"), consumer_of("orders", "A", 2, "*"));
    let claim = [EventId::foreign("sagas", "claim")];
    for consumer in [&gone, &stays] {
        prepare_one(store, consumer, 1).await;
        let claims = Claims { done: claim.to_vec(), ..Claims::default() };
        settle(store, consumer, Settlement { claims, ..changes([ends(saga(2))]) }).await.unwrap();
    }
    assert_eq!(fixture.other.stores.state.forget("orders", "A", 1).await.unwrap(), 1);
    for (consumer, kept) in [(&gone, false), (&stays, true)] {
        assert_eq!(found_id(store, consumer, &x).await, kept.then_some(saga(1)));
        assert_eq!(was_begun(store, consumer, saga(2)).await, kept);
        assert_eq!(all(store, consumer).await.len(), usize::from(kept));
        assert_eq!(store.stores.sagas.timers(consumer, 10).await.unwrap().len(), usize::from(kept));
        assert_eq!(store.stores.claims.claims(consumer, &claim).await.unwrap().len(), usize::from(kept));
    }
    // What was forgotten may begin again.
    settle(store, &gone, changes([lives(saga(2), "again", std::slice::from_ref(&x))])).await.unwrap();
    assert_eq!(found_id(store, &gone, &x).await, Some(saga(2)));
    settle(store, &gone, Settlement { fired: vec![prepared("Fired", "kept")], ..Settlement::default() }).await.unwrap();
    assert_eq!(store.events.head().await.unwrap(), None);
}
