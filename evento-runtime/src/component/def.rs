//! A component as it is known at compile time.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Component, HandlerDef, HookDef, Kind, Location};
use crate::context::MissingDependency;
use crate::deps::{Deps, Need};
use crate::policy::{CheckpointMode, DeadLetterPolicy, StartFrom};

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
    /// `None`: not said.
    pub dead_letter: Option<DeadLetterPolicy>,
    /// `None`: not said, which means never.
    pub redrive_transient: Option<Duration>,
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
            dead_letter: None,
            redrive_transient: None,
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

    /// Sets what becomes of later events of a key.
    #[must_use]
    pub const fn dead_letter(mut self, policy: DeadLetterPolicy) -> Self {
        self.dead_letter = Some(policy);
        self
    }

    /// Sets when transient dead letters are tried again, in microseconds.
    #[must_use]
    pub const fn redrive_transient(mut self, micros: u64) -> Self {
        self.redrive_transient = Some(Duration::from_micros(micros));
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
