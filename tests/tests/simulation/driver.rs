//! One seed: three instances come and go, events arrive, operators interfere; then everything is healed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use evento_runtime::bundle::RunError;
use evento_runtime::cluster::LeaseRenewal;
use evento_runtime::consumer::SeekTo;
use evento_runtime::event::EventId;
use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::store::{Lease, LetterFilter};
use evento_runtime::{Bundle, CheckpointMode, Expected, NewEvent, Position, Running};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::consumers::{Book, Closed, Component, Fast, Free, Lanes, Made, Mixed, Sequential, Stand, Story, Watch};
use crate::fate::Shape;
use crate::history::{CAPACITY, number};
use crate::instance::Instance;
use crate::planted::{Leaky, Plant};
use crate::spi::Spi;
use crate::world::{BUNDLE, Figures, WallClock, World};

/// Healed, everything is settled within this time: the longest back-off and a lease, with room.
const HEALED_WITHIN: Duration = Duration::from_secs(150);

/// In microseconds.
const HOUR: i64 = 3_600_000_000;

/// What a run has shown.
pub(crate) struct Outcome {
    pub(crate) broken: Vec<String>,
    pub(crate) figures: Figures,
    pub(crate) story: Vec<String>,
}

impl Outcome {
    pub(crate) fn summary(&self) -> String {
        self.figures.to_string()
    }
}

/// Runs one seed on a runtime of its own.
pub(crate) fn simulate(seed: u64, plant: Option<Plant>, tell: bool) -> Outcome {
    let run = || {
        // Jitter comes from here, on this thread.
        fastrand::seed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let world = runtime.block_on(async {
            let world = World::new(Shape::of(seed), plant, tell);
            Driver::new(Arc::clone(&world)).run().await;
            world
        });
        // Before the runtime ends: it drops what still runs in any order.
        let outcome = world.history().outcome();
        drop(runtime);
        outcome
    };
    std::panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Outcome {
        broken: vec![format!("the simulation of seed {seed} has panicked")],
        figures: Figures::default(),
        story: Vec::new(),
    })
}

type Starting = JoinHandle<Result<Running, RunError>>;

/// Where an instance is in its life.
enum Life {
    Down(Instant),
    Starting(Starting),
    Up(Box<Running>),
    Stopping(JoinHandle<Result<(), RunError>>),
}

struct Slot {
    instance: Arc<Instance>,
    executors: Vec<Arc<dyn ConsumerExecutor>>,
    life: Life,
}

struct Driver {
    world: Arc<World>,
    slots: Vec<Slot>,
    instances: usize,
    next_event: u64,
}

impl Driver {
    fn new(world: Arc<World>) -> Self {
        let down =
            |id| Slot { instance: Instance::new(id, &world), executors: Vec::new(), life: Life::Down(Instant::now()) };
        let slots = (0..3).map(down).collect();
        Self { world, slots, instances: 3, next_event: 1 }
    }

    fn chance(&self, to: u64) -> u64 {
        self.world.chance().u64(0..to)
    }

    fn is_broken(&self) -> bool {
        !self.world.history().broken.is_empty()
    }

    async fn run(mut self) {
        for _ in 0..self.world.shape.steps {
            self.live();
            self.interfere().await;
            let pause = match self.chance(10) {
                0..5 => self.chance(100),
                5..9 => self.chance(2_000),
                _ => self.chance(15_000),
            };
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if self.is_broken() {
                return;
            }
        }
        self.heal().await;
    }

    /// What dies is begun again, what is down comes up.
    fn live(&mut self) {
        for at in 0..self.slots.len() {
            let now = Instant::now();
            let again = if self.world.is_troubled() { self.chance(12_000) } else { 0 };
            let slot = &mut self.slots[at];
            let life = std::mem::replace(&mut slot.life, Life::Down(now));
            slot.life = match life {
                Life::Down(until) if now >= until => {
                    self.begin(at);
                    continue;
                }
                // Dropped where it stands; nothing of it has an effect any more.
                Life::Starting(_) | Life::Up(_) | Life::Stopping(_) if slot.instance.is_dead() => {
                    Life::Down(now + Duration::from_millis(again))
                }
                Life::Starting(starting) if starting.is_finished() => {
                    match futures_util::FutureExt::now_or_never(starting) {
                        Some(Ok(Ok(running))) => Life::Up(Box::new(running)),
                        Some(Ok(Err(_))) => {
                            slot.instance.die("it could not start");
                            Life::Down(now + Duration::from_secs(1))
                        }
                        gone => panic!("{:?}", gone.map(|gone| gone.map(|_| ()))),
                    }
                }
                Life::Stopping(stopping) if stopping.is_finished() => {
                    slot.instance.die("it has stopped");
                    Life::Down(now + Duration::from_millis(again))
                }
                life => life,
            };
        }
    }

    fn begin(&mut self, at: usize) {
        let instance = Instance::new(self.instances, &self.world);
        self.instances += 1;
        let leaky = self.world.plant == Some(Plant::LeakedPermit);
        let executors: Vec<Arc<dyn ConsumerExecutor>> =
            [ConsumerExecutors::partitioned("lanes", CAPACITY), ConsumerExecutors::tasks("pool", CAPACITY)]
                .into_iter()
                .map(|inner| match leaky {
                    true => Arc::new(Leaky { inner, instance: Arc::clone(&instance) }) as Arc<dyn ConsumerExecutor>,
                    false => inner,
                })
                .collect();
        let shape = &self.world.shape;
        let bundle = Bundle::builder(BUNDLE)
            .store(Spi(Arc::clone(&instance)))
            .clock(Arc::new(WallClock(Arc::clone(&self.world))))
            .lease_renewal(LeaseRenewal::Runtime)
            .executor(Arc::clone(&executors[0]))
            .executor(Arc::clone(&executors[1]))
            .checkpoint_mode(CheckpointMode::Watermark)
            .component_checkpoint_mode::<Fast>(CheckpointMode::OnStart)
            .window(shape.window)
            .checkpoint_every(shape.checkpoint_every)
            .checkpoint_interval(shape.checkpoint_interval)
            .page(shape.page)
            .look_ahead(shape.look_ahead)
            .parked_queue(shape.parked_queue)
            .component(Sequential(Arc::clone(&instance)))
            .component(Lanes(Arc::clone(&instance)))
            .component(Free(Arc::clone(&instance)))
            .component(Fast(Arc::clone(&instance)))
            .component(Mixed(Arc::clone(&instance)))
            .component(Story(Arc::clone(&instance)))
            .component(Watch(Arc::clone(&instance)))
            .component(Book(Arc::clone(&instance)))
            .component(Stand(Arc::clone(&instance)))
            .claim_expiry(Duration::from_secs(5))
            .build()
            .unwrap();
        self.world.history().tell(|| format!("#{} starts", instance.id));
        self.slots[at] = Slot { instance, executors, life: Life::Starting(tokio::spawn(bundle.start())) };
    }

    async fn interfere(&mut self) {
        match self.chance(100) {
            0..45 => self.append().await,
            45..53 => self.crash(),
            53..59 => self.stop().await,
            59..65 => self.expire(),
            65..71 => self.freeze(),
            71..74 => self.jump().await,
            74..77 => self.set_wall_clock(),
            77..86 => self.steer(),
            86..92 => self.redrive().await,
            _ => {}
        }
    }

    async fn append(&mut self) {
        let events: Vec<NewEvent> = (0..=self.chance(8))
            .map(|_| {
                let n = self.next_event;
                self.next_event += 1;
                // Some have no key, and no order.
                let key = self.chance(self.world.shape.keys + 1);
                let key = if key == self.world.shape.keys { String::new() } else { format!("k{key}") };
                let order = key.clone();
                let event = match self.chance(5) {
                    0 => NewEvent::from(Closed { n, order }),
                    _ => NewEvent::from(Made { n, order }),
                };
                // By its number, so that what is made of it repeats itself too.
                let event = event.id(EventId::foreign("simulation", &n.to_string()));
                if key.is_empty() { event } else { event.key(key) }
            })
            .collect();
        self.world.truth.append(None::<String>, Expected::Any, events).await.unwrap();
        self.world.read_log();
    }

    fn pick(&self) -> &Slot {
        &self.slots[usize::try_from(self.chance(3)).unwrap()]
    }

    fn component(&self) -> Component {
        Component::ALL[usize::try_from(self.chance(Component::ALL.len() as u64)).unwrap()]
    }

    fn crash(&self) {
        let slot = self.pick();
        if !matches!(slot.life, Life::Down(_)) {
            self.world.history().figures.crashes += 1;
            slot.instance.die("killed");
        }
    }

    async fn stop(&mut self) {
        let deadline = Duration::from_millis(self.chance(8_000));
        let at = usize::try_from(self.chance(3)).unwrap();
        self.stop_one(at, deadline).await;
    }

    async fn stop_one(&mut self, at: usize, deadline: Duration) {
        let slot = &mut self.slots[at];
        if slot.instance.is_dead() || !matches!(slot.life, Life::Up(_)) {
            return;
        }
        let Life::Up(running) = std::mem::replace(&mut slot.life, Life::Down(Instant::now())) else { return };
        self.world.history().tell(|| format!("#{} is stopped within {deadline:?}", slot.instance.id));
        if self.world.plant == Some(Plant::ReleasedBeforeDrain) {
            let lock = Arc::clone(&running.store().stores.lock);
            let leases: Vec<Lease> = slot.instance.leases();
            tokio::spawn(async move {
                for lease in leases {
                    drop(lock.release(&lease).await);
                }
            });
        }
        slot.life = Life::Stopping(tokio::spawn(running.stop(deadline)));
    }

    /// The clock of the store runs ahead: somebody's time is over, and he does not know.
    fn expire(&self) {
        let leases = self.pick().instance.leases();
        if let Some(lease) = self.world.chance().choice(&leases) {
            self.world.history().tell(|| format!("epoch {} of {} expires", lease.epoch, lease.consumer.component));
            self.world.expire(lease);
        }
    }

    fn freeze(&self) {
        let time = Duration::from_millis(self.chance(20_000));
        let instance = &self.pick().instance;
        self.world.history().tell(|| format!("#{} is frozen for {time:?}", instance.id));
        instance.freeze(time);
    }

    async fn jump(&self) {
        let by = Duration::from_millis(self.chance(20_000));
        // What was begun before the jump has its turn before it, so that nothing is judged by a time it did not see.
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
        self.world.history().tell(|| format!("time jumps by {by:?}"));
        tokio::time::advance(by).await;
    }

    fn set_wall_clock(&self) {
        self.world.set_wall_clock(self.world.chance().i64(-HOUR..HOUR));
    }

    /// An operator pauses, resumes, skips or seeks, and does not wait for the answer.
    fn steer(&self) {
        let (component, what) = (self.component(), self.chance(8));
        let last = self.world.history().seen();
        let to = self.chance(last + 1);
        let Life::Up(running) = &self.pick().life else { return };
        let handles = running.consumers();
        let handle = handles.into_iter().find(|handle| *handle.id().component == *component.name()).unwrap();
        self.world.history().tell(|| format!("{component:?} is steered: {what}"));
        if what == 7 && to > 0 {
            self.world.history().wants_to_seek(component, to);
        }
        tokio::spawn(async move {
            match what {
                0..3 => drop(handle.pause().await),
                3..7 => drop(handle.resume().await),
                // Back is refused: no component has a hook for it.
                _ if to > 0 => drop(handle.seek(SeekTo::After(Position::from_u64(to))).await),
                _ => {}
            }
        });
    }

    async fn redrive(&self) {
        let mut component = self.component();
        if self.chance(3) == 0 {
            component = Component::Stand;
            self.world.heal_to(self.chance(self.next_event));
        }
        let id = World::consumer(component);
        let marked = self.world.truth.stores.dead_letters.request(&id, &LetterFilter::all()).await.unwrap();
        self.world.history().tell(|| format!("{marked} dead letters of {component:?} are to be tried again"));
    }

    /// Nothing fails any more: everything is settled, and stops in order.
    async fn heal(&mut self) {
        self.world.heal();
        // Later than any instance's clock has been: what is to come later is due.
        self.world.set_wall_clock(3 * HOUR);
        self.world.history().tell(|| "healed".to_owned());
        for slot in &self.slots {
            slot.instance.freeze(Duration::ZERO);
        }
        let redrive = self.chance(2) == 0;
        for component in Component::ALL {
            let id = World::consumer(component);
            self.world.truth.stores.state.set_enabled(&id, true).await.unwrap();
            if redrive {
                self.world.truth.stores.dead_letters.request(&id, &LetterFilter::all()).await.unwrap();
            }
        }
        let deadline = Instant::now() + HEALED_WITHIN;
        while let Some(behind) = self.behind().await {
            if self.is_broken() {
                return;
            }
            if Instant::now() > deadline {
                let (law, what) = behind;
                return self.world.history().blame(law, || format!("healed for {HEALED_WITHIN:?}, still {what}"));
            }
            self.live();
            // An operator's wish may have been on its way for a while.
            for component in Component::ALL {
                let id = World::consumer(component);
                self.world.truth.stores.state.set_enabled(&id, true).await.unwrap();
                // Neither does an attempt count that was told to stop.
                if component.parks() {
                    self.world.truth.stores.dead_letters.request(&id, &LetterFilter::all()).await.unwrap();
                }
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.end().await;
        let sagas = &self.world.truth.stores.sagas;
        let live = sagas.instances(&World::consumer(Component::Story), None, usize::MAX).await.unwrap();
        self.world.history().judge_the_end(&live);
    }

    /// What is not done yet.
    async fn behind(&self) -> Option<(&'static str, String)> {
        if let Some(slot) = self.slots.iter().find(|slot| !matches!(slot.life, Life::Up(_))) {
            return Some(("G17", format!("#{} is not up", slot.instance.id)));
        }
        self.world.read_log();
        let head = self.world.history().seen();
        for component in Component::ALL {
            let id = World::consumer(component);
            let stored = self.world.truth.stores.state.load(&id).await.unwrap().checkpoint.unwrap_or_default();
            let asked = self.world.truth.stores.dead_letters.requested(&id, 1).await.unwrap();
            if number(stored.watermark.as_ref()) < head || !stored.open.is_empty() || !asked.is_empty() {
                let reasons = self.reasons(component);
                return Some(("G17", format!("{component:?} stands at {stored:?} of {head}: {reasons}")));
            }
            let parked = self.world.truth.stores.dead_letters.parked(&id).await.unwrap();
            if let Some(row) = parked.first() {
                let (parked, reasons) = (parked.len(), self.reasons(component));
                return Some(("G12", format!("{parked} events are parked, the first is {}: {reasons}", row.position)));
            }
        }
        let timers = self.world.truth.stores.sagas.timers(&World::consumer(Component::Story), 1).await.unwrap();
        if let Some(timer) = timers.first() {
            return Some(("G18", format!("the timer of saga {} waits", timer.saga)));
        }
        // Of those who lost what they owned, handlers may run for a while.
        let mut executors = self.slots.iter().flat_map(|slot| &slot.executors);
        let out = executors.find(|executor| executor.stats().in_flight > 0)?;
        Some(("G6", format!("{} permits of {} are out", out.stats().in_flight, out.name())))
    }

    fn reasons(&self, component: Component) -> String {
        let mut reasons = Vec::new();
        for slot in &self.slots {
            let Life::Up(running) = &slot.life else { continue };
            let statuses = running.status();
            let status = statuses.iter().find(|status| *status.consumer.component == *component.name()).unwrap();
            reasons.push(format!("#{} epoch {}: {:?}", slot.instance.id, status.epoch, status.reason));
        }
        reasons.join("; ")
    }

    async fn end(&mut self) {
        for at in 0..self.slots.len() {
            self.stop_one(at, Duration::from_secs(30)).await;
        }
        for slot in &mut self.slots {
            let Life::Stopping(stopping) = std::mem::replace(&mut slot.life, Life::Down(Instant::now())) else {
                continue;
            };
            if let Err(error) = stopping.await.unwrap() {
                self.world.history().blame("G15", || format!("a stop with nothing to do failed: {error}"));
            }
        }
    }
}
