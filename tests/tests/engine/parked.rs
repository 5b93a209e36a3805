//! G4, G5, G12 with `dead_letter = "park"`: a key keeps its order across an event that was given up, over crashes and
//! while it is tried again, and no other key waits for it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::consumer::{SeekTo, StallReason};
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::identity::ConsumerId;
use evento_runtime::prelude::*;
use evento_runtime::store::{DeadEventQueue, Lease, LetterFilter, LetterKind, ParkedRow, StoredDeadLetter};
use evento_runtime::{BundleBuilder, CheckpointMode, DeadLetterPolicy, Running, StoreError, Timestamp, async_trait};

use crate::scripted::{
    Call, Closed, Journal, Limited, Made, MemoryStore, Pooled, Script, append, append_all, bundle, dead_letters, lanes,
    over, settled, stop,
};

/// Fails for good for what is poison at the time.
#[derive(Clone, Default)]
struct Poison {
    numbers: Arc<Mutex<BTreeSet<u64>>>,
    handled: Journal<(String, u64)>,
}

impl Poison {
    fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let poison = Self::default();
        poison.numbers.lock().unwrap().extend(numbers);
        poison
    }

    fn heal(&self, number: u64) {
        self.numbers.lock().unwrap().remove(&number);
    }

    fn script(&self) -> Script {
        let this = self.clone();
        Script::new(move |call: Call| {
            let this = this.clone();
            async move {
                tokio::task::yield_now().await;
                if this.numbers.lock().unwrap().contains(&call.n) {
                    return Err(HandlerError::permanent("poison").into());
                }
                this.handled.push((call.key.unwrap_or_default(), call.n));
                Ok(Flow::Continue)
            }
        })
    }

    fn of_key(&self, key: &str) -> Vec<u64> {
        self.handled.all().into_iter().filter(|(of, _)| of == key).map(|(_, n)| n).collect()
    }
}

/// A component that parks, on lanes or in its own loop.
fn parking(builder: BundleBuilder, poison: &Poison, parallel: bool, mode: CheckpointMode) -> BundleBuilder {
    if parallel {
        let builder = builder.component(Pooled(poison.script())).executor(lanes(4)).checkpoint_mode(mode);
        builder.dead_letter::<Pooled>(DeadLetterPolicy::Park)
    } else {
        builder.component(Limited(poison.script())).dead_letter::<Limited>(DeadLetterPolicy::Park)
    }
}

async fn start(builder: BundleBuilder) -> Running {
    builder.build().unwrap().start().await.unwrap()
}

/// Position and kind of the letters there are; numbers and positions are one apart.
async fn letters(running: &Running) -> Vec<(u64, LetterKind)> {
    let letters = dead_letters(running).await;
    letters.iter().map(|dead| (dead.letter.event.position.as_u64().unwrap() - 1, dead.letter.kind)).collect()
}

async fn no_letters(running: &Running) {
    let (queue, id) = (Arc::clone(&running.store().stores.dead_letters), running.status()[0].consumer.clone());
    while queue.count(&id).await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
}

/// How it may run: parallel or not, and the mode.
const WAYS: [(bool, CheckpointMode); 3] =
    [(true, CheckpointMode::OnStart), (true, CheckpointMode::Watermark), (false, CheckpointMode::Watermark)];

fn every(n: u64, rest: u64, to: u64) -> Vec<u64> {
    (0..to).filter(|i| i % n == rest).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_events_of_a_key_wait_for_the_one_that_was_given_up() {
    use LetterKind::{Dead, Parked};
    for (parallel, mode) in WAYS {
        let store = MemoryStore::new();
        let last = append(&store, 0..12, 3).await;
        let poison = Poison::of([3, 9]);
        let running = start(parking(bundle(&store), &poison, parallel, mode)).await;
        settled(&running, &last).await;
        assert_eq!(letters(&running).await, [(3, Dead), (6, Parked), (9, Parked)]);
        assert_eq!((poison.of_key("k0"), poison.of_key("k1")), (vec![0], vec![1, 4, 7, 10]));
        let consumer = running.consumers().remove(0);
        let status = consumer.status();
        assert_eq!((status.parked_keys, status.parked_events), (1, 3));
        assert_eq!((status.counters.dead_lettered, status.counters.parked), (1, 2));
        let waiting = dead_letters(&running).await.remove(1).letter;
        assert_eq!((waiting.attempts, &*waiting.handler, &*waiting.error), (0, "made", ""));
        // What comes later waits as well; what has no key, or the same key in another context, does not.
        let mut events: Vec<NewEvent> = [12, 13].map(|n| Made { n }.into()).into();
        events[0] = events.remove(0).key("k0");
        events.push(NewEvent::from(Made { n: 14 }).key("k0").context("elsewhere"));
        let last = append_all(&store, events).await;
        settled(&running, &last).await;
        assert_eq!(letters(&running).await.last(), Some(&(12, Parked)));
        assert_eq!(poison.of_key("k0"), [0, 14]);
        // Asked for any of them, the key is tried from its oldest, and stands where it fails.
        assert_eq!(consumer.redrive(LetterFilter::at(Position::from_u64(10))).await.unwrap(), 1);
        evento_tests::eventually("it was tried", || consumer.status().counters.failed == 2).await;
        poison.heal(3);
        consumer.redrive(LetterFilter::all().kind(Parked)).await.unwrap();
        evento_tests::eventually("the second one was tried", || {
            let status = consumer.status();
            poison.of_key("k0") == [0, 14, 3, 6] && status.parked_events == 2 && status.counters.failed == 3
        })
        .await;
        while dead_letters(&running).await.iter().any(|dead| dead.requested) {
            tokio::task::yield_now().await;
        }
        assert_eq!(letters(&running).await, [(9, Dead), (12, Parked)]);
        poison.heal(9);
        consumer.redrive(LetterFilter::all()).await.unwrap();
        no_letters(&running).await;
        evento_tests::eventually("the key is free", || consumer.status().parked_keys == 0).await;
        let last = append(&store, 15..18, 3).await;
        settled(&running, &last).await;
        assert_eq!(poison.of_key("k0"), [0, 14, 3, 6, 9, 12, 15]);
        stop(running).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_a_key_is_tried_again_queues_behind_it() {
    for (parallel, mode) in WAYS {
        let store = MemoryStore::new();
        let last = append(&store, 0..60, 2).await;
        let poison = Poison::of([0]);
        let running = start(parking(bundle(&store), &poison, parallel, mode)).await;
        settled(&running, &last).await;
        assert_eq!(letters(&running).await.len(), 30);
        poison.heal(0);
        running.consumers().remove(0).redrive(LetterFilter::all().key("k0")).await.unwrap();
        let mut last = last;
        for round in 6..40 {
            last = append(&store, round * 10..(round + 1) * 10, 2).await;
            tokio::task::yield_now().await;
        }
        settled(&running, &last).await;
        no_letters(&running).await;
        evento_tests::eventually("all are handled", || poison.handled.len() == 400).await;
        assert_eq!(poison.of_key("k0"), every(2, 0, 400));
        assert_eq!(poison.of_key("k1"), every(2, 1, 400));
        stop(running).await;
    }
}

#[tokio::test]
async fn a_full_queue_holds_up_its_key_and_no_other() {
    for (parallel, mode) in WAYS {
        let store = MemoryStore::new();
        append(&store, 0..40, 2).await;
        let poison = Poison::of([0]);
        let builder = bundle(&store).parked_queue(3).look_ahead(40).page(10);
        let running = start(parking(builder, &poison, parallel, mode)).await;
        evento_tests::eventually("the other key is handled", || poison.of_key("k1").len() == 20).await;
        let consumer = running.consumers().remove(0);
        let full = Some(StallReason::ParkedQueueFull { key: "k0".to_owned() });
        evento_tests::eventually("it says what stands", || consumer.status().reason == full).await;
        let status = consumer.status();
        assert_eq!((status.parked_events, status.open, status.watermark), (3, 17, Some(Position::from_u64(6))));
        let component = if parallel { "Pooled" } else { "Limited" };
        assert_eq!(status.held_by.unwrap().to_string(), format!("{component}::made at 7, key k0"));
        assert_eq!(letters(&running).await.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 2, 4]);
        // It is not lost by a stop, and one that waits may be skipped.
        stop(running).await;
        let builder = bundle(&store).parked_queue(3).look_ahead(40).page(10);
        let running = start(parking(builder, &poison, parallel, mode)).await;
        let consumer = running.consumers().remove(0);
        evento_tests::eventually("it stands again", || consumer.status().reason == full).await;
        consumer.skip(Position::from_u64(11)).await.unwrap();
        poison.heal(0);
        consumer.redrive(LetterFilter::all()).await.unwrap();
        let last = append(&store, 40..60, 2).await;
        settled(&running, &last).await;
        no_letters(&running).await;
        evento_tests::eventually("all are handled", || poison.handled.len() == 59).await;
        let expected: Vec<u64> = every(2, 0, 60).into_iter().filter(|n| *n != 10).collect();
        assert_eq!(poison.of_key("k0"), expected);
        stop(running).await;
    }
}

/// Ends the process of a consumer, as far as a test can: its runtime is gone in the middle, and nothing is given back.
fn crash_after(store: &MemoryStore, poison: &Poison, until: impl Fn(&Running) -> bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let running = runtime.block_on(async {
        let running = start(parking(bundle(store), poison, true, CheckpointMode::Watermark)).await;
        evento_tests::eventually("it is time", || until(&running)).await;
        running
    });
    let status = running.status().remove(0);
    let lock = Arc::clone(&running.store().stores.lock);
    let _running = std::mem::ManuallyDrop::new(running);
    runtime.shutdown_background();
    let lease = Lease { consumer: (*status.consumer).clone(), owner: lock.owner(), epoch: status.epoch };
    // Its lease would expire.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(lock.release(&lease)).unwrap();
}

#[test]
fn parked_keys_outlive_the_process() {
    for crashes in [1, 3] {
        let store = MemoryStore::new();
        let poison = Poison::of([0]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(append(&store, 0..200, 2));
        for crash in 0..crashes {
            crash_after(&store, &poison, |running| running.status()[0].parked_events > 20 * (crash + 1));
        }
        runtime.block_on(async {
            let running = start(parking(bundle(&store), &poison, true, CheckpointMode::Watermark)).await;
            settled(&running, &Position::from_u64(200)).await;
            assert_eq!(letters(&running).await.len(), 100);
            assert_eq!(running.status()[0].parked_events, 100);
            assert!(poison.of_key("k0").is_empty());
            poison.heal(0);
            running.consumers().remove(0).redrive(LetterFilter::at(Position::from_u64(1))).await.unwrap();
            stop(running).await;
        });
        // In the middle of being tried again as well: the rest of the key is still meant.
        crash_after(&store, &poison, |_| poison.of_key("k0").len() > 10);
        runtime.block_on(async {
            let running = start(parking(bundle(&store), &poison, true, CheckpointMode::Watermark)).await;
            no_letters(&running).await;
            stop(running).await;
        });
        // What had run and was not stored runs again; nothing overtakes.
        let mut seen = poison.of_key("k0");
        let again = seen.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        assert!(again <= 2, "{seen:?}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, every(2, 0, 200));
    }
}

#[tokio::test]
async fn going_back_takes_what_is_behind_the_target_out_of_the_queue() {
    for (parallel, mode) in WAYS {
        let store = MemoryStore::new();
        let last = append(&store, 0..10, 1).await;
        let poison = Poison::of([2, 6]);
        let running = start(parking(bundle(&store), &poison, parallel, mode)).await;
        settled(&running, &last).await;
        assert_eq!(letters(&running).await.len(), 8);
        let consumer = running.consumers().remove(0);
        // Behind the target the key is parked as before, so all of it waits again …
        consumer.seek_keeping(SeekTo::After(Position::from_u64(5))).await.unwrap();
        settled(&running, &last).await;
        assert_eq!((letters(&running).await.len(), consumer.status().parked_events), (8, 8));
        // … and before it nothing is: the event that was given up runs again.
        poison.heal(2);
        consumer.seek_keeping(SeekTo::Start).await.unwrap();
        settled(&running, &last).await;
        assert_eq!(letters(&running).await.len(), 4);
        assert_eq!(poison.of_key("k0"), [0, 1, 0, 1, 2, 3, 4, 5]);
        stop(running).await;
    }
}

/// Counts what is asked of the dead letters.
struct Counting(Arc<dyn DeadEventQueue>, Arc<AtomicU64>);

#[async_trait]
impl DeadEventQueue for Counting {
    async fn list(
        &self,
        consumer: &ConsumerId,
        which: &LetterFilter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.list(consumer, which, after, limit).await
    }

    async fn request(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.request(consumer, which).await
    }

    async fn requested(&self, consumer: &ConsumerId, limit: usize) -> Result<Vec<StoredDeadLetter>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.requested(consumer, limit).await
    }

    async fn wanted(&self, bundle: &str) -> Result<Vec<ConsumerId>, StoreError> {
        self.0.wanted(bundle).await
    }

    async fn discard(&self, consumer: &ConsumerId, which: &LetterFilter) -> Result<u64, StoreError> {
        self.0.discard(consumer, which).await
    }

    async fn purge(&self, consumer: &ConsumerId, before: Timestamp) -> Result<u64, StoreError> {
        self.0.purge(consumer, before).await
    }

    async fn parked(&self, consumer: &ConsumerId) -> Result<Vec<ParkedRow>, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.parked(consumer).await
    }

    async fn count(&self, consumer: &ConsumerId) -> Result<u64, StoreError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.count(consumer).await
    }
}

#[tokio::test]
async fn healthy_keys_cost_no_call_of_the_store() {
    for parked in [false, true] {
        let store = MemoryStore::new();
        let asked = Arc::new(AtomicU64::new(0));
        let mut config = ConsumerEngineConfig::of(&store.store());
        config.dead_event_queue = Arc::new(Counting(config.dead_event_queue, Arc::clone(&asked)));
        let poison = Poison::of(parked.then_some(0));
        let running = start(parking(over(config), &poison, true, CheckpointMode::Watermark)).await;
        assert_eq!(asked.load(Ordering::SeqCst), 1, "once for each ownership");
        let last = append(&store, 0..1_000, 100).await;
        settled(&running, &last).await;
        assert_eq!(poison.handled.len(), if parked { 990 } else { 1_000 });
        // Where a key is parked, the store is asked now and then whether somebody has discarded what is behind it.
        let asked = asked.load(Ordering::SeqCst);
        assert!(asked == 1 || (parked && asked < 20), "{asked}");
        stop(running).await;
    }
}

/// Two handlers in two places, one order of a key.
struct Both(Script);

#[projector(version = 1, dead_letter = "park", checkpoint = "watermark")]
impl Both {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, false).await
    }

    #[event_handler(retry = 0)]
    async fn closed(&self, event: Closed, meta: Metadata, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.call(event.n, &meta, attempt, stop, true).await
    }
}

#[tokio::test]
async fn a_key_is_parked_for_all_handlers_of_the_consumer() {
    for poisoned in [0, 1] {
        let store = MemoryStore::new();
        let event = |n: u64| {
            let event = if n % 4 < 2 { NewEvent::from(Closed { n }) } else { NewEvent::from(Made { n }) };
            event.key(format!("k{}", n % 2))
        };
        let last = append_all(&store, (0..40).map(event)).await;
        let poison = Poison::of([poisoned]);
        let running = start(bundle(&store).component(Both(poison.script())).executor(lanes(2))).await;
        settled(&running, &last).await;
        let (stands, goes_on) = (format!("k{poisoned}"), format!("k{}", 1 - poisoned));
        assert_eq!(poison.of_key(&goes_on), every(2, 1 - poisoned, 40));
        assert!(poison.of_key(&stands).is_empty());
        poison.heal(poisoned);
        running.consumers().remove(0).redrive(LetterFilter::all()).await.unwrap();
        no_letters(&running).await;
        assert_eq!(poison.of_key(&stands), every(2, poisoned, 40));
        stop(running).await;
    }
}

#[tokio::test]
async fn transient_letters_are_tried_again_by_themselves() {
    let store = MemoryStore::new();
    let healed = Arc::new(AtomicU64::new(0));
    let handled: Journal<u64> = Journal::default();
    let (heal, journal) = (Arc::clone(&healed), handled.clone());
    let script = Script::new(move |call: Call| {
        let (heal, journal) = (Arc::clone(&heal), journal.clone());
        async move {
            match call.n % 4 {
                // For want of something outside, until that is there again.
                0 if heal.load(Ordering::SeqCst) == 0 => Err(HandlerError::transient("down").into()),
                // For good.
                1 => Err(HandlerError::permanent("poison").into()),
                _ => {
                    journal.push(call.n);
                    Ok(Flow::Continue)
                }
            }
        }
    });
    let last = append(&store, 0..40, 4).await;
    let builder = bundle(&store).component(Pooled(script)).executor(lanes(4)).checkpoint_mode(CheckpointMode::OnStart);
    let builder = builder.redrive_transient::<Pooled>(Duration::from_millis(20));
    let running = start(builder.dead_letter::<Pooled>(DeadLetterPolicy::Park)).await;
    settled(&running, &last).await;
    let consumer = running.consumers().remove(0);
    let down = |dead: &StoredDeadLetter| dead.letter.error == "down" && dead.letter.attempts > 4;
    while !dead_letters(&running).await.iter().any(down) {
        tokio::task::yield_now().await;
    }
    assert_eq!(dead_letters(&running).await.len(), 20);
    healed.store(1, Ordering::SeqCst);
    // The first one is tried again, and everything of its key with it; what is poison stays.
    while dead_letters(&running).await.len() > 10 {
        tokio::task::yield_now().await;
    }
    assert!(dead_letters(&running).await.iter().all(|dead| dead.letter.event.key.as_deref() == Some("k1")));
    assert_eq!(handled.all().into_iter().filter(|n| n % 4 == 0).collect::<Vec<_>>(), every(4, 0, 40));
    assert_eq!((consumer.status().parked_keys, consumer.status().parked_events), (1, 10));
    assert_eq!(dead_letters(&running).await[0].letter.attempts, 1);
    stop(running).await;
}

#[tokio::test]
async fn what_is_discarded_lets_the_rest_of_its_key_go_on() {
    for (parallel, mode) in WAYS {
        let store = MemoryStore::new();
        let last = append(&store, 0..10, 2).await;
        let poison = Poison::of([0, 4]);
        let running = start(parking(bundle(&store), &poison, parallel, mode)).await;
        settled(&running, &last).await;
        let consumer = running.consumers().remove(0);
        let queue = Arc::clone(&running.store().stores.dead_letters);
        let discard = async |position| {
            let which = LetterFilter::at(Position::from_u64(position));
            assert_eq!(queue.discard(consumer.id(), &which).await.unwrap(), 1);
        };
        // One that waits is left out; the one that was given up is what the others wait for.
        discard(3).await;
        evento_tests::eventually("the owner knows", || consumer.status().parked_events == 4).await;
        assert!(poison.of_key("k0").is_empty());
        discard(1).await;
        evento_tests::eventually("it goes on to the next that fails", || consumer.status().counters.failed == 2).await;
        discard(5).await;
        no_letters(&running).await;
        evento_tests::eventually("the key is free", || consumer.status().parked_keys == 0).await;
        assert_eq!(poison.of_key("k0"), [6, 8]);
        let last = append(&store, 10..12, 2).await;
        settled(&running, &last).await;
        assert_eq!(poison.of_key("k0"), [6, 8, 10]);
        stop(running).await;
    }
}
