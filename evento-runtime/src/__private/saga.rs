//! What only handlers of sagas need: the instance of an event, and its state.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::component::SagaHandlerDef;
use crate::context::{HandlerContext, SagaState};
use crate::error::BoxError;
use crate::outcome::{Flow, HandlerResult, IntoOutcome};

/// What finds the instance of an event.
#[must_use]
pub const fn saga_row(
    init: bool,
    property: &'static str,
    value: fn(&HandlerContext) -> Result<Option<String>, BoxError>,
) -> SagaHandlerDef {
    SagaHandlerDef { init, property, value }
}

/// A field of an event that an instance is found by. Its `value()` is that of [`MaybeField`] for an `Option`, and that
/// of [`SureField`] for all else: the compiler looks without a reference first.
#[derive(Debug)]
pub struct Field<'a, T: ?Sized>(pub &'a T);

/// What a saga instance can be found by.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the association of a saga",
    label = "does not implement `Display`",
    note = "an instance is found by what `Display` writes, or by the value in an `Option`: 1 to 255 bytes of UTF-8"
)]
pub trait AssociationField {
    /// What `Display` writes.
    fn to_value(&self) -> String;
}

#[diagnostic::do_not_recommend]
impl<T: fmt::Display + ?Sized> AssociationField for T {
    fn to_value(&self) -> String {
        self.to_string()
    }
}

/// A field that may be absent, and then finds nothing.
pub trait MaybeField<T> {
    /// What the instance is found by.
    fn value(&self) -> Option<String>
    where
        T: AssociationField;
}

impl<T> MaybeField<T> for Field<'_, Option<T>> {
    fn value(&self) -> Option<String>
    where
        T: AssociationField,
    {
        self.0.as_ref().map(AssociationField::to_value)
    }
}

/// A field that is there.
pub trait SureField<T: ?Sized> {
    /// What the instance is found by.
    fn value(&self) -> Option<String>
    where
        T: AssociationField;
}

impl<T: ?Sized> SureField<T> for &Field<'_, T> {
    fn value(&self) -> Option<String>
    where
        T: AssociationField,
    {
        Some(self.0.to_value())
    }
}

/// The state of an instance, on loan to its handler. It knows how to be stored, so that the bound is asked for once.
#[derive(Debug)]
pub struct Loaded<S> {
    state: S,
    leave: fn(&HandlerContext, &S) -> Result<(), BoxError>,
}

impl<S> Deref for Loaded<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> DerefMut for Loaded<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

/// The state as it is stored, decoded anew for every attempt.
///
/// # Errors
/// What is stored is no `S`.
pub fn saga_state<S: SagaState>(context: &HandlerContext) -> Result<Loaded<S>, BoxError> {
    Ok(Loaded { state: context.saga_state()?, leave: HandlerContext::leave_saga_state })
}

/// What a handler returned, as the engine takes it. The state is left with the call where the event is handled, and
/// only there: what another attempt or none is to make of it starts from what is stored.
///
/// # Errors
/// The handler's own, or the state cannot be written.
pub fn saga_outcome<R: IntoOutcome, S>(returned: R, state: &Loaded<S>, context: &HandlerContext) -> HandlerResult {
    let flow = returned.into_outcome()?;
    if matches!(flow, Flow::Continue | Flow::Complete) {
        (state.leave)(context, state)?;
    }
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use super::{Field, MaybeField as _, SureField as _};

    #[test]
    fn a_field_is_what_it_displays_and_an_absent_one_is_none() {
        assert_eq!((&Field(&7_u32)).value().as_deref(), Some("7"));
        assert_eq!((&Field("text")).value().as_deref(), Some("text"));
        assert_eq!((&Field(&Some("o-1".to_owned()))).value().as_deref(), Some("o-1"));
        assert_eq!((&Field(&None::<u64>)).value(), None);
        assert_eq!((&Field(&Some(Box::new(3_u8)))).value().as_deref(), Some("3"));
    }
}
