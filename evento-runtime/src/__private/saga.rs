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

/// A field of an event that an instance is found by, or events are ordered by. Its `value()` is that of [`MaybeField`] for an `Option`, and that
/// of [`SureField`] for all else: the compiler looks without a reference first.
#[derive(Debug)]
pub struct Field<'a, T: ?Sized>(pub &'a T);

/// What a saga instance can be found by, and what events can be ordered by.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can be neither an association nor a key",
    label = "does not implement `Display`",
    note = "either is what `Display` writes, or the value in an `Option`; an association has 1 to 255 bytes of UTF-8"
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
#[cfg(feature = "macros")]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "a handler owns its event, whatever it does with it")]

    use std::sync::Arc;

    use serde::{Deserialize, Serialize};

    use super::{Field, MaybeField as _, SureField as _};
    use crate::component::{Component, HandlerDef, Invoke};
    use crate::context::{Associations, Attempt, ConsumerScope, HandlerContext, SagaSlot, Stop};
    use crate::deps::Deps;
    use crate::event::{EventId, Position, StoredEvent, Timestamp};
    use crate::identity::{ConsumerId, ContextPattern};
    use crate::outcome::{Flow, HandlerResult};
    use crate::store::{Association, SagaId, SagaInstance};
    use evento_macros::{Event, saga};

    #[derive(Event, Serialize, Deserialize)]
    struct Placed {
        order_id: String,
    }

    #[derive(Event, Serialize, Deserialize)]
    struct Paid {
        order_id: String,
        told: u32,
    }

    #[derive(Default, Serialize, Deserialize)]
    struct Steps {
        taken: u32,
    }

    #[derive(Default)]
    struct Fulfil;

    #[saga(version = 1)]
    impl Fulfil {
        #[saga_event_handler(init, association = order_id)]
        async fn placed(&self, _event: Placed, state: &mut Steps, found: Associations) -> Result<(), crate::BoxError> {
            state.taken += 1;
            found.add("payment", "p-1")?;
            Ok(())
        }

        #[saga_event_handler(association = order_id)]
        fn paid(&self, event: Paid, state: &mut Steps, attempt: Attempt) -> Result<Flow, String> {
            state.taken += 10 * attempt.0;
            match event.told {
                0 => Ok(Flow::Complete),
                1 => Ok(Flow::Skip),
                2 => Ok(Flow::RetryAfter(std::time::Duration::ZERO)),
                3 => Ok(Flow::DeadLetter("said so".to_owned())),
                _ => Err("failed".to_owned()),
            }
        }
    }

    const ID: SagaId = SagaId::from_uuid(uuid::Uuid::nil());

    fn context(payload: &'static str, attempt: u32, slot: SagaSlot) -> HandlerContext {
        let consumer =
            ConsumerId { bundle: "b".into(), component: "Fulfil".into(), version: 1, context: ContextPattern::All };
        let stop = Stop::new(tokio::sync::watch::channel(false).1);
        let scope = ConsumerScope::new(consumer.into(), Arc::new(Fulfil), Deps::default(), stop);
        let event = StoredEvent {
            position: Position::from_u64(1),
            id: EventId::generate(),
            name: "any".into(),
            context: "default".into(),
            key: None,
            version: None,
            recorded_at: Timestamp::from_micros(0),
            content_type: "application/json".into(),
            payload: payload.as_bytes().into(),
            metadata: Default::default(),
        };
        let context = HandlerContext::new(Arc::new(scope), Arc::new(event), attempt);
        context.bind_saga(slot);
        context
    }

    fn live(state: &'static str) -> SagaSlot {
        let found_by = Association::new("order_id", "o-1").unwrap().unwrap();
        SagaSlot::of(SagaInstance::new(ID, state.as_bytes().into(), vec![found_by], Position::from_u64(1)))
    }

    async fn call(handler: &HandlerDef, context: &HandlerContext) -> (HandlerResult, SagaSlot) {
        let result = match handler.invoke {
            Invoke::Async(invoke) => invoke(context.clone()).await,
            Invoke::Blocking(invoke) => invoke(context.clone()),
        };
        (result, context.take_saga().unwrap())
    }

    fn left(slot: &SagaSlot) -> Option<&str> {
        slot.left.as_deref().map(|left| std::str::from_utf8(left).unwrap())
    }

    #[tokio::test]
    async fn an_instance_begins_with_the_default_and_leaves_what_the_handler_made() {
        let [placed, _] = Fulfil::DEF.handlers else { panic!() };
        let begun = SagaSlot::begun(ID, Association::new("order_id", "o-1").unwrap().unwrap());
        let (result, slot) = call(placed, &context(r#"{"order_id":"o-1"}"#, 1, begun)).await;
        assert_eq!(result.unwrap(), Flow::Continue);
        assert_eq!(left(&slot), Some(r#"{"taken":1}"#));
        let found: Vec<_> = slot.associations.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["order_id=o-1", "payment=p-1"]);
        let (_, slot) = call(placed, &context(r#"{"order_id":"o-1"}"#, 1, live(r#"{"taken":5}"#))).await;
        assert_eq!(left(&slot), Some(r#"{"taken":6}"#));
    }

    /// G18: what is not handled leaves no half-changed state, and every attempt starts from the stored one.
    #[tokio::test]
    async fn only_a_handled_event_leaves_a_state() {
        let [_, paid] = Fulfil::DEF.handlers else { panic!() };
        let event = |told| match told {
            0 => r#"{"order_id":"o-1","told":0}"#,
            1 => r#"{"order_id":"o-1","told":1}"#,
            2 => r#"{"order_id":"o-1","told":2}"#,
            3 => r#"{"order_id":"o-1","told":3}"#,
            _ => r#"{"order_id":"o-1","told":4}"#,
        };
        let (result, slot) = call(paid, &context(event(0), 2, live(r#"{"taken":5}"#))).await;
        assert_eq!((result.unwrap(), left(&slot)), (Flow::Complete, Some(r#"{"taken":25}"#)));
        for told in 1..=4 {
            let (result, slot) = call(paid, &context(event(told), 1, live(r#"{"taken":5}"#))).await;
            assert_eq!(result.is_err(), told == 4);
            assert_eq!(left(&slot), None, "{told}");
        }
    }

    #[tokio::test]
    async fn a_stored_state_of_another_shape_is_told() {
        let [placed, _] = Fulfil::DEF.handlers else { panic!() };
        let (result, slot) = call(placed, &context(r#"{"order_id":"o-1"}"#, 1, live(r#"{"other":5}"#))).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("is not one of `") && error.contains("Steps"), "{error}");
        assert_eq!(left(&slot), None);
    }

    #[test]
    #[allow(clippy::needless_borrow, reason = "as it is called by generated code, which does not know the type")]
    fn a_field_is_what_it_displays_and_an_absent_one_is_none() {
        assert_eq!((&Field(&7_u32)).value().as_deref(), Some("7"));
        assert_eq!((&Field("text")).value().as_deref(), Some("text"));
        assert_eq!((&Field(&Some("o-1".to_owned()))).value().as_deref(), Some("o-1"));
        assert_eq!((&Field(&None::<u64>)).value(), None);
        assert_eq!((&Field(&Some(Box::new(3_u8)))).value().as_deref(), Some("3"));
    }
}
