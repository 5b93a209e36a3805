//! What the macros emit: one `static` per component, one row per handler. No allocation, no code at start-up.

mod def;
mod handler;
mod hook;
mod registry;

pub use def::{Build, ComponentDef, MakeResult};
pub use handler::{HandlerDef, Invoke, KeyDef, SagaHandlerDef, StateDef};
pub use hook::HookDef;
pub use registry::{FreeHandler, FreeHook, Registered};

use std::fmt;

use crate::policy::StartFrom;

/// A projector, saga or observer type: what `#[projector]`, `#[saga]` and `#[observer]` implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a component",
    label = "has no `#[projector]`, `#[saga]` or `#[observer]`",
    note = "put `#[projector(version = 1)]`, `#[saga(version = 1)]` or `#[observer(version = 1)]` on `impl {Self}`, or on the unit struct for free functions"
)]
pub trait Component: Send + Sync + 'static {
    /// Everything that is known of it before it exists.
    const DEF: &'static ComponentDef;
}

/// A component that free functions may join: a unit struct with one of the three attributes.
#[diagnostic::on_unimplemented(
    message = "free functions cannot join `{Self}`",
    label = "not a unit struct with `#[projector(..)]`, `#[saga(..)]` or `#[observer(..)]`",
    note = "write `#[projector(version = 1)] struct {Self};`, or the same with `#[saga(..)]` or `#[observer(..)]`"
)]
pub trait OpenComponent: Component {}

/// A projector that free functions may join.
#[diagnostic::on_unimplemented(
    message = "free functions cannot join `{Self}` as a projector",
    label = "not a unit struct with `#[projector(..)]`",
    note = "write `#[projector(version = 1)] struct {Self};`",
    note = "handlers of a saga say `#[saga_event_handler(saga = {Self}, ..)]`, those of an observer `#[event_handler(observer = {Self})]`"
)]
pub trait OpenProjector: OpenComponent {}

/// A saga that free functions may join.
#[diagnostic::on_unimplemented(
    message = "free functions cannot join `{Self}` as a saga",
    label = "not a unit struct with `#[saga(..)]`",
    note = "write `#[saga(version = 1)] struct {Self};`",
    note = "handlers of a projector say `#[event_handler(projector = {Self})]`, those of an observer `#[event_handler(observer = {Self})]`"
)]
pub trait OpenSaga: OpenComponent {}

/// An observer that free functions may join.
#[diagnostic::on_unimplemented(
    message = "free functions cannot join `{Self}` as an observer",
    label = "not a unit struct with `#[observer(..)]`",
    note = "write `#[observer(version = 1)] struct {Self};`",
    note = "handlers of a projector say `#[event_handler(projector = {Self})]`, those of a saga `#[saga_event_handler(saga = {Self}, ..)]`"
)]
pub trait OpenObserver: OpenComponent {}

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
        // A variable of the environment has no lines.
        if self.line == 0 { f.write_str(self.file) } else { write!(f, "{}:{}", self.file, self.line) }
    }
}
