//! The values a bundle provides to constructors and handlers, by type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// A type that a constructor or an extractor asks for; known before anything runs.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    type_id: TypeId,
    type_name: fn() -> &'static str,
    from: From,
}

/// Who has to give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Bundle,
    Interceptor,
    Engine,
    Saga,
}

impl Need {
    /// The need for a provided value of type `T`.
    #[must_use]
    pub const fn of<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>, from: From::Bundle }
    }

    /// The need for a value that an interceptor puts for each attempt.
    #[must_use]
    pub const fn local<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>, from: From::Interceptor }
    }

    /// The need for something that the engine gives to every handler.
    #[must_use]
    pub const fn engine<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>, from: From::Engine }
    }

    /// The need for something that only a saga has.
    #[must_use]
    pub const fn saga<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>, from: From::Saga }
    }

    /// Whether an interceptor has to put it, rather than `.provide(..)`.
    #[must_use]
    pub const fn is_local(&self) -> bool {
        matches!(self.from, From::Interceptor)
    }

    /// Whether the engine gives it, rather than `.provide(..)` or an interceptor.
    #[must_use]
    pub const fn is_of_engine(&self) -> bool {
        matches!(self.from, From::Engine | From::Saga)
    }

    /// Whether only a saga has it.
    #[must_use]
    pub const fn is_of_saga(&self) -> bool {
        matches!(self.from, From::Saga)
    }

    /// The type, as a map key.
    #[must_use]
    pub const fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Its name, for messages only.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        (self.type_name)()
    }
}

/// What can be provided: every call gets a clone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a provided value",
    label = "not `Clone + Send + Sync + 'static`",
    note = "derive `Clone` for `{Self}`, or provide an `Arc` of it"
)]
pub trait Provided: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Provided for T {}

/// Provided values by type. Cheap to clone.
#[derive(Clone, Default)]
pub struct Deps(Arc<HashMap<TypeId, Value>>);

type Value = (Need, Arc<dyn Any + Send + Sync>);

impl Deps {
    /// With one more value; `None` gives back nothing if the type is there already.
    pub fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) -> bool {
        let map = Arc::make_mut(&mut self.0);
        map.insert(TypeId::of::<T>(), (Need::of::<T>(), Arc::new(value))).is_none()
    }

    /// A clone of the provided value.
    #[must_use]
    pub fn get<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        let (_, value) = self.0.get(&TypeId::of::<T>())?;
        value.downcast_ref::<T>().cloned()
    }

    /// Whether a type is provided.
    #[must_use]
    pub fn contains(&self, need: &Need) -> bool {
        self.0.contains_key(&need.type_id)
    }

    /// The types that are provided.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        self.0.values().map(|(need, _)| *need).collect()
    }

    /// Takes over what `other` provides and this does not.
    pub fn fill_from(&mut self, other: &Self) {
        let map = Arc::make_mut(&mut self.0);
        for (type_id, value) in other.0.iter() {
            map.entry(*type_id).or_insert_with(|| value.clone());
        }
    }
}

impl std::fmt::Debug for Deps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets; their number is all there is to say.
        write!(f, "Deps({} values)", self.0.len())
    }
}
