//! What the macros emit: one `static` per component, one row per handler. No allocation, no code at start-up.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::context::{ConsumerScope, HandlerContext, MissingDependency};
use crate::deps::{Deps, Need};
use crate::error::BoxError;
use crate::event::EventArgument;
use crate::outcome::HandlerResult;
use crate::policy::{CheckpointMode, StartFrom};

/// A projector, saga or observer type: what `#[projector]` implements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "has no `#[projector]`",
    note = "put `#[projector(version = 1)]` on `impl {Self}`, or on the unit struct for free functions"
)]
pub trait Component: Send + Sync + 'static {
    /// Everything that is known of it before it exists.
    const DEF: &'static ComponentDef;
}

/// A component that free functions may join: a unit struct with `#[projector(..)]`.
#[diagnostic::on_unimplemented(
    message = "free functions cannot join `{Self}`",
    label = "not a unit struct with `#[projector(..)]`",
    note = "write `#[projector(version = 1)] struct {Self};`"
)]
pub trait OpenComponent: Component {}

/// What a component does with events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Keeps a read model. Starts at the beginning of the log.
    Projector,
    /// Keeps the state of processes, one instance for what its events have in common. Starts at the head of the log.
    Saga,
    /// Has effects elsewhere. Starts at the head of the log.
    Observer,
}

impl Kind {
    /// Where such a component begins, unless it says so itself.
    #[must_use]
    pub const fn starts_from(self) -> StartFrom {
        match self {
            Self::Projector => StartFrom::Beginning,
            Self::Saga | Self::Observer => StartFrom::Head,
        }
    }

    /// Whether its handlers on executors may count as covered once they have started.
    #[must_use]
    pub const fn has_checkpoint_mode(self) -> bool {
        matches!(self, Self::Projector)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Projector => "projector",
            Self::Saga => "saga",
            Self::Observer => "observer",
        })
    }
}

/// A place in the user's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// As the compiler names it.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What making a component's value gives.
pub type MakeResult = Result<Arc<dyn Any + Send + Sync>, MissingDependency>;

/// How a component's value is made.
#[derive(Clone, Copy)]
pub enum Build {
    /// By its `#[inject]` constructor or `Default`.
    With {
        /// Provided types the constructor takes.
        needs: &'static [Need],
        /// Makes the value.
        build: fn(&Deps) -> MakeResult,
    },
    /// It is a unit struct without data (function style).
    Unit,
    /// It has neither: only a value given with `.component(..)` can be it.
    Given,
}

/// Everything known of a component at compile time.
pub struct ComponentDef {
    /// Projector, saga or observer.
    pub kind: Kind,
    /// Identity, together with the version.
    pub name: &'static str,
    /// A new version is a new consumer that starts over.
    pub version: u32,
    /// The Rust type.
    pub type_id: TypeId,
    /// For messages.
    pub type_name: fn() -> &'static str,
    /// Where it begins; `None`: not said.
    pub start: Option<StartFrom>,
    /// Whether the bundle's start waits until it has settled what was there; `None`: not said.
    pub wait_for_head: Option<bool>,
    /// Context patterns; empty: not said, which means all.
    pub contexts: &'static [&'static str],
    /// `None`: not said.
    pub checkpoint: Option<CheckpointMode>,
    /// How its value is made.
    pub build: Build,
    /// The `#[on_start]` hook.
    pub on_start: Option<HookDef>,
    /// The `#[on_reset]` hook.
    pub on_reset: Option<HookDef>,
    /// Handlers of the `impl` block; empty for function style.
    pub handlers: &'static [HandlerDef],
    /// Whether free functions may join it.
    pub open: bool,
    /// Its doc text.
    pub docs: &'static str,
    /// Where the `impl` block or the struct stands.
    pub location: Location,
    /// `CARGO_PKG_NAME` of its crate.
    pub package: &'static str,
    /// `module_path!()` of its place.
    pub module: &'static str,
}

impl ComponentDef {
    /// A component of type `C`; what it does not say is left open.
    #[must_use]
    pub const fn new<C: Component>(
        kind: Kind,
        name: &'static str,
        version: u32,
        build: Build,
        location: Location,
    ) -> Self {
        Self {
            kind,
            name,
            version,
            type_id: TypeId::of::<C>(),
            type_name: std::any::type_name::<C>,
            start: None,
            wait_for_head: None,
            contexts: &[],
            checkpoint: None,
            open: matches!(build, Build::Unit),
            build,
            on_start: None,
            on_reset: None,
            handlers: &[],
            docs: "",
            location,
            package: "",
            module: "",
        }
    }

    /// Stands in for one that did not compile, so that its users do not complain as well.
    #[doc(hidden)]
    #[must_use]
    pub const fn unsound<C: Component>() -> Self {
        Self::new::<C>(Kind::Projector, "", 0, Build::Unit, Location { file: "", line: 0 })
    }

    /// Says where it begins.
    #[must_use]
    pub const fn start(mut self, start: StartFrom) -> Self {
        self.start = Some(start);
        self
    }

    /// Says whether the start waits for it.
    #[must_use]
    pub const fn wait_for_head(mut self, wait: bool) -> Self {
        self.wait_for_head = Some(wait);
        self
    }

    /// Sets its context patterns.
    #[must_use]
    pub const fn contexts(mut self, contexts: &'static [&'static str]) -> Self {
        self.contexts = contexts;
        self
    }

    /// Sets when its handlers on executors count as covered.
    #[must_use]
    pub const fn checkpoint(mut self, mode: CheckpointMode) -> Self {
        self.checkpoint = Some(mode);
        self
    }

    /// Sets its hook.
    #[must_use]
    pub const fn on_start(mut self, hook: HookDef) -> Self {
        self.on_start = Some(hook);
        self
    }

    /// Sets its hook for going back.
    #[must_use]
    pub const fn on_reset(mut self, hook: HookDef) -> Self {
        self.on_reset = Some(hook);
        self
    }

    /// Sets the handlers of its block.
    #[must_use]
    pub const fn handlers(mut self, handlers: &'static [HandlerDef]) -> Self {
        self.handlers = handlers;
        self
    }

    /// Its doc text.
    #[must_use]
    pub const fn docs(mut self, docs: &'static str) -> Self {
        self.docs = docs;
        self
    }

    /// Its crate and module.
    #[must_use]
    pub const fn origin(mut self, package: &'static str, module: &'static str) -> Self {
        self.package = package;
        self.module = module;
        self
    }
}

impl fmt::Debug for ComponentDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComponentDef({} {} v{} at {})", self.kind, self.name, self.version, self.location)
    }
}

/// A method or free function run once per component version before its first event.
#[derive(Clone, Copy)]
pub struct HookDef {
    /// Method name.
    pub method: &'static str,
    /// Provided types it takes, one list an argument.
    pub needs: &'static [&'static [Need]],
    /// Calls it.
    pub invoke: fn(Arc<ConsumerScope>) -> BoxFuture<'static, Result<(), BoxError>>,
    /// Where it stands.
    pub location: Location,
    /// `CARGO_PKG_NAME` of its crate.
    pub package: &'static str,
    /// `module_path!()` of its place.
    pub module: &'static str,
}

impl HookDef {
    /// A hook without needs.
    #[must_use]
    pub const fn new(
        method: &'static str,
        location: Location,
        invoke: fn(Arc<ConsumerScope>) -> BoxFuture<'static, Result<(), BoxError>>,
    ) -> Self {
        Self { method, needs: &[], invoke, location, package: "", module: "" }
    }

    /// Its crate and module.
    #[must_use]
    pub const fn origin(mut self, package: &'static str, module: &'static str) -> Self {
        self.package = package;
        self.module = module;
        self
    }

    /// Lists what its arguments ask for.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [&'static [Need]]) -> Self {
        self.needs = needs;
        self
    }
}

/// How a handler is called.
#[derive(Clone, Copy)]
pub enum Invoke {
    /// An `async fn`.
    Async(fn(HandlerContext) -> BoxFuture<'static, HandlerResult>),
    /// A plain `fn`: never runs on an async worker.
    Blocking(fn(HandlerContext) -> HandlerResult),
}

/// What only handlers of sagas have.
#[derive(Clone, Copy)]
pub struct SagaHandlerDef {
    /// Whether it begins an instance where there is none.
    pub init: bool,
    /// What instances are found by: `order_id`.
    pub property: &'static str,
    /// The value of it in an event; `None` where the event has none. Decodes the event.
    pub value: fn(&HandlerContext) -> Result<Option<String>, BoxError>,
}

/// One handler. Built by `const` methods, so that generated code stays one call.
#[derive(Clone, Copy)]
pub struct HandlerDef {
    /// Method or function name.
    pub method: &'static str,
    /// The names it is called for; `None` for the catch-all.
    pub names: Option<(&'static str, &'static [&'static str])>,
    /// Whether its event supplies a key of its own.
    pub has_key: bool,
    /// The executor it names.
    pub executor: Option<&'static str>,
    /// Further attempts; -1 for ever; `None`: not said.
    pub retry: Option<i32>,
    /// Delay before the first further attempt.
    pub retry_delay: Option<Duration>,
    /// Longest delay.
    pub max_delay: Option<Duration>,
    /// Provided types it takes, one list an argument.
    pub needs: &'static [&'static [Need]],
    /// Calls it.
    pub invoke: Invoke,
    /// For sagas only.
    pub saga: Option<SagaHandlerDef>,
    /// Its doc text.
    pub docs: &'static str,
    /// Where its name stands.
    pub location: Location,
    /// `CARGO_PKG_NAME` of its crate.
    pub package: &'static str,
    /// `module_path!()` of its place.
    pub module: &'static str,
}

impl HandlerDef {
    /// A handler of events of type `E`.
    #[must_use]
    pub const fn new<E: EventArgument>(method: &'static str, location: Location, invoke: Invoke) -> Self {
        Self {
            method,
            names: E::NAMES,
            has_key: E::HAS_KEY,
            executor: None,
            retry: None,
            retry_delay: None,
            max_delay: None,
            needs: &[],
            invoke,
            saga: None,
            docs: "",
            location,
            package: "",
            module: "",
        }
    }

    /// Makes it a handler of a saga.
    #[must_use]
    pub const fn saga(mut self, saga: SagaHandlerDef) -> Self {
        self.saga = Some(saga);
        self
    }

    /// Names its executor.
    #[must_use]
    pub const fn executor(mut self, name: &'static str) -> Self {
        self.executor = Some(name);
        self
    }

    /// Sets its further attempts.
    #[must_use]
    pub const fn retry(mut self, retry: i32) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Sets its first delay, in microseconds.
    #[must_use]
    pub const fn retry_delay(mut self, micros: u64) -> Self {
        self.retry_delay = Some(Duration::from_micros(micros));
        self
    }

    /// Sets its longest delay, in microseconds.
    #[must_use]
    pub const fn max_delay(mut self, micros: u64) -> Self {
        self.max_delay = Some(Duration::from_micros(micros));
        self
    }

    /// Lists what its arguments ask for.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [&'static [Need]]) -> Self {
        self.needs = needs;
        self
    }

    /// Its doc text.
    #[must_use]
    pub const fn docs(mut self, docs: &'static str) -> Self {
        self.docs = docs;
        self
    }

    /// Its crate and module.
    #[must_use]
    pub const fn origin(mut self, package: &'static str, module: &'static str) -> Self {
        self.package = package;
        self.module = module;
        self
    }

    /// The event it is for, for messages.
    #[must_use]
    pub const fn event_name(&self) -> &'static str {
        match self.names {
            Some((name, _)) => name,
            None => "RawEvent",
        }
    }
}

impl fmt::Debug for HandlerDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandlerDef({} for {} at {})", self.method, self.event_name(), self.location)
    }
}

/// A free function that joins a component.
pub struct FreeHandler {
    /// The component it joins.
    pub component: &'static ComponentDef,
    /// The row.
    pub handler: HandlerDef,
}

impl FreeHandler {
    /// Joins `C`.
    #[must_use]
    pub const fn new<C: OpenComponent>(handler: HandlerDef) -> Self {
        Self { component: C::DEF, handler }
    }
}

/// A free function that is the `#[on_start]` hook of a component.
pub struct FreeHook {
    /// The component it joins.
    pub component: &'static ComponentDef,
    /// The row.
    pub hook: HookDef,
}

impl FreeHook {
    /// Joins `hook` to the component `C`.
    #[must_use]
    pub const fn new<C: OpenComponent>(hook: HookDef) -> Self {
        Self { component: C::DEF, hook }
    }
}

/// What generated code submits to the registry.
pub enum Registered {
    /// A component.
    Component(&'static ComponentDef),
    /// A free function that handles events.
    Handler(&'static FreeHandler),
    /// A free function that runs before the first event.
    Hook(&'static FreeHook),
    /// A crate named in `link!`.
    Linked {
        /// Its name in code, without `r#`: the first segment of `module` of whatever is registered in it.
        crate_name: &'static str,
        /// Its `CARGO_PKG_NAME`, where `Cargo.toml` gives it another name than it has itself.
        package: Option<&'static str>,
        /// Where `link!` stands.
        location: Location,
        /// `module_path!()` of that place: a crate may link others on behalf of the binary.
        module: &'static str,
    },
}

inventory::collect!(Registered);
