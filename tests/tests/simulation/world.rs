//! What all instances share: the store that tells the truth, the chance, the clocks, the history.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::time::Duration;

use evento_runtime::clock::Clock;
use evento_runtime::event::Timestamp;
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::source::{EventFilter, FetchLimits};
use evento_runtime::store::{Lease, MemoryStore, Store};
use evento_runtime::{Position, StoreErrorKind};
use evento_tests::ledger::Ledger;
use fastrand::Rng;
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::consumers::Component;
use crate::fate::Shape;
use crate::history::History;
use crate::planted::Plant;

/// The name of the bundle that every instance runs.
pub(crate) const BUNDLE: &str = "b";

pub(crate) struct World {
    pub(crate) shape: Shape,
    pub(crate) plant: Option<Plant>,
    pub(crate) memory: MemoryStore,
    pub(crate) ledger: Ledger,
    /// The store as it is, without faults.
    pub(crate) truth: Store,
    history: Mutex<History>,
    chance: Mutex<Rng>,
    calls: AtomicU64,
    /// Who is told of new events: a channel each, since listeners of one are woken in any order.
    hints: Mutex<Vec<watch::Sender<u64>>>,
    /// Up to which event what parks a key is healed.
    healed_to: AtomicU64,
    /// Whether anything still fails.
    trouble: AtomicBool,
    /// What the wall clock is off by, in microseconds.
    skew: AtomicI64,
    began: Instant,
}

/// What becomes of one call of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing happened.
    Before(StoreErrorKind),
    /// It took effect, and nobody is told.
    After(StoreErrorKind),
    CrashBefore,
    CrashAfter,
}

/// A call's share of trouble.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) fault: Option<Fault>,
    /// It still arrives if its process dies on the way.
    pub(crate) arrives: bool,
}

const KINDS: [StoreErrorKind; 5] = [
    StoreErrorKind::Busy,
    StoreErrorKind::Connection,
    StoreErrorKind::Unreachable,
    StoreErrorKind::Full,
    StoreErrorKind::Other,
];

impl World {
    pub(crate) fn new(shape: Shape, plant: Option<Plant>, tell: bool) -> Arc<Self> {
        let memory = MemoryStore::new();
        let began = Instant::now();
        Arc::new(Self {
            history: Mutex::new(History::new(&shape, began, tell)),
            chance: Mutex::new(Rng::with_seed(shape.seed)),
            truth: memory.store(),
            memory,
            ledger: Ledger::default(),
            shape,
            plant,
            calls: AtomicU64::new(0),
            hints: Mutex::default(),
            healed_to: AtomicU64::new(0),
            trouble: AtomicBool::new(true),
            skew: AtomicI64::new(0),
            began,
        })
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap()
    }

    pub(crate) fn chance(&self) -> MutexGuard<'_, Rng> {
        self.chance.lock().unwrap()
    }

    pub(crate) fn is_troubled(&self) -> bool {
        self.trouble.load(Ordering::Relaxed)
    }

    pub(crate) fn heal(&self) {
        self.trouble.store(false, Ordering::Relaxed);
    }

    /// Whatever makes a key stand is mended up to an event.
    pub(crate) fn heal_to(&self, n: u64) {
        self.healed_to.fetch_max(n, Ordering::Relaxed);
    }

    pub(crate) fn is_healed(&self, n: u64) -> bool {
        n <= self.healed_to.load(Ordering::Relaxed)
    }

    pub(crate) fn set_wall_clock(&self, skew: i64) {
        self.skew.store(skew, Ordering::Relaxed);
    }

    /// What becomes of the next call.
    pub(crate) fn trouble(&self) -> Trouble {
        if !self.is_troubled() {
            return Trouble::default();
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut chance = self.chance();
        let slow = |chance: &mut Rng| {
            let millis = match chance.u32(0..10) {
                0..6 => chance.u64(1..50),
                6..9 => chance.u64(50..1_000),
                _ => chance.u64(1_000..15_000),
            };
            Duration::from_millis(millis)
        };
        let mut trouble = Trouble { arrives: chance.bool(), ..Trouble::default() };
        if chance.u32(0..1_000) < self.shape.slow {
            trouble.before = slow(&mut chance);
        }
        if chance.u32(0..1_000) < self.shape.slow {
            trouble.after = slow(&mut chance);
        }
        if chance.u32(0..1_000) < self.shape.failing || self.shape.failing_call == Some(call) {
            let kind = *chance.choice(&KINDS).unwrap();
            trouble.fault = Some(match chance.u32(0..40) {
                0 => Fault::CrashBefore,
                1 => Fault::CrashAfter,
                2..20 => Fault::Before(kind),
                _ => Fault::After(StoreErrorKind::Connection),
            });
        }
        trouble
    }

    pub(crate) fn consumer(component: Component) -> ConsumerId {
        ConsumerId {
            bundle: BUNDLE.into(),
            component: component.name().into(),
            version: 1,
            context: ContextPattern::All,
        }
    }

    /// Tells the history what is in the log by now.
    pub(crate) fn read_log(&self) {
        let seen = self.history().seen();
        let after = (seen > 0).then(|| Position::from_u64(seen));
        let limits = FetchLimits { events: 10_000, bytes: usize::MAX };
        let filter = EventFilter::new(None, ContextPattern::All);
        // The store in memory never waits.
        let batch = self.truth.events.fetch(after.as_ref(), limits, &filter).now_or_never().unwrap().unwrap();
        if batch.events.is_empty() {
            return;
        }
        batch.events.iter().for_each(|event| self.history().appended(event));
        let mut hints = self.hints.lock().unwrap();
        hints.retain(|hint| !hint.is_closed());
        hints.iter().for_each(|hint| hint.send_modify(|count| *count += 1));
    }

    /// Hears of new events.
    pub(crate) fn hint(&self) -> watch::Receiver<u64> {
        let (hint, hinted) = watch::channel(0);
        self.hints.lock().unwrap().push(hint);
        hinted
    }

    /// Ends an ownership behind the back of who has it: it ran out by the clock of the store.
    pub(crate) fn expire(&self, lease: &Lease) {
        self.truth.stores.lock.release(lease).now_or_never().unwrap().unwrap();
    }
}

/// The wall clock, which jumps.
pub(crate) struct WallClock(pub(crate) Arc<World>);

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.0.began.elapsed().as_micros()).unwrap();
        Timestamp::from_micros(1_700_000_000_000_000 + elapsed + self.0.skew.load(Ordering::Relaxed))
    }
}

/// What happened, added up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    pub(crate) events: u64,
    pub(crate) handled: u64,
    pub(crate) again: u64,
    pub(crate) letters: u64,
    /// Letters that were parked behind another, and those that were handled after all.
    pub(crate) parked: u64,
    pub(crate) resolved: u64,
    pub(crate) faults: u64,
    pub(crate) crashes: u64,
    pub(crate) ownerships: u64,
    pub(crate) lost: u64,
    pub(crate) passed_on_start: u64,
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.handled += other.handled;
        self.again += other.again;
        self.letters += other.letters;
        self.parked += other.parked;
        self.resolved += other.resolved;
        self.faults += other.faults;
        self.crashes += other.crashes;
        self.ownerships += other.ownerships;
        self.lost += other.lost;
        self.passed_on_start += other.passed_on_start;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} events, {} attempts ({} in a later ownership), {} dead letters ({} parked behind others, {} handled after all), {} faults, {} crashes, \
             {} ownerships of which {} were lost, {} events passed on-start",
            self.events,
            self.handled,
            self.again,
            self.letters,
            self.parked,
            self.resolved,
            self.faults,
            self.crashes,
            self.ownerships,
            self.lost,
            self.passed_on_start
        )
    }
}

/// What a handler panics with on purpose.
pub(crate) const PLANNED: &str = "planned";

/// Panics of handlers belong to the plan and are not printed.
pub(crate) fn quiet_planned_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&PLANNED) {
                usual(info);
            }
        }));
    });
}
