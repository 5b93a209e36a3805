//! What generated code may name, and nothing else. No stability is promised for anything in here.
//!
//! Everything that can be generic is a function here instead of code the macros write: a handler costs its user one
//! row, and a bound that fails is reported once, at the token the macro gave the call.

mod saga;
mod transaction;

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use core::option::Option;
pub use core::primitive::{bool, str};
pub use core::result::Result;
pub use core::{compile_error, env, file, line, module_path, stringify};
pub use inventory;
pub use std::string::String;

pub use crate::component::{
    Build, Component, ComponentDef, FreeHandler, FreeHook, HandlerDef, HookDef, Invoke, KeyDef, Kind, Location,
    OpenComponent, OpenObserver, OpenProjector, OpenSaga, Registered, SagaHandlerDef,
};
pub use crate::context::{ConsumerScope, FromContext, FromStart, HandlerContext};
pub use crate::deps::{Deps, Need};
pub use crate::event::Event;
pub use crate::policy::{CheckpointMode, DeadLetterPolicy, StartFrom};
pub use saga::{AssociationField, Field, Loaded, MaybeField, SureField, saga_outcome, saga_row, saga_state};
pub use transaction::{give_back, transaction};

use crate::component::MakeResult;
use crate::context::MissingDependency;
use crate::deps::Provided;
use crate::error::BoxError;
use crate::event::EventArgument;
use crate::outcome::{HandlerResult, IntoOutcome, IntoStarted};

/// The place of what is generated, in the crate it is generated in.
#[doc(hidden)]
#[macro_export]
macro_rules! __here {
    ($line:literal) => {
        $crate::__private::Origin {
            location: $crate::__private::Location { file: $crate::__private::file!(), line: $line },
            package: $crate::__private::env!("CARGO_PKG_NAME"),
            module: $crate::__private::module_path!(),
        }
    };
}
pub use crate::__here as here;

/// Where generated code comes from.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Its place.
    pub location: Location,
    /// `CARGO_PKG_NAME` of its crate.
    pub package: &'static str,
    /// `module_path!()` of its place.
    pub module: &'static str,
}

/// A projector; what it does not say is left open.
#[must_use]
pub const fn projector<C: Component>(name: &'static str, version: u32, build: Build, origin: Origin) -> ComponentDef {
    ComponentDef::new::<C>(Kind::Projector, name, version, build, origin.location).origin(origin.package, origin.module)
}

/// A saga; what it does not say is left open.
#[must_use]
pub const fn saga<C: Component>(name: &'static str, version: u32, build: Build, origin: Origin) -> ComponentDef {
    ComponentDef::new::<C>(Kind::Saga, name, version, build, origin.location).origin(origin.package, origin.module)
}

/// An observer; what it does not say is left open.
#[must_use]
pub const fn observer<C: Component>(name: &'static str, version: u32, build: Build, origin: Origin) -> ComponentDef {
    ComponentDef::new::<C>(Kind::Observer, name, version, build, origin.location).origin(origin.package, origin.module)
}

/// The projector that a free function joins.
#[must_use]
pub const fn joined_projector<C: OpenProjector>() -> &'static ComponentDef {
    C::DEF
}

/// The saga that a free function joins.
#[must_use]
pub const fn joined_saga<C: OpenSaga>() -> &'static ComponentDef {
    C::DEF
}

/// The observer that a free function joins.
#[must_use]
pub const fn joined_observer<C: OpenObserver>() -> &'static ComponentDef {
    C::DEF
}

/// A handler; what it does not say is left open.
#[must_use]
pub const fn handler<E: EventArgument>(method: &'static str, origin: Origin, invoke: Invoke) -> HandlerDef {
    HandlerDef::new::<E>(method, origin.location, invoke).origin(origin.package, origin.module)
}

/// A hook.
#[must_use]
pub const fn hook(
    method: &'static str,
    origin: Origin,
    invoke: fn(Arc<ConsumerScope>) -> BoxFuture<'static, Result<(), BoxError>>,
) -> HookDef {
    HookDef::new(method, origin.location, invoke).origin(origin.package, origin.module)
}

/// The row of a component for the registry.
#[must_use]
pub const fn component<C: Component>() -> Registered {
    Registered::Component(C::DEF)
}

/// The key that a handler orders its events by.
#[must_use]
pub const fn key_row(field: &'static str, value: fn(&HandlerContext) -> Result<Option<String>, BoxError>) -> KeyDef {
    KeyDef { field, value }
}

/// The component's value behind a call.
///
/// # Errors
/// The engine holds a value of another type; a fault of ours.
pub fn this<C: Component>(context: &HandlerContext) -> Result<Arc<C>, BoxError> {
    downcast(context.component())
}

/// The same for a hook.
///
/// # Errors
/// The engine holds a value of another type; a fault of ours.
pub fn start_this<C: Component>(scope: &ConsumerScope) -> Result<Arc<C>, BoxError> {
    downcast(&scope.component)
}

fn downcast<C: Component>(value: &Arc<dyn std::any::Any + Send + Sync>) -> Result<Arc<C>, BoxError> {
    Arc::clone(value).downcast().map_err(|_| format!("the component's value is no `{}`", C::DEF.name).into())
}

/// The decoded event; anew for every attempt.
///
/// # Errors
/// The payload is not one of `E`.
pub fn event<E: EventArgument>(context: &HandlerContext) -> Result<E, BoxError> {
    E::decode(context.event()).map_err(Into::into)
}

/// The decoded events of a batch.
///
/// # Errors
/// The payload of one of them is not one of `E`; it becomes a dead letter, and the others come again.
pub fn events<E: EventArgument>(context: &HandlerContext) -> Result<Vec<E>, BoxError> {
    let decode = |(place, event)| {
        E::decode(event).map_err(|error| {
            context.note_undecodable(place);
            BoxError::from(error)
        })
    };
    context.events().iter().enumerate().map(decode).collect()
}

/// An argument after the event.
///
/// # Errors
/// Nobody provided it; a launched bundle has ruled that out.
pub fn extract<T: FromContext>(context: &HandlerContext) -> Result<T, BoxError> {
    T::from_context(context).map_err(Into::into)
}

/// What an argument after the event asks for.
#[must_use]
pub const fn needs<T: FromContext>() -> &'static [Need] {
    T::NEEDS
}

/// An argument of a hook.
///
/// # Errors
/// Nobody provided it; a launched bundle has ruled that out.
pub fn start_extract<T: FromStart>(scope: &ConsumerScope) -> Result<T, BoxError> {
    T::from_start(scope).map_err(Into::into)
}

/// What an argument of a hook asks for.
#[must_use]
pub const fn start_needs<T: FromStart>() -> &'static [Need] {
    T::NEEDS
}

/// What a handler returned, as the engine takes it.
///
/// # Errors
/// The handler's own.
pub fn outcome<R: IntoOutcome>(returned: R) -> HandlerResult {
    returned.into_outcome()
}

/// What a hook returned, as the engine takes it.
///
/// # Errors
/// The hook's own.
pub fn started<R: IntoStarted>(returned: R) -> Result<(), BoxError> {
    returned.into_started()
}

/// The one place where a handler's future must be `Send`; the compiler's note leads to the user's `.await`.
pub fn run<T>(call: impl Future<Output = T> + Send + 'static) -> BoxFuture<'static, T> {
    Box::pin(call)
}

/// What a constructor asks for.
#[must_use]
pub const fn need<T: Provided>() -> Need {
    Need::of::<T>()
}

/// A provided value for a constructor.
///
/// # Errors
/// Nobody provided it; a launched bundle has ruled that out.
pub fn provided<T: Provided>(deps: &Deps) -> Result<T, MissingDependency> {
    deps.get().ok_or(MissingDependency(std::any::type_name::<T>()))
}

/// What a constructor made.
///
/// # Errors
/// None; the signature is that of [`Build::With`].
pub fn built<C: Component>(value: C) -> MakeResult {
    Ok(Arc::new(value))
}

/// How a component without a constructor is made: `Made::<C>::BUILD` is the inherent constant where `C` has
/// `Default`, and the trait's where it has not. Which of the two is decided where the type is concrete.
pub struct Made<C>(PhantomData<C>);

impl<C: Component + Default> Made<C> {
    /// By `Default`.
    pub const BUILD: Build = Build::With { needs: &[], build: |_| built(C::default()) };
}

/// What is left for a component without a constructor and without `Default`.
pub trait OnlyGiven {
    /// With `.component(..)`.
    const BUILD: Build = Build::Given;
}

impl<C> OnlyGiven for Made<C> {}

/// A field that can be an event's key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of an event",
    label = "does not implement `Display`",
    note = "a key is what `Display` writes: 1 to 255 bytes of UTF-8"
)]
pub trait KeyField {
    /// The key.
    fn to_key(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: fmt::Display + ?Sized> KeyField for T {
    fn to_key(&self) -> String {
        self.to_string()
    }
}

/// The key an event carries.
pub fn key<T: KeyField + ?Sized>(field: &T) -> Option<String> {
    Some(field.to_key())
}

/// The package name that `link!` was given, if it was.
#[must_use]
pub const fn package(given: &[&'static str]) -> Option<&'static str> {
    match given {
        [package, ..] => Some(*package),
        [] => None,
    }
}

/// `link!` writes crate names as they stand in the source.
#[must_use]
pub const fn crate_name(written: &'static str) -> &'static str {
    match written.as_bytes() {
        [b'r', b'#', ..] => written.split_at(2).1,
        _ => written,
    }
}
