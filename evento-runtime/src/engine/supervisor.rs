//! Starts the consumers of a bundle, watches them, and stops them in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::ConsumerPlan;
use super::desired::Desired;
use super::errands::Errands;
use super::error::EngineError;
use super::handle::ConsumerHandle;
use super::presence::Presence;
use super::supervision::supervise;
use super::target::Target;
use crate::clock::SharedClock;
use crate::cluster::{Keeper, LeaseRenewal};
use crate::component::Kind;
use crate::consumer::command;
use crate::consumer::{ConsumerStatus, EngineEvent, EngineEvents, ProcessorConfig, StatusCell, StopPhase};
use crate::deps::Deps;
use crate::executor::ConsumerExecutor;
use crate::outcome::Classifier;
use crate::policy::{CheckpointMode, Retention};
use crate::store::Store;
use crate::task::Tasks;

/// What is left to consumers after the deadline, to store what they know.
const LAST_WORDS: Duration = Duration::from_millis(800);

/// What a supervisor works with.
pub struct SupervisorConfig {
    /// Bundle name.
    pub bundle: String,
    /// What this instance is called.
    pub instance: Arc<str>,
    /// Log and SPIs, open.
    pub store: Store,
    /// The consumers.
    pub consumers: Vec<ConsumerPlan>,
    /// All executors of the bundle, closed at the stop.
    pub executors: Vec<Arc<dyn ConsumerExecutor>>,
    /// Provided values, the store's own included.
    pub deps: Deps,
    /// The time.
    pub clock: SharedClock,
    /// Where leases are renewed.
    pub renewal: LeaseRenewal,
    /// How long history is kept.
    pub retention: Retention,
    /// Who knows the errors of which driver.
    pub classifiers: Vec<Classifier>,
    /// Where consumers tell what happens to them.
    pub events: EngineEvents,
    /// The start is given up once its sender is gone.
    pub wanted: watch::Receiver<()>,
}

struct Running {
    handle: ConsumerHandle,
    task: JoinHandle<Vec<String>>,
    begun: Option<oneshot::Receiver<Result<(), EngineError>>>,
}

/// Who is to be told of a stop: a channel each, in order, since listeners of one are woken in any order and a simulated
/// run has to repeat itself.
#[derive(Default)]
struct StopSignals(Vec<watch::Sender<StopPhase>>);

impl StopSignals {
    fn follow(&mut self) -> watch::Receiver<StopPhase> {
        let (sender, receiver) = watch::channel(StopPhase::Run);
        self.0.push(sender);
        receiver
    }

    fn tell(&self, phase: StopPhase) {
        for follower in &self.0 {
            follower.send_replace(phase);
        }
    }
}

/// The running consumers of a bundle. Dropping it is a stop with deadline 0 that nobody waits for.
pub struct EngineSupervisor {
    bundle: String,
    store: Store,
    consumers: Vec<Running>,
    target: Target,
    executors: Arc<[Arc<dyn ConsumerExecutor>]>,
    stop: StopSignals,
    stopping: watch::Receiver<StopPhase>,
    events: EngineEvents,
    tasks: Tasks,
    keeper: Option<Arc<Keeper>>,
}

impl EngineSupervisor {
    /// Starts every consumer, and waits until each works, stands by, or was refused by its `#[on_start]` hook.
    ///
    /// # Errors
    /// A hook failed, the store did, or the system gives no thread. Then everything is stopped again.
    ///
    /// # Cancel safety
    /// Dropping the future stops what was started.
    pub async fn start(config: SupervisorConfig) -> Result<Self, EngineError> {
        let keeper = Arc::new(Keeper::start(Arc::clone(&config.store.stores.lock), config.renewal)?);
        let mut stop = StopSignals::default();
        let tasks = Tasks::default();
        let events = config.events;
        let classifiers: Arc<[Classifier]> = config.classifiers.into();
        let stores = config.store.stores.clone();
        let remembers = |plan: &&ConsumerPlan| plan.engine.kind() != Kind::Projector;
        let remembered = config.consumers.iter().find(remembers).map(|plan| plan.settings.dedupe_window);
        let one_store = config.store.is_one();
        let (desired, mut house) = Desired::of(
            config.consumers.len(),
            &config.bundle,
            &config.instance,
            &config.store,
            stop.follow(),
            remembered,
            config.retention,
        );
        let house = tasks
            .run(async move {
                house.look().await;
                house
            })
            .await;
        let target = Target::default();
        let consumers: Vec<Running> = config
            .consumers
            .into_iter()
            .zip(desired)
            .map(|(plan, desired)| {
                let status = StatusCell::new(Arc::clone(&plan.id));
                let target = plan.wait_for_head.then(|| target.clone());
                let covers_at_start = plan.mode == CheckpointMode::OnStart
                    && plan.handlers.iter().any(|handler| handler.executor.is_some());
                let processor = ProcessorConfig {
                    plan: Arc::new(plan),
                    source: Arc::clone(&config.store.events) as _,
                    state: Arc::clone(&config.store.stores.state),
                    one_store,
                    deps: config.deps.clone(),
                    clock: Arc::clone(&config.clock),
                    classifiers: Arc::clone(&classifiers),
                    tasks: tasks.clone(),
                    handlers: TaskTracker::new(),
                    status: status.clone(),
                    events: events.clone(),
                    stop: stop.follow(),
                    dead_letters: Arc::clone(&stores.dead_letters),
                    wishes: desired.wishes.clone(),
                };
                let (tell, begun) = oneshot::channel();
                let (commands, desk) = command::channel();
                let handle = ConsumerHandle {
                    desk: desk.clone(),
                    target,
                    id: Arc::clone(&processor.plan.id),
                    executors: executor_names(&processor.plan),
                    source: Arc::clone(&processor.source),
                    status,
                    commands,
                    desired,
                    stores: stores.clone(),
                    tasks: tasks.clone(),
                    covers_at_start,
                };
                let lock = Arc::clone(&stores.lock);
                let task = tasks.spawn(supervise(processor, lock, Arc::clone(&keeper), desk, tell));
                Running { handle, task, begun: Some(begun) }
            })
            .collect();
        let handles = || consumers.iter().map(|consumer| consumer.handle.clone());
        let owner = stores.lock.owner();
        let presence = Presence::of(config.instance.to_string(), owner, handles().collect(), config.executors.clone());
        tasks.spawn(house.keep(Errands::of(handles()), presence));
        let stopping = stop.follow();
        let mut supervisor = Self {
            target,
            bundle: config.bundle,
            store: config.store,
            consumers,
            executors: config.executors.into(),
            stop,
            stopping,
            events,
            tasks,
            keeper: Some(keeper),
        };
        let mut wanted = config.wanted;
        let begun = tokio::select! {
            biased;
            begun = supervisor.all_begun() => begun,
            _ = wanted.changed() => Err(EngineError::GivenUp),
        };
        let begun = match begun {
            Ok(()) => supervisor.look_at_the_head().await,
            Err(error) => Err(error),
        };
        match begun {
            Ok(()) => Ok(supervisor),
            Err(error) => {
                // Nothing of value runs yet; what the hook said counts, not how the stop went.
                let _ = supervisor.stop(LAST_WORDS).await;
                Err(error)
            }
        }
    }

    async fn all_begun(&mut self) -> Result<(), EngineError> {
        let begun = self.consumers.iter_mut().filter_map(|consumer| consumer.begun.take());
        // A task that died before it said anything is begun again by its supervision.
        let begun = begun.map(|begun| async { begun.await.unwrap_or(Ok(())) });
        try_join_all(begun).await.map(|_| ())
    }

    /// What consumers with `wait_for_head` are to settle before they are ready.
    async fn look_at_the_head(&self) -> Result<(), EngineError> {
        if self.consumers.iter().any(|consumer| consumer.handle.target.is_some()) {
            let events = Arc::clone(&self.store.events);
            self.target.set(self.tasks.run(async move { events.newest().await }).await?);
        }
        Ok(())
    }

    /// Waits until every consumer with `wait_for_head` has settled what was in the log at the start. Cancel-safe.
    pub async fn ready(&self) {
        join_all(self.consumers.iter().map(|consumer| is_ready(&consumer.handle))).await;
    }

    /// The consumers as they are now, sorted.
    #[must_use]
    pub fn status(&self) -> Vec<ConsumerStatus> {
        self.consumers.iter().map(|consumer| consumer.handle.status()).collect()
    }

    /// What happens to the consumers from now on: ownership gained and lost, dead letters, stalls.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.events.subscribe()
    }

    /// The executors of the bundle. Shared with nobody else: who holds it weakly sees when the bundle is gone.
    #[must_use]
    pub const fn executors(&self) -> &Arc<[Arc<dyn ConsumerExecutor>]> {
        &self.executors
    }

    /// Tells whoever shows the bundle that it stops.
    #[must_use]
    pub fn stopping(&self) -> watch::Receiver<StopPhase> {
        self.stopping.clone()
    }

    /// How many tasks the engines have spawned so far.
    #[must_use]
    pub fn tasks_spawned(&self) -> u64 {
        self.tasks.spawned()
    }

    /// The consumers, to be steered, sorted.
    #[must_use]
    pub fn consumers(&self) -> Vec<ConsumerHandle> {
        self.consumers.iter().map(|consumer| consumer.handle.clone()).collect()
    }

    /// Where each consumer shows itself, sorted.
    #[must_use]
    pub fn status_cells(&self) -> Vec<StatusCell> {
        self.consumers.iter().map(|consumer| consumer.handle.status.clone()).collect()
    }

    /// No handler starts after this; running ones finish within `deadline`; then checkpoint, release, close.
    ///
    /// # Errors
    /// [`EngineError::Stragglers`]: the deadline came first; no outcome is recorded for them, and their leases are left
    /// to expire.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the stop to go on by itself.
    pub async fn stop(mut self, deadline: Duration) -> Result<(), EngineError> {
        let deadline = Instant::now() + deadline;
        let mut left: BTreeMap<String, JoinHandle<Vec<String>>> = std::mem::take(&mut self.consumers)
            .into_iter()
            .map(|consumer| (consumer.handle.id.to_string(), consumer.task))
            .collect();
        let mut stragglers = Vec::new();
        for (phase, until) in [(StopPhase::Drain, deadline), (StopPhase::Abandon, deadline + LAST_WORDS)] {
            self.stop.tell(phase);
            join_until(&mut left, until, &mut stragglers).await;
        }
        stragglers.extend(left.into_keys().map(|consumer| format!("{consumer}: still storing")));
        if stragglers.is_empty() {
            // Nothing of ours runs any more. What a third party's executor or a dead connection still holds up is
            // not worth the deadline.
            let quiet = async {
                join_all(self.executors.iter().map(|executor| executor.close())).await;
                self.tasks.join().await;
            };
            tokio::select! {
                biased;
                () = quiet => {}
                () = tokio::time::sleep_until(deadline + LAST_WORDS) => {}
            }
        }
        self.end_keeper().await;
        if stragglers.is_empty() {
            tracing::info!(bundle = self.bundle, "stopped");
            return Ok(());
        }
        stragglers.sort();
        tracing::warn!(bundle = self.bundle, stragglers = stragglers.join(", "), "stopped at the deadline");
        Err(EngineError::Stragglers { stragglers })
    }

    async fn end_keeper(&mut self) {
        // With stragglers their tasks may share it still; then it ends by itself.
        if let Some(keeper) = self.keeper.take().and_then(Arc::into_inner) {
            keeper.close().await;
        }
    }
}

impl Drop for EngineSupervisor {
    fn drop(&mut self) {
        if !self.consumers.is_empty() {
            self.stop.tell(StopPhase::Abandon);
        }
    }
}

/// The executors that handlers of a consumer name, each once, in the order of the handlers.
fn executor_names(plan: &ConsumerPlan) -> Arc<[String]> {
    let mut names: Vec<String> = Vec::new();
    for executor in plan.handlers.iter().filter_map(|handler| handler.executor.as_ref()) {
        if !names.iter().any(|known| known == executor.name()) {
            names.push(executor.name().to_owned());
        }
    }
    names.into()
}

/// Collects what ends before `until`; the rest stays.
async fn join_until(
    left: &mut BTreeMap<String, JoinHandle<Vec<String>>>,
    until: Instant,
    stragglers: &mut Vec<String>,
) {
    let over = tokio::time::sleep_until(until);
    tokio::pin!(over);
    while let Some(mut first) = left.first_entry() {
        tokio::select! {
            biased;
            ended = first.get_mut() => {
                // A loop that panicked has left nothing running.
                stragglers.extend(ended.unwrap_or_default());
                first.remove();
            }
            () = &mut over => return,
        }
    }
}

async fn is_ready(handle: &ConsumerHandle) {
    let Some(target) = &handle.target else { return };
    let mut status = handle.status.subscribe();
    // The sender lives as long as the consumer; a stop ends the wait.
    let _ = status.wait_for(|status| target.is_reached(status)).await;
}
