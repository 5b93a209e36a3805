//! The attributes, and all there is to say about them.
//!
//! `EVENTO_MACROS_DEBUG=1 cargo check` prints what they write.

/// Makes a type a projector: a component that keeps a read model from events.
///
/// # Block style
///
/// On a type's own `impl` block. Methods with `#[event_handler]` are its handlers; everything else in the block stays as
/// it is, and so do the methods themselves: tests can call them.
///
/// ```
/// use evento_runtime::prelude::*;
/// use serde::{Deserialize, Serialize};
/// # use std::sync::{Arc, Mutex};
/// # #[derive(Clone, Default)]
/// # struct Database(Arc<Mutex<Vec<(String, u64)>>>);
/// # impl Database {
/// #     async fn upsert(&self, id: String, cents: u64) -> Result<(), std::io::Error> {
/// #         self.0.lock().map(|mut rows| rows.push((id, cents))).map_err(|_| std::io::Error::other("poisoned"))
/// #     }
/// # }
///
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(key = order_id)]
/// struct OrderPlaced { order_id: String, cents: u64 }
///
/// /// One row per order.
/// struct OrderView { db: Database }
///
/// #[projector(version = 1)]
/// impl OrderView {
///     #[inject]
///     fn new(db: Database) -> Self {
///         Self { db }
///     }
///
///     #[event_handler(executor = "read-model", retry = 3)]
///     async fn placed(&self, event: OrderPlaced) -> Result<(), std::io::Error> {
///         self.db.upsert(event.order_id, event.cents).await
///     }
/// }
/// ```
///
/// The value is made once per consumer, by the method with [`#[inject]`](macro@inject) or else by `Default`, or it is
/// given to the bundle with `.component(..)`. It is shared by all events that run at the same time; that is why handlers take `&self`. `self` is wiring, never data.
///
/// The type must be concrete, because it is registered once: a generic one needs a wrapper for each type you mean.
///
/// # Function style
///
/// On a unit struct. It declares the component; free functions of any module and any crate join it, with
/// `#[event_handler(projector = OrderTotals)]`.
///
/// ```
/// use evento_runtime::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Clone)]
/// # struct Database;
/// # #[derive(Event, Serialize, Deserialize)]
/// # struct OrderPlaced { cents: u64 }
///
/// #[projector(version = 1)]
/// struct OrderTotals;
///
/// #[event_handler(projector = OrderTotals, executor = "read-model")]
/// async fn placed(event: OrderPlaced, Dep(db): Dep<Database>) -> Result<(), std::io::Error> {
/// #   let _ = (event.cents, db);
///     // …
///     Ok(())
/// }
/// ```
///
/// Free functions are found by a registry that needs an ordinary link. In static libraries, plugins and wasm use block
/// style and `.register::<T>()`. A crate of handlers that the binary never names is not linked at all: see
/// [`link!`](crate::link).
///
/// # Options
///
/// | option | value | if it is left out |
/// |---|---|---|
/// | `version` | a whole number from 1. Another one is another consumer, which starts over | required |
/// | `name` | identity in the store, 1 to 100 of `A-Z a-z 0-9 . _ -` | the type's own name |
/// | `wait_for_head` | whether the bundle's start waits until it has settled what was there | `false` |
/// | `contexts` | a context, a prefix `"tenant-*"`, or a list of them. One consumer each; they must not overlap | all contexts |
/// | `checkpoint` | `"on-start"` or `"watermark"`: see [`CheckpointMode`](crate::CheckpointMode) | what the bundle says |
/// | `crate` | the path of this crate from the root, if it has another name or is re-exported | `::evento_runtime` |
///
/// What the bundle's builder says about a component wins over its attribute.
pub use evento_macros::projector;

/// Makes a method of a [`#[projector]`](macro@projector) block, or a free function, the handler of one event.
///
/// A free function stands outside of every `impl`; one without `self` inside of one cannot join, and the compiler says so
/// in words of its own. `#[async_trait]` is not needed on either.
///
/// In a block it needs no import: `#[projector]` reads it.
///
/// # Signature
///
/// `async fn (&self, event, extractors…)`, without `&self` for free functions. Everything is taken by value.
///
/// The first argument is the event: a type with [`#[derive(Event)]`](macro@Event), or
/// [`RawEvent`](crate::RawEvent) for every name the component has no handler for. All later ones implement
/// [`FromContext`](crate::FromContext): [`Metadata`](crate::Metadata), [`Attempt`](crate::Attempt),
/// [`Position`](crate::Position), [`EventId`](crate::EventId), [`Outbox`](crate::Outbox), [`Stop`](crate::Stop),
/// [`Dep<T>`](crate::Dep) and [`Local<T>`](crate::Local), or a type of your own.
///
/// It returns nothing, [`Flow`](crate::Flow), or a `Result` of either with any error that converts into
/// `Box<dyn Error + Send + Sync>`.
///
/// A plain `fn` may block; it never runs on an async worker. (If you use clippy's pedantic lints, allow
/// `needless_pass_by_value` for it: a handler owns its event.)
///
/// ```
/// use evento_runtime::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Event, Serialize, Deserialize)]
/// # struct OrderPlaced { cents: u64 }
/// # #[derive(Event, Serialize, Deserialize)]
/// # struct OrderPaid {}
/// const MAIL: &str = "mail";
///
/// #[derive(Default)]
/// struct Receipts;
///
/// #[projector(version = 1)]
/// impl Receipts {
///     /// A constant's name can be misspelt only once.
///     #[event_handler(executor = MAIL, retry = 5, retry_delay = "500ms", max_delay = "1m")]
///     async fn placed(&self, event: OrderPlaced, attempt: Attempt) -> Result<Flow, std::io::Error> {
///         // …
///         # let _ = attempt;
///         Ok(if event.cents == 0 { Flow::Skip } else { Flow::Continue })
///     }
///
///     /// In line: after all earlier work of this consumer.
///     #[event_handler]
///     fn paid(&self, _event: OrderPaid) {}
/// }
/// ```
///
/// # Options
///
/// | option | value | if it is left out |
/// |---|---|---|
/// | `executor` | the name of an executor of the bundle: a string, or the path of a `&'static str` constant | the handler runs in line |
/// | `retry` | further attempts after an ordinary error; `-1` for ever | `-1` in line, none on an executor |
/// | `retry_delay` | delay before the first further attempt; it doubles from there. A whole number and `us`, `ms`, `s`, `m` or `h` | `"1s"` |
/// | `max_delay` | no delay is longer, before ± 20 % of jitter | `"30s"` |
/// | `projector` | free functions only: the unit struct they join | required there |
/// | `crate` | free functions only: the path of this crate from the root | `::evento_runtime` |
///
/// Doc text and source line of a handler travel with it, into the plan and into every message.
///
/// `#[cfg]` on a handler holds for its registration too. `#[allow(..)]` on it covers what is written for it.
pub use evento_macros::event_handler;
pub use evento_macros::{saga, observer, saga_event_handler, on_reset};

/// Marks the constructor in a [`#[projector]`](macro@projector) block. Needs no import there.
///
/// `fn new(a: A, b: B) -> Self`: a plain function, without `self` and without `async`. Its arguments are values that were
/// given to the bundle with `.provide(..)`, found by their types; each must be `Clone + Send + Sync + 'static`. One that
/// nobody provided stops the launch.
///
/// What can fail, or has to wait, is done before: connect in `main`, and provide the connection.
pub use evento_macros::inject;

/// Marks a hook: in a [`#[projector]`](macro@projector) block, where it needs no import, or on a free function that
/// names the unit struct it joins: `#[on_start(projector = OrderTotals)]`.
///
/// `async fn (&self, dependency: Dep<T>, …)`, without `&self` for a free function: runs once per component version, before its first event, to create tables
/// and the like. Its arguments implement [`FromStart`](crate::context::FromStart). It returns nothing, or
/// `Result<(), E>` with any error that converts into `Box<dyn Error + Send + Sync>`.
///
/// ```
/// use evento_runtime::prelude::*;
/// # #[derive(Clone)]
/// # struct Database;
/// # #[derive(Default)]
/// # struct OrderView;
/// #[projector(version = 2)]
/// impl OrderView {
///     #[on_start]
///     async fn create_tables(&self, Dep(db): Dep<Database>) -> Result<(), std::io::Error> {
///         // …
///         # let _ = db;
///         Ok(())
///     }
///     # #[event_handler] async fn on(&self, _event: RawEvent) {}
/// }
/// ```
pub use evento_macros::on_start;

/// Makes a type an [`Event`](trait@crate::Event). It must be `Serialize` and `Deserialize` as well, and own its data.
///
/// ```
/// use evento_runtime::Event;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Event, Serialize, Deserialize)]
/// #[event(name = "shop.OrderPlaced", alias = "OrderCreated", context = "shop", key = order_id)]
/// struct OrderPlaced {
///     order_id: u64,
/// }
///
/// assert_eq!(OrderPlaced::NAME, "shop.OrderPlaced");
/// assert_eq!(OrderPlaced { order_id: 7 }.key().as_deref(), Some("7"));
/// ```
///
/// # Options
///
/// | option | value | if it is left out |
/// |---|---|---|
/// | `name` | the recorded name, 1 to 100 of `A-Z a-z 0-9 . _ -` | the type's own name |
/// | `alias` | an older name this type reads as well; may be given several times, or as a list | none |
/// | `context` | what new events are recorded under, 1 to 255 bytes | `"default"` |
/// | `key` | the field with the key (aggregate id), as `Display` writes it: `key = order_id`, or `key = 0` | no key of its own |
/// | `crate` | the path of this crate from the root | `::evento_runtime` |
///
/// The name is identity. If you rename the type, keep the name, or give the old one as `alias`.
pub use evento_macros::Event;
