//! Groups over a store that is a list: whatever fails, every effect is there once, and in the order of its key.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use tokio::sync::watch;

use super::*;
use crate::component::Invoke;
use crate::consumer::work::tests as fixture;
use crate::context::Stop;
use crate::deps::{Deps, Need};
use crate::identity::{ConsumerId, ContextPattern};
use crate::outcome::{HandlerError, HandlerResult};
use crate::store::{Lease, TransactionStore};
use crate::sync::lock;

/// What is to happen with whom, and what has happened.
#[derive(Default)]
struct World {
    /// Their handlers fail, always.
    poison: BTreeSet<u64>,
    /// A commit with one of them fails.
    unstorable: BTreeSet<u64>,
    /// Their handlers fail once, because of somebody else.
    conflicting: Mutex<BTreeSet<u64>>,
    /// So many commits get no answer; every second one is there all the same.
    unanswered: Mutex<u32>,
    /// Handled, in the order of the commits.
    entries: Mutex<Vec<u64>>,
    completed: Mutex<BTreeSet<Position>>,
    commits: Mutex<usize>,
}

struct Open {
    world: Arc<World>,
    entries: Vec<u64>,
    completed: Vec<Position>,
}

#[async_trait]
impl OpenTransaction for Open {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }

    async fn settle(&mut self, _: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let known = settlement.completed.iter().any(|position| lock(&self.world.completed).contains(position));
        if known {
            return Err(StoreError::new(StoreErrorKind::Conflict, "list"));
        }
        self.completed = settlement.completed;
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        if self.entries.iter().any(|n| self.world.unstorable.contains(n)) {
            return Err(StoreError::new(StoreErrorKind::Other, "list"));
        }
        let mut unanswered = lock(&self.world.unanswered);
        let answered = *unanswered == 0;
        *unanswered = unanswered.saturating_sub(1);
        if answered || unanswered.is_multiple_of(2) {
            lock(&self.world.entries).extend(&self.entries);
            lock(&self.world.completed).extend(self.completed);
            *lock(&self.world.commits) += 1;
        }
        if answered { Ok(()) } else { Err(StoreError::new(StoreErrorKind::Connection, "list")) }
    }

    async fn roll_back(self: Box<Self>) {}
}

struct List(Arc<World>);

#[async_trait]
impl TransactionStore for List {
    fn database(&self) -> Need {
        Need::of::<List>()
    }

    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError> {
        Ok(Box::new(Open { world: Arc::clone(&self.0), entries: Vec::new(), completed: Vec::new() }))
    }

    async fn completed(&self, _: &ConsumerId) -> Result<Vec<Position>, StoreError> {
        Ok(lock(&self.0.completed).iter().cloned().collect())
    }
}

fn handle(context: HandlerContext) -> BoxFuture<'static, HandlerResult> {
    async move {
        let world: Arc<World> = Arc::clone(context.component()).downcast().map_err(|_| "no world")?;
        let open = context.take_transaction().ok_or("no transaction")?.into_any();
        let mut open = open.downcast::<Open>().map_err(|_| "another transaction")?;
        let numbers: Vec<u64> = context.events().iter().filter_map(|event| event.position.as_u64()).collect();
        open.entries.extend(&numbers);
        context.put_transaction(open);
        for n in numbers {
            if world.poison.contains(&n) {
                return Err("poison".into());
            }
            if lock(&world.conflicting).remove(&n) {
                return Err(HandlerError::transient("deadlock").into());
            }
        }
        Ok(Flow::Continue)
    }
    .boxed()
}

fn scope(world: &Arc<World>) -> Arc<ConsumerScope> {
    let consumer = ConsumerId { bundle: "b".into(), component: "C".into(), version: 1, context: ContextPattern::All };
    static RUNS: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));
    let stop = Stop::new(RUNS.subscribe());
    Arc::new(ConsumerScope::new(Arc::new(consumer), Arc::clone(world) as _, Deps::default(), stop))
}

/// Events 1 to `count`, each of the key `n % keys`.
fn group(world: &Arc<World>, count: u64, keys: u64, together: Together) -> Group {
    let mut caller = fixture::caller(Invoke::Async(handle));
    caller.set_transactions(Arc::new(List(Arc::clone(world))), fixture::lease());
    let caller = Arc::new(caller);
    let member = |n: u64| Member {
        number: n,
        event: fixture::event(n),
        key: (keys > 0).then(|| (n % keys).to_string().into()),
        caller: Arc::clone(&caller),
        attempt: 1,
    };
    let gate = Gate::default();
    gate.set_open(true);
    Group {
        members: (1..=count).map(member).collect(),
        together,
        scope: scope(world),
        size: Arc::new(GroupSize::of(1_000)),
        gate: Arc::new(gate),
        in_order: keys == 1,
        covering: None,
    }
}

async fn run(group: Group) -> Vec<(u64, AttemptEnd)> {
    let mut ends = Ends::Kept(Vec::new());
    group.run(&mut ends).await;
    ends.kept()
}

proptest! {
    #[test]
    fn whatever_fails_every_effect_is_there_once_and_in_the_order_of_its_key(
        count in 1_u64..40,
        keys in 0_u64..6,
        poison in proptest::collection::btree_set(1_u64..40, 0..4),
        unstorable in proptest::collection::btree_set(1_u64..40, 0..3),
        conflicting in proptest::collection::btree_set(1_u64..40, 0..4),
        unanswered in 0_u32..5,
        batch: bool,
    ) {
        let failing: BTreeSet<u64> = poison.union(&unstorable).copied().collect();
        let world = Arc::new(World {
            poison,
            unstorable,
            conflicting: Mutex::new(conflicting),
            unanswered: Mutex::new(unanswered),
            ..World::default()
        });
        let together = if batch { Together::Batch } else { Together::Calls };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let ends = runtime.block_on(run(group(&world, count, keys, together)));
        let entries = lock(&world.entries).clone();
        // One end for each of them, and an effect exactly where it says so.
        let numbers: Vec<u64> = ends.iter().map(|(number, _)| *number).collect();
        prop_assert_eq!(numbers.iter().copied().collect::<BTreeSet<_>>(), (1..=count).collect::<BTreeSet<_>>());
        prop_assert_eq!(numbers.len() as u64, count);
        let handled: Vec<u64> = ends.iter().filter(|(_, end)| end.is_ok()).map(|(number, _)| *number).collect();
        prop_assert_eq!(handled.iter().copied().collect::<BTreeSet<_>>(), entries.iter().copied().collect());
        prop_assert_eq!(handled.len(), entries.len());
        let mut stands = BTreeSet::new();
        for (number, end) in &ends {
            let key = if keys == 0 { 1_000 + number } else { number % keys };
            match end {
                Ok(_) => {
                    prop_assert!(!failing.contains(number));
                    prop_assert!(!stands.contains(&key), "{} went past a failure", number);
                }
                Err(Failed::Attempt(error)) if error.class != ErrorClass::Transient => {
                    prop_assert!(failing.contains(number), "{} is blamed", number);
                    prop_assert!(stands.insert(key));
                }
                Err(Failed::NotBegun) => {
                    prop_assert!(stands.contains(&key) || ends.iter().any(|(_, end)| is_transient(end)), "{} waits", number);
                }
                Err(_) => {
                    stands.insert(key);
                }
            }
        }
        for key in 0..keys {
            let of_key: Vec<u64> = entries.iter().copied().filter(|n| n % keys == key).collect();
            prop_assert!(of_key.is_sorted(), "{:?}", of_key);
        }
    }
}

#[tokio::test]
async fn what_fails_costs_a_second_run_of_what_was_before_it_and_no_more() {
    for poison in [1, 50, 100] {
        let world = Arc::new(World { poison: [poison].into(), ..World::default() });
        let ends = run(group(&world, 100, 0, Together::Calls)).await;
        assert_eq!(ends.iter().filter(|(_, end)| end.is_ok()).count(), 99);
        assert!(*lock(&world.commits) <= 2, "one before it, one behind it");
    }
}

#[tokio::test]
async fn halves_run_again_until_the_one_that_cannot_be_stored_is_alone() {
    let world = Arc::new(World { unstorable: [37].into(), ..World::default() });
    let ends = run(group(&world, 64, 0, Together::Calls)).await;
    let failed: Vec<u64> = ends.iter().filter(|(_, end)| end.is_err()).map(|(number, _)| *number).collect();
    assert_eq!(failed, [37]);
    assert_eq!(*lock(&world.commits), 6);
}

#[tokio::test]
async fn a_conflict_halves_what_comes_and_is_nobodys_failure() {
    let world = Arc::new(World { conflicting: Mutex::new([60].into()), ..World::default() });
    let group = group(&world, 100, 0, Together::Calls);
    let size = Arc::clone(&group.size);
    assert!(run(group).await.iter().all(|(_, end)| end.is_ok()));
    assert_eq!(lock(&world.entries).len(), 100);
    // Halved to 30, and grown since.
    assert!(size.now() < 1_000, "{}", size.now());
}

#[tokio::test]
async fn nothing_begins_behind_a_closed_gate() {
    let world = Arc::new(World::default());
    let group = group(&world, 5, 0, Together::Calls);
    group.gate.set_open(false);
    assert!(run(group).await.iter().all(|(_, end)| matches!(end, Err(Failed::NotBegun))));
    assert_eq!(*lock(&world.commits), 0);
}

#[tokio::test]
async fn when_the_time_is_over_the_rest_comes_back() {
    let world = Arc::new(World::default());
    let mut group = group(&world, 5, 0, Together::Calls);
    group.size = Arc::new(GroupSize::timed(100, Duration::ZERO));
    let ends = run(group).await;
    assert!(ends[0].1.is_ok());
    assert!(ends[1..].iter().all(|(_, end)| matches!(end, Err(Failed::NotBegun))));
}
