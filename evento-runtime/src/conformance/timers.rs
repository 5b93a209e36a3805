//! Events to be appended later: `SagaStateStore::timers`, and the timers of a settlement.

use super::sagas::{changes, ends, lives, saga, settle};
use super::{Fixture, consumer, event};
use crate::NewEvent;
use crate::event::{EventId, StoredEvent, Timestamp};
use crate::identity::ConsumerId;
use crate::source::{Append, EventFilter, Expected, FetchLimits, PreparedEvent};
use crate::store::{SagaId, Settlement, Store, Timer};

fn prepared(event: NewEvent) -> PreparedEvent {
    Append::prepare(None::<String>, Expected::Any, [event]).unwrap().events.remove(0)
}

fn due(number: u64) -> PreparedEvent {
    prepared(event("Due", number.to_be_bytes()).key("k").id(EventId::foreign("timers", &number.to_string())))
}

fn timer(number: u64, saga: SagaId, due_at: i64) -> Timer {
    Timer { event: due(number), saga, due_at: Timestamp::from_micros(due_at) }
}

fn scheduled(timers: impl Into<Vec<Timer>>) -> Settlement {
    Settlement { scheduled: timers.into(), ..Settlement::default() }
}

fn fired(events: impl Into<Vec<PreparedEvent>>) -> Settlement {
    Settlement { fired: events.into(), ..Settlement::default() }
}

async fn timers(store: &Store, consumer: &ConsumerId) -> Vec<Timer> {
    store.stores.sagas.timers(consumer, usize::MAX).await.unwrap()
}

/// The numbers of what is kept, in its order.
async fn kept(store: &Store, consumer: &ConsumerId) -> Vec<u64> {
    let number = |timer: &Timer| u64::from_be_bytes(timer.event.payload[..].try_into().unwrap());
    timers(store, consumer).await.iter().map(number).collect()
}

async fn log(store: &Store) -> Vec<StoredEvent> {
    let limits = FetchLimits { events: 1_000, bytes: usize::MAX };
    store.events.fetch(None, limits, &EventFilter::all()).await.unwrap().events
}

/// The numbers of what was appended.
async fn appended(store: &Store) -> Vec<u64> {
    log(store).await.iter().map(|event| u64::from_be_bytes(event.payload[..].try_into().unwrap())).collect()
}

/// A consumer with the live instances 1 and 2.
async fn with_instances(store: &Store) -> ConsumerId {
    let a = consumer("A");
    settle(store, &a, changes([lives(saga(1), "x", &[]), lives(saga(2), "x", &[])])).await.unwrap();
    a
}

/// Everything that is appended later, and the time to the microsecond.
pub async fn a_timer_comes_back_as_it_was(fixture: Fixture) {
    let a = &with_instances(&fixture.store).await;
    let every_byte: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let full =
        prepared(event("Due", every_byte).key("Straße \u{1F980} ").context("tenant-ä").metadata("user", "a\"d\0a"));
    let bare = prepared(NewEvent::raw("Bare", "text/plain", Vec::new()));
    let put = [
        Timer { event: bare, saga: saga(1), due_at: Timestamp::from_micros(-5) },
        Timer { event: full, saga: saga(2), due_at: Timestamp::from_micros(1_700_000_000_123_457) },
    ];
    settle(&fixture.store, a, scheduled(put.clone())).await.unwrap();
    let found = timers(&fixture.other, a).await;
    assert_eq!(found.len(), 2);
    for (found, put) in found.iter().zip(&put) {
        assert_eq!((found.saga, found.due_at, found.event.id), (put.saga, put.due_at, put.event.id));
        assert_eq!((&found.event.name, &found.event.context), (&put.event.name, &put.event.context));
        assert_eq!((&found.event.key, &found.event.content_type), (&put.event.key, &put.event.content_type));
        assert_eq!((&found.event.payload, &found.event.metadata), (&put.event.payload, &put.event.metadata));
    }
}

/// Of the same time, by their ids; a few at a time; of this consumer only.
pub async fn timers_are_listed_earliest_first(fixture: Fixture) {
    let (store, a) = (&fixture.store, &with_instances(&fixture.store).await);
    let times = [(1, 70_000), (2, -300), (3, 256), (4, 255), (5, i64::MAX), (6, 0), (7, i64::MIN)];
    settle(store, a, scheduled(times.map(|(number, at)| timer(number, saga(1), at)))).await.unwrap();
    assert_eq!(kept(store, a).await, [7, 2, 6, 4, 3, 1, 5]);
    let few = async |limit| fixture.other.stores.sagas.timers(a, limit).await.unwrap().len();
    assert_eq!((few(0).await, few(3).await, few(100).await), (0, 3, 7));
    assert_eq!(store.stores.sagas.timers(a, 1).await.unwrap()[0].event.id, due(7).id);

    let b = &consumer("B");
    assert!(timers(store, b).await.is_empty());
    settle(store, b, changes([lives(saga(1), "x", &[])])).await.unwrap();
    settle(store, b, scheduled((10..40).map(|number| timer(number, saga(1), 7)).collect::<Vec<_>>())).await.unwrap();
    let ids: Vec<_> = timers(store, b).await.iter().map(|timer| timer.event.id).collect();
    assert!(ids.is_sorted() && ids.len() == 30);
}

/// With a position and a version like any other event, and with what the same settlement emits; whoever reads is told.
pub async fn a_fired_timer_is_in_the_log_once(fixture: Fixture) {
    let (store, a) = (&fixture.store, &with_instances(&fixture.store).await);
    store.append("k", Expected::New, [event("Before", 0_u64.to_be_bytes())]).await.unwrap();
    settle(store, a, scheduled([timer(1, saga(1), 1), timer(2, saga(1), 2), timer(3, saga(1), 3)])).await.unwrap();
    assert_eq!(appended(store).await, [0], "not before it fires");
    let mut wake = store.events.wake();
    wake.mark_unchanged();
    let settlement = || Settlement { emitted: vec![due(9)], ..fired([due(2), due(1), due(2), due(77)]) };
    settle(store, a, settlement()).await.unwrap();
    assert!(wake.has_changed().unwrap(), "nobody was told");
    assert_eq!(kept(&fixture.other, a).await, [3]);
    settle(&fixture.other, a, settlement()).await.unwrap();
    // 77 was never kept.
    assert_eq!(appended(&fixture.other).await, [0, 9, 2, 1]);
    let versions: Vec<_> = log(store).await.iter().map(|event| event.version.unwrap()).collect();
    assert_eq!(versions, [1, 2, 3, 4]);
}

/// The first time counts; one that is kept again after it has fired appends nothing more.
pub async fn a_timer_is_kept_once(fixture: Fixture) {
    let (store, a) = (&fixture.store, &with_instances(&fixture.store).await);
    settle(store, a, scheduled([timer(1, saga(1), 5), timer(1, saga(2), 6)])).await.unwrap();
    settle(store, a, scheduled([timer(1, saga(2), 4)])).await.unwrap();
    let found = timers(store, a).await;
    assert_eq!((found.len(), found[0].saga, found[0].due_at.as_micros()), (1, saga(1), 5));
    settle(store, a, fired([due(1)])).await.unwrap();
    settle(store, a, scheduled([timer(1, saga(1), 5)])).await.unwrap();
    settle(store, a, fired([due(1)])).await.unwrap();
    assert!(kept(store, a).await.is_empty());
    assert_eq!(appended(store).await, [1]);
    // An id that is known under other bytes is known as well.
    store.append("k", Expected::Any, [event("Taken", 2_u64.to_be_bytes()).id(due(2).id)]).await.unwrap();
    settle(store, a, scheduled([timer(2, saga(1), 5)])).await.unwrap();
    settle(store, a, fired([due(2)])).await.unwrap();
    assert!(kept(store, a).await.is_empty());
    let names: Vec<_> = log(store).await.iter().map(|event| event.name.to_string()).collect();
    assert_eq!(names, ["Due", "Taken"]);
}

/// Neither kept nor appended after the end of their instance, nor for one that nobody knows.
pub async fn timers_end_with_their_instance(fixture: Fixture) {
    let (store, a) = (&fixture.store, &with_instances(&fixture.store).await);
    settle(store, a, scheduled([timer(1, saga(1), 1), timer(2, saga(2), 2), timer(3, saga(1), 3)])).await.unwrap();
    // Instances come first: what has ended in a settlement has no timers in it.
    let end = Settlement { scheduled: vec![timer(4, saga(1), 4)], fired: vec![due(3)], ..changes([ends(saga(1))]) };
    settle(store, a, end).await.unwrap();
    assert_eq!(kept(store, a).await, [2]);
    settle(store, a, scheduled([timer(5, saga(1), 5), timer(6, saga(99), 6)])).await.unwrap();
    settle(store, a, fired([due(1), due(3), due(4), due(5), due(6)])).await.unwrap();
    assert_eq!((kept(store, a).await, appended(store).await), (vec![2], vec![]));
    // One that begins in the same settlement is there already, and what it wants may be due at once.
    let begin = Settlement {
        scheduled: vec![timer(7, saga(3), 7), timer(8, saga(3), 8)],
        fired: vec![due(8)],
        ..changes([lives(saga(3), "x", &[])])
    };
    settle(store, a, begin).await.unwrap();
    assert_eq!((kept(store, a).await, appended(store).await), (vec![2, 7], vec![8]));
    // A change of the instance leaves its timers.
    settle(store, a, changes([lives(saga(3), "y", &[])])).await.unwrap();
    assert_eq!(kept(store, a).await, [2, 7]);
}

/// 150 kept, 120 named, of which 20 are not there.
pub async fn many_timers_fire_at_once(fixture: Fixture) {
    let (store, a) = (&fixture.store, &with_instances(&fixture.store).await);
    let all: Vec<Timer> = (0_u32..150).map(|number| timer(number.into(), saga(1), number.into())).collect();
    settle(store, a, scheduled(all)).await.unwrap();
    assert_eq!(kept(store, a).await, (0..150).collect::<Vec<_>>());
    let named: Vec<PreparedEvent> = (50..170).rev().map(due).collect();
    settle(store, a, fired(named)).await.unwrap();
    assert_eq!(appended(store).await, (50..150).rev().collect::<Vec<_>>());
    assert_eq!(kept(store, a).await, (0..50).collect::<Vec<_>>());
}

/// From both sides at once, and for another consumer of the same event.
pub async fn a_timer_of_many_sides_is_one_event(fixture: Fixture) {
    let (store, a, b) = (&fixture.store, &with_instances(&fixture.store).await, &consumer("B"));
    settle(store, b, changes([lives(saga(1), "x", &[])])).await.unwrap();
    for consumer in [a, b] {
        settle(store, consumer, scheduled([timer(1, saga(1), 1)])).await.unwrap();
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, a) = (if number % 2 == 0 { fixture.store.clone() } else { fixture.other.clone() }, a.clone());
        tasks.spawn(async move { settle(&store, &a, fired([due(1)])).await });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!((kept(store, a).await, appended(store).await), (vec![], vec![1]));
    assert_eq!(kept(store, b).await, [1], "that of another consumer stays until it fires itself");
    settle(store, b, fired([due(1)])).await.unwrap();
    assert_eq!((kept(store, b).await, appended(store).await), (vec![], vec![1]));
}
