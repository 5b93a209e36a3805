//! The saga instance behind a call: its state, and what it is found by.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{FromContext, HandlerContext, MissingDependency};
use crate::deps::Need;
use crate::error::BoxError;
use crate::event::Position;
use crate::outcome::HandlerError;
use crate::store::{Association, SagaId, SagaInstance};
use crate::sync::lock;

/// A saga's state larger than this is refused: 8 MiB, as an event's payload.
pub(crate) const MAX_STATE: usize = crate::source::MAX_PAYLOAD;

/// What a saga keeps between its events.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a saga",
    label = "not `Serialize + DeserializeOwned + Default + Send + 'static`",
    note = "derive `Default`, `serde::Serialize` and `serde::Deserialize` for `{Self}`"
)]
pub trait SagaState: Serialize + DeserializeOwned + Default + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<S: Serialize + DeserializeOwned + Default + Send + 'static> SagaState for S {}

/// The instance of one attempt.
#[derive(Debug)]
pub(crate) struct SagaSlot {
    pub(crate) id: SagaId,
    /// As it is stored; `None` for an instance that begins.
    pub(crate) state: Option<Bytes>,
    /// What it was found by when it was loaded.
    pub(crate) found_by: Vec<Association>,
    pub(crate) associations: Vec<Association>,
    /// The last event that was applied to it.
    pub(crate) applied: Option<Position>,
    /// What the handler left.
    pub(crate) left: Option<Bytes>,
}

impl SagaSlot {
    /// An instance that begins with this event.
    pub(crate) fn begun(id: SagaId, found_by: Association) -> Self {
        let found_by = vec![found_by];
        Self { id, state: None, associations: found_by.clone(), found_by, applied: None, left: None }
    }

    /// An instance that lives.
    pub(crate) fn of(instance: SagaInstance) -> Self {
        let SagaInstance { id, state, associations, applied } = instance;
        Self {
            id,
            state: Some(state),
            found_by: associations.clone(),
            associations,
            applied: Some(applied),
            left: None,
        }
    }
}

/// What the saga instance is found by, beside the value that found it now. An extractor for handlers of sagas.
///
/// A second association lets events find the instance that know nothing of the first: a saga that begins with an
/// `order_id` learns a `payment_id`, and is found by either from then on. Stored with the state.
#[derive(Clone)]
pub struct Associations(HandlerContext);

impl Associations {
    /// From now on the instance is found by `property` with this value as well; any number of values per property.
    /// An empty value adds nothing. If another live instance is found by it, the attempt fails, for good.
    ///
    /// # Errors
    /// The value is longer than 255 bytes or holds a NUL; no further attempt could help.
    pub fn add(&self, property: &str, value: impl Into<String>) -> Result<(), HandlerError> {
        if let Some(association) = Association::new(property, value).map_err(HandlerError::permanent)?
            && let Some(slot) = &mut *lock(&self.0.0.saga)
            && !slot.associations.contains(&association)
        {
            slot.associations.push(association);
        }
        Ok(())
    }

    /// From now on the instance is not found by `property` with this value any more.
    pub fn remove(&self, property: &str, value: &str) {
        if let Some(slot) = &mut *lock(&self.0.0.saga) {
            slot.associations.retain(|known| known.property() != property || known.value() != value);
        }
    }

    /// Everything the instance is found by.
    #[must_use]
    pub fn all(&self) -> Vec<Association> {
        lock(&self.0.0.saga).as_ref().map(|slot| slot.associations.clone()).unwrap_or_default()
    }
}

impl FromContext for Associations {
    const NEEDS: &'static [Need] = &[Need::saga::<Self>()];

    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        match context.saga_id() {
            Some(_) => Ok(Self(context.clone())),
            None => Err(MissingDependency("Associations")),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum StateError {
    #[error("the state of saga instance {id} is not one of `{wanted}`; give new fields a `#[serde(default)]`")]
    Unreadable { id: SagaId, wanted: &'static str, source: serde_json::Error },
    #[error("the state of saga instance {id} cannot be written")]
    Unwritable { id: SagaId, source: serde_json::Error },
    #[error("the state of saga instance {id} has {bytes} bytes; at most {MAX_STATE} can be kept")]
    TooLarge { id: SagaId, bytes: usize },
    #[error("no saga instance is bound to this call")]
    None,
}

impl HandlerContext {
    /// Binds an instance to this attempt.
    pub(crate) fn bind_saga(&self, slot: SagaSlot) {
        *lock(&self.0.saga) = Some(slot);
    }

    pub(crate) fn take_saga(&self) -> Option<SagaSlot> {
        lock(&self.0.saga).take()
    }

    /// The instance, and what finds it if it does not live yet.
    pub(crate) fn saga_begins(&self) -> Option<(SagaId, Option<Association>)> {
        let slot = lock(&self.0.saga);
        let slot = slot.as_ref()?;
        Some((slot.id, slot.found_by.first().filter(|_| slot.state.is_none()).cloned()))
    }

    pub(crate) fn saga_id(&self) -> Option<SagaId> {
        lock(&self.0.saga).as_ref().map(|slot| slot.id)
    }

    /// The state as it is stored, decoded anew for every attempt.
    ///
    /// # Errors
    /// What is stored is no `S`: no further attempt can help.
    pub(crate) fn saga_state<S: SagaState>(&self) -> Result<S, BoxError> {
        let slot = lock(&self.0.saga);
        let slot = slot.as_ref().ok_or(StateError::None)?;
        let Some(state) = &slot.state else { return Ok(S::default()) };
        serde_json::from_slice(state).map_err(|source| {
            let wanted = std::any::type_name::<S>();
            HandlerError::permanent(StateError::Unreadable { id: slot.id, wanted, source }).into()
        })
    }

    /// The state as the handler left it.
    ///
    /// # Errors
    /// It cannot be written, or is too large: no further attempt can help.
    pub(crate) fn leave_saga_state<S: SagaState>(&self, state: &S) -> Result<(), BoxError> {
        let mut slot = lock(&self.0.saga);
        let slot = slot.as_mut().ok_or(StateError::None)?;
        let id = slot.id;
        let bytes = serde_json::to_vec(state)
            .map_err(|source| HandlerError::permanent(StateError::Unwritable { id, source }))?;
        if bytes.len() > MAX_STATE {
            return Err(HandlerError::permanent(StateError::TooLarge { id, bytes: bytes.len() }).into());
        }
        slot.left = Some(bytes.into());
        Ok(())
    }
}
