//! What one says about a bundle. Every call remembers its own line, so that a problem can point at it.

use std::any::Any;
use std::panic::Location as Caller;
use std::sync::Arc;
use std::time::Duration;

use super::config::{self, Config};
use super::discover::{Draft, Registry};
use super::report::{LaunchError, Report};
use super::settings::{Defaults, ForComponent, Origin, What};
use super::{Bundle, launch};
use crate::clock::{Clock, SharedClock, SystemClock};
use crate::cluster::LeaseRenewal;
use crate::component::{Component, ComponentDef, Location};
use crate::consumer::{DispatchContext, EngineEvent, Listener, Telemetry, Tracer};
use crate::deps::{Deps, Need};
use crate::engine::ConsumerEngineConfig;
use crate::executor::ConsumerExecutor;
use crate::interceptor::Interceptor;
use crate::policy::{CheckpointMode, DeadLetterPolicy};
use crate::store::StoreConfig;

/// Default of [`BundleBuilder::stop_deadline`].
pub const DEFAULT_STOP_DEADLINE: Duration = Duration::from_secs(30);

/// A bundle being put together. No call fails; [`build`](Self::build) tells everything that is wrong at once.
///
/// A setting for one component (`.component_…::<T>(..)`) wins over its attribute, an attribute over the bundle's
/// setting for all, and that over the built-in value. Said twice, the later call counts. What [`config`](Self::config)
/// says of one component wins over all of these, what it says for all over the bundle's setting for all.
#[must_use = "a builder does nothing until `build`"]
pub struct BundleBuilder {
    pub(super) name: String,
    pub(super) at: Location,
    pub(super) instance: Option<(String, Location)>,
    pub(super) discover: Option<Location>,
    pub(super) modules: Vec<(String, Location)>,
    pub(super) given: Vec<Given>,
    pub(super) deps: Deps,
    pub(super) provided: Vec<(Need, Location)>,
    pub(super) expected: Vec<(&'static ComponentDef, Location)>,
    pub(super) stores: Vec<(Box<dyn StoreConfig>, Location)>,
    pub(super) executors: Vec<(Arc<dyn ConsumerExecutor>, Location)>,
    pub(super) dispatch: DispatchContext,
    pub(super) listeners: Vec<Listener>,
    pub(super) defaults: Defaults,
    pub(super) config: Config,
    pub(super) for_components: Vec<ForComponent>,
    pub(super) forget: Vec<(String, u32, Location)>,
    pub(super) clock: SharedClock,
    pub(super) renewal: LeaseRenewal,
    pub(super) stop_deadline: Duration,
    /// Instead of what is linked into the binary.
    pub(super) registry: Option<Registry>,
}

/// A component named by type.
pub(super) struct Given {
    pub(super) def: &'static ComponentDef,
    pub(super) value: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) at: Location,
}

#[track_caller]
const fn here() -> Location {
    let caller = Caller::caller();
    Location { file: caller.file(), line: caller.line() }
}

impl BundleBuilder {
    #[track_caller]
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            at: here(),
            instance: None,
            discover: None,
            modules: Vec::new(),
            given: Vec::new(),
            deps: Deps::default(),
            provided: Vec::new(),
            expected: Vec::new(),
            stores: Vec::new(),
            executors: Vec::new(),
            dispatch: DispatchContext::default(),
            listeners: Vec::new(),
            defaults: Defaults::default(),
            config: Config::default(),
            for_components: Vec::new(),
            forget: Vec::new(),
            clock: Arc::new(SystemClock),
            renewal: LeaseRenewal::default(),
            stop_deadline: DEFAULT_STOP_DEADLINE,
            registry: None,
        }
    }

    /// What this instance is called in metrics, on pages and in the audit; one process or machine among those that run
    /// this bundle. Default: `EVENTO_INSTANCE`, else the name of the host. It decides nothing: ownership goes by a random
    /// identity of its own.
    #[track_caller]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = Some((name.into(), here()));
        self
    }

    /// Takes in every annotated component that is linked into the binary.
    ///
    /// A crate that is listed in `Cargo.toml` and never named is not linked: name it with
    /// `evento_runtime::link!(its_name);`.
    #[track_caller]
    pub fn discover(mut self) -> Self {
        self.discover = Some(here());
        self
    }

    /// Narrows [`discover`](Self::discover) to components inside of this module, as `module_path!()` names it:
    /// `orders::views`. Several calls add up.
    #[track_caller]
    pub fn module(mut self, prefix: impl Into<String>) -> Self {
        self.modules.push((prefix.into(), here()));
        self
    }

    /// Takes in one component, and the free functions that joined it. Together with [`discover`](Self::discover) it
    /// is still there once. Works where discovery cannot (static libraries, wasm, plugins).
    #[track_caller]
    pub fn register<T: Component>(mut self) -> Self {
        self.given.push(Given { def: T::DEF, value: None, at: here() });
        self
    }

    /// Takes in one component whose value is made already; its constructor is not called.
    #[track_caller]
    pub fn component<T: Component>(mut self, value: T) -> Self {
        self.given.push(Given { def: T::DEF, value: Some(Arc::new(value)), at: here() });
        self
    }

    /// Gives a value to constructors, to `Dep<T>` and to hooks, found by its type. Each attempt takes a
    /// clone; wrap in an `Arc` what is not cheap to clone.
    #[track_caller]
    pub fn provide<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.deps.insert(value);
        self.provided.push((Need::of::<T>(), here()));
        self
    }

    /// The launch fails if this component is not part of the bundle: for a set that must be complete.
    #[track_caller]
    pub fn expect<T: Component>(mut self) -> Self {
        self.expected.push((T::DEF, here()));
        self
    }

    /// Where events are read from and progress is kept. Configuration: opened by `start`, not by `build`.
    #[track_caller]
    pub fn store(mut self, store: impl StoreConfig) -> Self {
        self.stores.push((Box::new(store), here()));
        self
    }

    /// As [`store`](Self::store), with every part given by itself.
    #[track_caller]
    pub fn engine(self, config: ConsumerEngineConfig) -> Self {
        self.store(config)
    }

    /// Registers an executor under its own name; see [`ConsumerExecutors`](crate::executor::ConsumerExecutors).
    /// The bundle closes it when it stops.
    #[track_caller]
    pub fn executor(mut self, executor: impl ConsumerExecutor) -> Self {
        self.executors.push((Arc::new(executor), here()));
        self
    }

    /// Runs around every attempt of every handler. The first one registered is the outermost.
    pub fn interceptor(mut self, interceptor: impl Interceptor) -> Self {
        self.dispatch.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Makes the span of each attempt. Default: [`DebugSpans`](crate::consumer::DebugSpans).
    pub fn tracer(mut self, tracer: impl Tracer) -> Self {
        self.dispatch.tracer = Some(Arc::new(tracer));
        self
    }

    /// Is told what the engine does, to count it. Default: nobody is, which costs nothing.
    pub fn telemetry(mut self, telemetry: impl Telemetry) -> Self {
        self.dispatch.telemetry = Some(Arc::new(telemetry));
        self
    }

    /// Tracer, telemetry and interceptors together. What is given in it takes the place of a tracer or telemetry given
    /// before; its interceptors come behind those given before.
    pub fn dispatch(mut self, context: DispatchContext) -> Self {
        self.dispatch.tracer = context.tracer.or(self.dispatch.tracer);
        self.dispatch.telemetry = context.telemetry.or(self.dispatch.telemetry);
        self.dispatch.interceptors.extend(context.interceptors);
        self
    }

    /// When handlers of projectors with an executor count as covered. Default [`CheckpointMode::OnStart`]. Sagas,
    /// observers and components with a handler that takes a [`Tx`](crate::Tx) are covered once they are settled, in every
    /// mode.
    #[track_caller]
    pub fn checkpoint_mode(mut self, mode: CheckpointMode) -> Self {
        self.defaults.mode = Some((mode, Origin::Builder(here())));
        self
    }

    /// [`checkpoint_mode`](Self::checkpoint_mode) of one projector.
    #[track_caller]
    pub fn component_checkpoint_mode<T: Component>(self, mode: CheckpointMode) -> Self {
        self.said::<T>("component_checkpoint_mode", What::Mode(mode), here())
    }

    /// The contexts one component reads: `*`, `tenant-*` or whole contexts, one consumer each. Default `*`.
    #[track_caller]
    pub fn component_contexts<T: Component>(self, contexts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let contexts = contexts.into_iter().map(Into::into).collect();
        self.said::<T>("component_contexts", What::Contexts(contexts), here())
    }

    /// Whether `start` waits until this component has settled what was in the log. Default `false`.
    #[track_caller]
    pub fn wait_for_head<T: Component>(self, wait: bool) -> Self {
        self.said::<T>("wait_for_head", What::WaitForHead(wait), here())
    }

    /// What becomes of the later events of a key once one of them was given to the dead letters. Default
    /// [`DeadLetterPolicy::Skip`]: they go on. [`DeadLetterPolicy::Park`] keeps the order of the key: they queue behind it,
    /// and are handled after it when it is [tried again](crate::engine::ConsumerHandle::redrive). Of a saga it is the instance
    /// that stands.
    #[track_caller]
    pub fn dead_letter<T: Component>(self, policy: DeadLetterPolicy) -> Self {
        self.said::<T>("dead_letter", What::DeadLetter(policy), here())
    }

    /// Has dead letters of one component tried again by themselves, so long after their last failure, if that was a
    /// transient one. Default: never; somebody has to [ask](crate::engine::ConsumerHandle::redrive).
    #[track_caller]
    pub fn redrive_transient<T: Component>(self, every: Duration) -> Self {
        self.said::<T>("redrive_transient", What::RedriveTransient(every), here())
    }

    fn said<T: Component>(mut self, call: &'static str, what: What, at: Location) -> Self {
        self.for_components.push(ForComponent { def: T::DEF, call, what, at });
        self
    }

    /// At most so many events of a consumer run again after a crash. Default 1,024.
    #[track_caller]
    pub fn window(mut self, events: usize) -> Self {
        self.defaults.window = Some((events, Origin::Builder(here())));
        self
    }

    /// A checkpoint is written after so many settled events. Default 256, or a quarter of a smaller window;
    /// 1 writes before the next event starts.
    #[track_caller]
    pub fn checkpoint_every(mut self, events: usize) -> Self {
        self.defaults.checkpoint_every = Some((events, Origin::Builder(here())));
        self
    }

    /// … or after this time, whichever comes first. Default 100 ms.
    #[track_caller]
    pub fn checkpoint_interval(mut self, time: Duration) -> Self {
        self.defaults.checkpoint_interval = Some((time, Origin::Builder(here())));
        self
    }

    /// Events read from the store at once. Default 1,000.
    #[track_caller]
    pub fn page(mut self, events: usize) -> Self {
        self.defaults.page = Some((events, Origin::Builder(here())));
        self
    }

    /// Events a consumer reads ahead of what has started. Default 1,024.
    #[track_caller]
    pub fn look_ahead(mut self, events: usize) -> Self {
        self.defaults.look_ahead = Some((events, Origin::Builder(here())));
        self
    }

    /// Payload bytes a consumer reads ahead. Default 16 MiB.
    #[track_caller]
    pub fn look_ahead_bytes(mut self, bytes: usize) -> Self {
        self.defaults.look_ahead_bytes = Some((bytes, Origin::Builder(here())));
        self
    }

    /// Events that may queue behind a [parked](Self::dead_letter) key, the one that was given up included. Later ones
    /// wait unbegun until there is room; other keys go on. Default 1,024.
    #[track_caller]
    pub fn parked_queue(mut self, events: usize) -> Self {
        self.defaults.parked_queue = Some((events, Origin::Builder(here())));
        self
    }

    /// Events of all [parked](Self::dead_letter) keys of a consumer that may be stored, the ones that were given up
    /// included. At so many, what comes for a parked key waits unbegun, and an event of another key that would be given
    /// up is tried again instead, its later ones behind it; the consumer says `parked queue full`. Default 65,536.
    #[track_caller]
    pub fn parked_events(mut self, events: usize) -> Self {
        self.defaults.parked_events = Some((events, Origin::Builder(here())));
        self
    }

    /// An event that is known to have been running at so many ends of the process in a row, none of them a stop, is
    /// given to the dead letters instead of being tried again. What was running at the first end is not known; after it,
    /// attempts of events that may have been are recorded before they begin. A process that always stops pays nothing.
    /// Default 3; 0 tries such an event for ever.
    #[track_caller]
    pub fn unclean_ends(mut self, ends: u32) -> Self {
        self.defaults.unclean_ends = Some((ends, Origin::Builder(here())));
        self
    }

    /// How long an event waits for a permit of its executor before that counts as rejected; it stays where it is
    /// and is offered again. Default 5 s.
    #[track_caller]
    pub fn admission_wait(mut self, time: Duration) -> Self {
        self.defaults.admission_wait = Some((time, Origin::Builder(here())));
        self
    }

    /// How long another instance believes that an event an observer has begun to handle is still being handled, if
    /// nothing was heard of it. Renewed while the handler runs, so this is what a crash may delay such an event by; a
    /// handler that outlives its process in a stopped state for longer may overlap with its second run. One shorter than
    /// the lease of the store is warned of. Default 5 min.
    #[track_caller]
    pub fn claim_expiry(mut self, time: Duration) -> Self {
        self.defaults.claim_expiry = Some((time, Origin::Builder(here())));
        self
    }

    /// How long is remembered which events an observer has handled, and which saga instances have ended. Default 7 days.
    #[track_caller]
    pub fn dedupe_window(mut self, time: Duration) -> Self {
        self.defaults.dedupe_window = Some((time, Origin::Builder(here())));
        self
    }

    /// Delay before the first further attempt, for handlers that say none. Default 1 s.
    #[track_caller]
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.defaults.retry_delay = Some((delay, Origin::Builder(here())));
        self
    }

    /// Longest delay between attempts, for handlers that say none. Default 30 s.
    #[track_caller]
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.defaults.max_delay = Some((delay, Origin::Builder(here())));
        self
    }

    /// First pause of a consumer that has nothing to read and got no hint. Default 100 ms.
    #[track_caller]
    pub fn poll_min(mut self, pause: Duration) -> Self {
        self.defaults.poll_min = Some((pause, Origin::Builder(here())));
        self
    }

    /// Longest pause of that kind; it doubles from look to look. Default 1 s.
    #[track_caller]
    pub fn poll_max(mut self, pause: Duration) -> Self {
        self.defaults.poll_max = Some((pause, Origin::Builder(here())));
        self
    }

    /// How long a dead letter stays as history once it was resolved: handled after all, discarded, or passed by a seek.
    /// Looked after once an hour. Default: for ever. Unresolved ones are never deleted.
    #[track_caller]
    pub fn keep_resolved(mut self, time: Duration) -> Self {
        self.defaults.keep_resolved = Some((time, Origin::Builder(here())));
        self
    }

    /// How long is kept what operators did, with the commands they gave, and which instances there were. Looked after
    /// once an hour. Default: 90 days.
    #[track_caller]
    pub fn keep_audit(mut self, time: Duration) -> Self {
        self.defaults.keep_audit = Some((time, Origin::Builder(here())));
        self
    }

    /// How long events stay in the log, at least: those that are older are taken out once every consumer has settled
    /// them, also paused ones and those that nobody runs any more and that were not forgotten. The last event of each
    /// key stays, so that versions stay what they were. Looked after once an hour, in small transactions, by any
    /// instance; what was taken out is in the audit. Default: for ever.
    ///
    /// A log that was pruned has no beginning: a component that starts there is refused at the launch, and no consumer
    /// goes back below it. An event's id is known as long as the event is there: whoever appends it again later appends
    /// it twice, unless the append expects a version.
    #[track_caller]
    pub fn keep_events(mut self, time: Duration) -> Self {
        self.defaults.keep_events = Some((time, Origin::Builder(here())));
        self
    }

    /// Settings from outside, laid over what the code says: see [`Config`] for their names and for what wins. Of several
    /// calls a later one is laid over an earlier one.
    ///
    /// ```no_run
    /// # fn f() -> evento_runtime::Result {
    /// use evento_runtime::bundle::{Bundle, Config};
    ///
    /// let bundle = Bundle::builder("orders").discover().config(Config::from_env("EVENTO_CFG_")?);
    /// # Ok(()) }
    /// ```
    pub fn config(mut self, config: Config) -> Self {
        self.config.extend(config);
        self
    }

    /// Calls `listener` with everything that happens to the consumers: begun, ended, ownership gained and lost, dead
    /// letters, stalls. It is called in their loops, so it must return at once; what takes longer subscribes to
    /// [`Bundle::events`] instead. A panic of it is logged and changes nothing.
    pub fn on_event(mut self, listener: impl Fn(&EngineEvent) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Drops what is stored for one version of a component (checkpoint, error history, dead letters, saga instances with
    /// their timers, claims, completions) at the start.
    /// May stay in the code: what is gone is not missed.
    #[track_caller]
    pub fn forget(mut self, component: impl Into<String>, version: u32) -> Self {
        self.forget.push((component.into(), version, here()));
        self
    }

    /// Another clock, for simulation.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Where ownerships are renewed. Default [`LeaseRenewal::Thread`]; a test on a paused clock wants
    /// [`LeaseRenewal::Runtime`].
    pub const fn lease_renewal(mut self, renewal: LeaseRenewal) -> Self {
        self.renewal = renewal;
        self
    }

    /// How long [`Bundle::run_until`] lets running handlers finish. Default 30 s.
    pub const fn stop_deadline(mut self, deadline: Duration) -> Self {
        self.stop_deadline = deadline;
        self
    }

    /// Judges the whole wiring. Opens and connects nothing.
    ///
    /// # Errors
    /// Everything that is wrong, at once; see [the list](crate::bundle#what-stops-a-launch).
    pub fn build(mut self) -> Result<Bundle, LaunchError> {
        config::apply(&mut self);
        let draft = Draft::new(&self);
        let mut report = Report::default();
        launch::judge(&draft, &mut report);
        let warnings = report.finish(&self.name)?;
        let blueprint = super::blueprint::Blueprint::of(&draft, warnings);
        drop(draft);
        Ok(Bundle::new(self, blueprint))
    }
}

impl std::fmt::Debug for BundleBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BundleBuilder").field("name", &self.name).field("at", &self.at).finish_non_exhaustive()
    }
}
