//! Handlers, one row each.

use std::any::TypeId;
use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Location;
use crate::context::HandlerContext;
use crate::deps::Need;
use crate::error::BoxError;
use crate::event::EventArgument;
use crate::outcome::HandlerResult;
use crate::store::Database;

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

/// The key of its own that a handler orders its events by.
#[derive(Clone, Copy)]
pub struct KeyDef {
    /// The field: `customer_id`. Handlers of a consumer that name the same one share the order of equal values.
    pub field: &'static str,
    /// The value of it in an event; `None` where the event has none. Decodes the event.
    pub value: fn(&HandlerContext) -> Result<Option<String>, BoxError>,
}

/// The type of a saga's state, as one of its handlers names it.
#[derive(Clone, Copy)]
pub struct StateDef {
    /// The Rust type.
    pub type_id: TypeId,
    /// For messages.
    pub type_name: fn() -> &'static str,
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
    /// The key it orders events by instead.
    pub key: Option<KeyDef>,
    /// The executor it names.
    pub executor: Option<&'static str>,
    /// Further attempts; -1 for ever; `None`: not said.
    pub retry: Option<i32>,
    /// Delay before the first further attempt.
    pub retry_delay: Option<Duration>,
    /// Longest delay.
    pub max_delay: Option<Duration>,
    /// How long it may take before that is told; `None`: as long as it takes.
    pub timeout: Option<Duration>,
    /// Whether its future is dropped then, rather than waited for.
    pub abandon: bool,
    /// It takes so many events at once, at most; `None`: one.
    pub batch: Option<u32>,
    /// How long it waits for more of them; `None`: it takes what waits.
    pub linger: Option<Duration>,
    /// Fields of its event whose values are not shown.
    pub sensitive: &'static [&'static str],
    /// Provided types it takes, one list an argument.
    pub needs: &'static [&'static [Need]],
    /// Calls it.
    pub invoke: Invoke,
    /// For sagas only.
    pub saga: Option<SagaHandlerDef>,
    /// The state it takes; for sagas only.
    pub state: Option<StateDef>,
    /// The database whose transaction it takes.
    pub transaction: Option<Need>,
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
            sensitive: E::SENSITIVE,
            key: None,
            executor: None,
            retry: None,
            retry_delay: None,
            max_delay: None,
            timeout: None,
            abandon: false,
            batch: None,
            linger: None,
            needs: &[],
            invoke,
            saga: None,
            state: None,
            transaction: None,
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

    /// Says which state it takes. A saga has one, whatever handlers it has.
    #[must_use]
    pub const fn state<S: 'static>(mut self) -> Self {
        self.state = Some(StateDef { type_id: TypeId::of::<S>(), type_name: std::any::type_name::<S> });
        self
    }

    /// Says that it takes the framework's transaction.
    #[must_use]
    pub const fn transaction<D: Database>(mut self) -> Self {
        self.transaction = Some(Need::of::<D>());
        self
    }

    /// Has it order its events by a key of its own.
    #[must_use]
    pub const fn key(mut self, key: KeyDef) -> Self {
        self.key = Some(key);
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

    /// Sets how long it may take, in microseconds.
    #[must_use]
    pub const fn timeout(mut self, micros: u64) -> Self {
        self.timeout = Some(Duration::from_micros(micros));
        self
    }

    /// Says that it is dropped where it is once it is over its time.
    #[must_use]
    pub const fn abandon(mut self) -> Self {
        self.abandon = true;
        self
    }

    /// Says that it takes up to so many events at once: a `Vec<E>`.
    #[must_use]
    pub const fn batch(mut self, most: u32) -> Self {
        self.batch = Some(most);
        self
    }

    /// Sets how long it waits for more of them, in microseconds.
    #[must_use]
    pub const fn linger(mut self, micros: u64) -> Self {
        self.linger = Some(Duration::from_micros(micros));
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
