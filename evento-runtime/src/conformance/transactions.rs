//! `TransactionStore`: what a handler writes, and that it has handled the event, are one commit or nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Fixture, consumer, consumer_of, event, lease, letter};
use crate::event::{EventId, Position};
use crate::identity::ConsumerId;
use crate::source::{Append, EventFilter, Expected, FetchLimits, PreparedEvent};
use crate::store::{Checkpoint, OpenTransaction, Settlement, Store, TransactionStore};
use crate::task::Tasks;
use crate::{BoxError, StoreErrorKind};

type Open = Box<dyn OpenTransaction>;

fn transactions(store: &Store) -> &Arc<dyn TransactionStore> {
    store.stores.transactions.as_ref().expect("a store with transactions")
}

async fn begin(store: &Store) -> Open {
    transactions(store).begin().await.unwrap()
}

impl Fixture {
    async fn run(&self, open: Open, sql: &str) -> (Open, Result<i64, BoxError>) {
        let (table, run) = self.effects.as_ref().expect("a fixture with effects");
        run(open, sql.replace("effects", table)).await
    }

    /// What a handler would do.
    async fn effect(&self, open: Open, n: u64) -> Open {
        let (open, done) = self.run(open, &format!("INSERT INTO effects (n) VALUES ({n})")).await;
        done.unwrap();
        open
    }

    /// How many effects were committed.
    async fn effects(&self) -> i64 {
        let (open, count) = self.run(begin(&self.other).await, "SELECT count(*) FROM effects").await;
        open.roll_back().await;
        count.unwrap()
    }
}

fn position(number: u64) -> Position {
    Position::from_u64(number)
}

fn completed<const N: usize>(numbers: [u64; N]) -> Settlement {
    Settlement { completed: numbers.map(position).to_vec(), ..Settlement::default() }
}

fn emitted(id: &str) -> PreparedEvent {
    let event = event("Emitted", "x").id(EventId::foreign("transactions", id));
    Append::prepare("k", Expected::Any, [event]).unwrap().events.remove(0)
}

async fn settle(
    open: &mut Open,
    consumer: &ConsumerId,
    epoch: u64,
    settlement: Settlement,
) -> Result<(), StoreErrorKind> {
    open.settle(&lease(consumer, epoch), settlement).await.map_err(|error| error.kind())
}

async fn known(store: &Store, consumer: &ConsumerId) -> Vec<u64> {
    let found = transactions(store).completed(consumer).await.unwrap();
    found.iter().map(|position| position.as_u64().unwrap()).collect()
}

async fn logged(store: &Store) -> usize {
    let limits = FetchLimits { events: 1_000, bytes: usize::MAX };
    store.events.fetch(None, limits, &EventFilter::all()).await.unwrap().events.len()
}

/// Waits for readers to see so many events: where others may append at once, that takes a moment.
async fn until_logged(store: &Store, count: usize) {
    while logged(store).await < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(logged(store).await, count);
}

/// Effect, completion, events, dead letter, checkpoint; nobody sees any of it before the commit.
pub async fn everything_is_one_commit(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let mut open = fixture.effect(begin(store).await, 1).await;
    let checkpoint = Checkpoint { watermark: Some(position(4)), reach: Some(position(9)), open: Vec::new() };
    let settlement = Settlement {
        emitted: vec![emitted("1"), emitted("2")],
        dead_letters: vec![letter(8, "bad")],
        checkpoint: Some(checkpoint.clone()),
        ..completed([7])
    };
    settle(&mut open, a, 1, settlement).await.unwrap();
    assert_eq!(logged(store).await, 0);
    assert_eq!(fixture.other.stores.state.load(a).await.unwrap().checkpoint, None);
    open.commit().await.unwrap();
    until_logged(&fixture.other, 2).await;
    assert_eq!(fixture.effects().await, 1);
    for store in [store, &fixture.other] {
        assert_eq!(known(store, a).await, [7]);
        assert_eq!(store.stores.state.load(a).await.unwrap().checkpoint, Some(checkpoint.clone()));
        assert_eq!(store.stores.dead_letters.count(a).await.unwrap(), 1);
    }
}

/// Before and after the settlement.
pub async fn rolled_back_leaves_nothing(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for settled in [false, true] {
        let mut open = fixture.effect(begin(store).await, 1).await;
        if settled {
            let settlement = Settlement { emitted: vec![emitted("1")], ..completed([1]) };
            settle(&mut open, a, 1, settlement).await.unwrap();
        }
        open.roll_back().await;
        assert_eq!((fixture.effects().await, known(store, a).await, logged(store).await), (0, vec![], 0));
    }
    // The number that the consumer had there for a moment was not kept.
    let mut open = fixture.effect(begin(store).await, 1).await;
    settle(&mut open, &consumer("B"), 1, completed([2])).await.unwrap();
    open.commit().await.unwrap();
    assert_eq!((known(store, a).await, known(store, &consumer("B")).await), (vec![], vec![2]));
}

/// And its connection is nobody's trap.
pub async fn dropped_leaves_nothing(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for n in 0..20_u64 {
        let mut open = fixture.effect(begin(store).await, 1).await;
        if n % 2 == 1 {
            settle(&mut open, a, 1, Settlement { emitted: vec![emitted("1")], ..completed([1]) }).await.unwrap();
        }
        drop(open);
        // What comes next on whatever connection is not in it.
        let mut open = fixture.effect(begin(store).await, 100 + n).await;
        settle(&mut open, a, 1, completed([100 + n])).await.unwrap();
        open.commit().await.unwrap();
    }
    // Nor are those who began and were not waited for.
    for _ in 0..20 {
        drop(transactions(store).begin().now_or_never());
    }
    store.stores.state.settle(&lease(a, 1), Settlement::default()).await.unwrap();
    assert_eq!((fixture.effects().await, logged(store).await), (20, 0));
    assert_eq!(known(store, a).await, (100..120).collect::<Vec<_>>());
}

/// The effects go with the settlement that is refused.
pub async fn a_stale_epoch_commits_nothing(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    fixture.other.stores.state.settle(&lease(a, 5), Settlement::default()).await.unwrap();
    let mut open = fixture.effect(begin(store).await, 1).await;
    let settlement = Settlement { emitted: vec![emitted("1")], ..completed([1]) };
    assert_eq!(settle(&mut open, a, 4, settlement).await, Err(StoreErrorKind::Fenced));
    // Not even if it is asked for.
    assert_eq!(open.commit().await.unwrap_err().kind(), StoreErrorKind::Aborted);
    assert_eq!((fixture.effects().await, known(store, a).await, logged(store).await), (0, vec![], 0));
    let mut open = fixture.effect(begin(store).await, 1).await;
    settle(&mut open, a, 5, completed([1])).await.unwrap();
    open.commit().await.unwrap();
    assert_eq!((fixture.effects().await, known(store, a).await), (1, vec![1]));
}

/// Begun before it or not, settled before it or not: never do both succeed side by side.
pub async fn a_takeover_waits_or_the_transaction_fails(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let mut effects = 0;
    for (round, settled_before) in [true, false, true, false].into_iter().enumerate() {
        let epoch = 1 + round as u64;
        store.stores.state.settle(&lease(a, epoch), Settlement::default()).await.unwrap();
        let mut open = fixture.effect(begin(store).await, epoch).await;
        if settled_before {
            settle(&mut open, a, epoch, completed([epoch])).await.unwrap();
        }
        let (other, later) = (fixture.other.clone(), lease(a, epoch + 1));
        let takeover =
            Tasks::default().spawn(async move { other.stores.state.settle(&later, Settlement::default()).await });
        tokio::time::sleep(Duration::from_millis(150)).await;
        let settled = match settled_before {
            true => Ok(()),
            false => settle(&mut open, a, epoch, completed([epoch])).await,
        };
        match settled {
            Ok(()) => {
                assert!(!takeover.is_finished(), "it waits for what was settled before it");
                open.commit().await.unwrap();
                effects += 1;
            }
            Err(kind) => {
                assert_eq!(kind, StoreErrorKind::Fenced);
                open.roll_back().await;
            }
        }
        takeover.await.unwrap().unwrap();
        assert_eq!(fixture.effects().await, effects);
        assert_eq!(i64::try_from(known(store, a).await.len()).unwrap(), effects);
    }
}

/// Where a failed statement ends the transaction, that is said; where it does not, everything else is committed.
pub async fn a_swallowed_error_is_no_silent_loss(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for with_settlement in [true, false] {
        let before = (fixture.effects().await, known(store, a).await.len());
        let n = if with_settlement { 1 } else { 2 };
        let open = fixture.effect(begin(store).await, n).await;
        let (mut open, failed) = fixture.run(open, &format!("INSERT INTO effects (n) VALUES ({n})")).await;
        failed.unwrap_err();
        let settled = match with_settlement {
            true => settle(&mut open, a, 1, completed([n])).await,
            false => Ok(()),
        };
        let ended = match settled {
            Ok(()) => open.commit().await.map_err(|error| error.kind()),
            Err(kind) => {
                open.roll_back().await;
                Err(kind)
            }
        };
        let after = (fixture.effects().await, known(store, a).await.len());
        match ended {
            Ok(()) => assert_eq!(after, (before.0 + 1, before.1 + usize::from(with_settlement))),
            Err(kind) => assert_eq!((kind, after), (StoreErrorKind::Aborted, before)),
        }
    }
}

/// Whatever it was meant for, and whether or not something else was begun after it.
pub async fn an_end_of_the_handlers_own_is_found_out(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for (n, end) in ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN"].into_iter().enumerate() {
        for settles in [true, false] {
            let n = n as u64 * 2 + u64::from(settles);
            let open = fixture.effect(begin(store).await, n).await;
            let (mut open, ended) = fixture.run(open, end).await;
            ended.unwrap();
            if settles {
                let settlement = Settlement { emitted: vec![emitted("1")], ..completed([n]) };
                assert_eq!(settle(&mut open, a, 1, settlement).await, Err(StoreErrorKind::Aborted), "{end}");
            }
            let error = open.commit().await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Aborted, "{end}");
            let open = begin(store).await;
            fixture.effect(open, 1_000 + n).await.roll_back().await;
        }
    }
    assert_eq!((known(store, a).await, logged(store).await), (vec![], 0));
    assert_eq!(fixture.effects().await, 4, "those that were committed against the rules");
}

/// By a future that was dropped: what it had written by then is not half of a commit.
pub async fn a_settlement_given_up_commits_nothing(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    store.stores.state.settle(&lease(a, 1), Settlement::default()).await.unwrap();
    for polls in 1..12 {
        let mut open = fixture.effect(begin(store).await, 1).await;
        let given_up = {
            let lease = lease(a, 1);
            let mut settling = open.settle(&lease, Settlement { emitted: vec![emitted("1")], ..completed([1, 2]) });
            let mut done = None;
            for _ in 0..polls {
                done = done.or_else(|| (&mut settling).now_or_never());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            done.is_none()
        };
        if given_up {
            assert_eq!(open.commit().await.unwrap_err().kind(), StoreErrorKind::Aborted);
        } else {
            open.roll_back().await;
        }
        assert_eq!((fixture.effects().await, known(store, a).await, logged(store).await), (0, vec![], 0));
    }
}

/// Told once, covered in parts, forgotten before new ones; and more than one statement holds.
pub async fn completed_positions_stay_until_covered(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let all: Vec<u64> = (1..=150).map(|n| n * 255).collect();
    let positions = |numbers: &[u64]| numbers.iter().rev().map(|number| position(*number)).collect::<Vec<_>>();
    let mut open = begin(store).await;
    let mut named_twice = positions(&all);
    named_twice.push(position(all[0]));
    settle(&mut open, a, 1, Settlement { completed: named_twice, ..Settlement::default() }).await.unwrap();
    open.commit().await.unwrap();
    assert_eq!(known(&fixture.other, a).await, all);
    // A second transaction for one of them is refused, whatever else it completes.
    let mut open = begin(store).await;
    let twice = Settlement { completed: positions(&[all[149], 99_999]), ..Settlement::default() };
    assert_eq!(settle(&mut open, a, 1, twice).await, Err(StoreErrorKind::Conflict));
    open.roll_back().await;
    assert_eq!(known(&fixture.other, a).await, all);
    let state = &store.stores.state;
    let mut covered = positions(&all[..99]);
    covered.extend([position(1), position(all[0])]);
    state.settle(&lease(a, 1), Settlement { covered, ..Settlement::default() }).await.unwrap();
    assert_eq!(known(store, a).await, all[99..]);
    let again = Settlement { forget_completed: true, ..completed([3, 2]) };
    state.settle(&lease(a, 2), again).await.unwrap();
    assert_eq!(known(store, a).await, [2, 3]);
    state.settle(&lease(a, 2), Settlement { covered: positions(&[2, 3]), ..Settlement::default() }).await.unwrap();
    assert!(known(store, a).await.is_empty());
}

/// Nor covered or forgotten with theirs; a component version that is forgotten loses its own.
pub async fn completed_positions_of_others_are_not_seen(fixture: Fixture) {
    let store = &fixture.store;
    let of = |component, version, context| consumer_of("orders", component, version, context);
    let consumers = [of("A", 1, "*"), of("A", 1, "eu-*"), of("A", 2, "*"), of("B", 1, "*")];
    for (n, consumer) in consumers.iter().enumerate() {
        let mut open = begin(store).await;
        settle(&mut open, consumer, 1, completed([7, 100 + n as u64])).await.unwrap();
        open.commit().await.unwrap();
    }
    let covered = Settlement { covered: vec![position(7)], ..Settlement::default() };
    store.stores.state.settle(&lease(&consumers[0], 1), covered).await.unwrap();
    let forget = Settlement { forget_completed: true, ..Settlement::default() };
    store.stores.state.settle(&lease(&consumers[3], 1), forget).await.unwrap();
    let found = async || {
        let mut found = Vec::new();
        for consumer in &consumers {
            found.push(known(store, consumer).await);
        }
        found
    };
    assert_eq!(found().await, [vec![100], vec![7, 101], vec![7, 102], vec![]]);
    assert!(known(store, &consumer("Unheard")).await.is_empty());
    store.stores.state.forget("orders", "A", 1).await.unwrap();
    assert_eq!(found().await, [vec![], vec![], vec![7, 102], vec![]]);
}

/// Nobody waits for somebody else in a circle, and nothing is lost.
pub async fn consumers_work_at_the_same_time(fixture: Fixture) {
    const EACH: u64 = 10;
    let fixture = Arc::new(fixture);
    let workers = (0..4_u64).map(|worker| {
        let fixture = Arc::clone(&fixture);
        Tasks::default().spawn(async move {
            let store = if worker % 2 == 0 { &fixture.store } else { &fixture.other };
            let consumer = consumer(["A", "B"][worker as usize / 2]);
            for n in 0..EACH {
                let n = worker * EACH + n + 1;
                loop {
                    let mut open = fixture.effect(begin(store).await, n).await;
                    let settlement = Settlement { emitted: vec![emitted(&n.to_string())], ..completed([n]) };
                    match settle(&mut open, &consumer, 1, settlement).await {
                        Ok(()) => break open.commit().await.unwrap(),
                        // A deadlock may be seen where none is: it is tried again.
                        Err(StoreErrorKind::Busy) => open.roll_back().await,
                        Err(kind) => panic!("{kind:?}"),
                    }
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    assert_eq!(fixture.effects().await, 40);
    until_logged(&fixture.store, 40).await;
    assert_eq!(known(&fixture.store, &consumer("A")).await, (1..=20).collect::<Vec<_>>());
    assert_eq!(known(&fixture.store, &consumer("B")).await, (21..=40).collect::<Vec<_>>());
}

/// By a transaction that was run again after its commit.
pub async fn an_id_emitted_again_is_known(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    for n in 1..=2 {
        let mut open = fixture.effect(begin(store).await, n).await;
        let settlement = Settlement { emitted: vec![emitted("1"), emitted("1")], ..completed([n]) };
        settle(&mut open, a, 1, settlement).await.unwrap();
        open.commit().await.unwrap();
    }
    until_logged(store, 1).await;
    assert_eq!((fixture.effects().await, known(store, a).await), (2, vec![1, 2]));
}

/// What was emitted is told once it is there.
pub async fn commits_wake(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    let mut woken = store.events.wake();
    let mut open = begin(store).await;
    settle(&mut open, a, 1, Settlement { emitted: vec![emitted("1")], ..Settlement::default() }).await.unwrap();
    open.commit().await.unwrap();
    woken.changed().await.unwrap();
    until_logged(store, 1).await;
}

/// A commit that nobody waited for has been made or not by the time the completed positions are read.
pub async fn a_commit_given_up_is_told_for_certain(fixture: Fixture) {
    let (store, a) = (&fixture.store, &consumer("A"));
    // Whoever works for a consumer owns it: it is known before.
    store.stores.state.settle(&lease(a, 1), Settlement::default()).await.unwrap();
    for n in 1..=20 {
        let mut open = fixture.effect(begin(store).await, n).await;
        settle(&mut open, a, 1, completed([n])).await.unwrap();
        drop(open.commit().now_or_never());
        let told = known(store, a).await.len();
        assert_eq!((fixture.effects().await, known(store, a).await.len()), (i64::try_from(told).unwrap(), told));
    }
}
