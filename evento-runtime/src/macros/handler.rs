//! What handles an event.

#[allow(unused_imports, reason = "for the links of the documentation")]
use super::{Event, observer, projector, saga};

/// Makes a method of a [`#[projector]`](macro@projector) or [`#[observer]`](macro@observer) block, or a free function, the
/// handler of one event. Handlers of sagas have [`#[saga_event_handler]`](macro@saga_event_handler).
///
/// A free function stands outside of every `impl`; one without `self` inside of one cannot join, and the compiler says so
/// in words of its own. `#[async_trait]` is not needed on either.
///
/// In a block it needs no import: the attribute of the block reads it.
///
/// # Signature
///
/// `async fn (&self, event, extractors…)`, without `&self` for free functions. Everything is taken by value but the
/// framework's transaction.
///
/// The first argument is the event: a type with [`#[derive(Event)]`](macro@Event), or
/// [`RawEvent`](crate::RawEvent) for every name the component has no handler for; with [`batch`](#batches) a `Vec` of
/// either. All later ones implement
/// [`FromContext`](crate::FromContext): [`Metadata`](crate::Metadata), [`Attempt`](crate::Attempt),
/// [`Position`](crate::Position), [`EventId`](crate::EventId), [`Outbox`](crate::Outbox),
/// [`Progress`](crate::Progress), [`Stop`](crate::Stop), [`Dep<T>`](crate::Dep) and [`Local<T>`](crate::Local), or a type of your own.
///
/// One of them may be `tx: &mut Tx<Sqlite>`, the transaction of this attempt: what the handler writes through it, that the
/// event is handled, and what it puts into its outbox are one commit. See [`Tx`](crate::Tx). It needs an `async fn`, and
/// the store to be that database.
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
/// | `key` | the field of the event that its events are kept in order by, `customer_id`, or the way to one: `customer.id`. Beside an `executor` that is `partitioned`: see [below](#a-key-of-its-own) | the key of the event's stream |
/// | `retry` | further attempts after an ordinary error; `-1` for ever | `-1` in line, none on an executor |
/// | `retry_delay` | delay before the first further attempt; it doubles from there. A whole number and `us`, `ms`, `s`, `m` or `h` | `"1s"` |
/// | `max_delay` | no delay is longer, before ± 20 % of jitter | `"30s"` |
/// | `timeout` | how long an attempt may take, with the units of `retry_delay`: see [below](#over-time) | as long as it takes |
/// | `on_timeout` | `"abandon"`: it is dropped then. Beside `timeout`, and on an `async fn` | it is waited for |
/// | `batch` | of a projector: it takes so many events at once, at most. See [below](#batches) | one event a call |
/// | `linger` | beside `batch`: how long the first of them waits for more, with the units of `retry_delay` | it takes what waits |
/// | `projector`, `observer` | free functions only: the unit struct they join | one of them is required there |
/// | `crate` | free functions only: the path of this crate from the root | `::evento_runtime` |
///
/// Doc text and source line of a handler travel with it, into the plan and into every message.
///
/// # Batches
///
/// `batch = 500` calls the handler with what waits, up to 500 events and never more than the window has room for, as
/// `Vec<E>`; `Vec<RawEvent>` has what is recorded with each. In order it is a run of events that follow each other; on an
/// executor what is ready of this handler, of several keys, and the events of one key in their order. `linger = "5ms"` waits
/// so long for more, and lets others on the executor go first.
///
/// ```
/// use evento_runtime::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Event, Serialize, Deserialize)]
/// # struct PageViewed { url: String }
/// # #[derive(Default)]
/// # struct Views;
/// #[projector(version = 1)]
/// impl Views {
///     #[event_handler(executor = "read-model", batch = 500, linger = "5ms", retry = 3)]
///     async fn viewed(&self, events: Vec<PageViewed>) -> Result<(), BoxError> {
///         // One statement for all of them …
///         # let _ = events;
///         Ok(())
///     }
/// }
/// ```
///
/// If the call fails, or its commit does, its halves are called, down to the event that fails alone: that call is its
/// attempt, and the others spend none. An event that cannot be decoded is found before the handler runs. With a
/// [`Tx`](crate::Tx) a call that has failed leaves nothing; without one, what it did before it failed is done again. A
/// transient failure outside of a transaction is not halved: the first event takes it, and the others come again with it.
/// A [`Flow`](crate::Flow) is that of each event; one that is not [`Continue`](crate::Flow::Continue) or
/// [`Skip`](crate::Flow::Skip) counts as a failure until the event is alone.
///
/// [`Attempt`](crate::Attempt) is the highest of theirs. [`Metadata`](crate::Metadata), [`Position`](crate::Position) and
/// [`EventId`](crate::EventId) are refused, and [`Outbox`](crate::Outbox) is without a `Tx`; an extractor of your own sees
/// the first event, and [`HandlerContext::events`](crate::HandlerContext::events) all of them. Interceptors see one call.
/// The events are covered by the checkpoint once they are settled, whatever the mode.
///
/// # A key of its own
///
/// On a `partitioned` executor events of one stream are handled one after the other. With `key = customer_id` it is those
/// of one customer instead, whatever streams they are in: anything with `Display`, or an `Option` of it; an event whose
/// value is absent or empty has no order to keep. Handlers of one component that name the same field share the order of
/// equal values, and share none with streams. The event is decoded once more for it; one that does not decode keeps the
/// key of its stream and fails where it is handled.
///
/// # Over time
///
/// A handler that is over its `timeout` is never dropped by itself: its [`Stop`](crate::Stop) fires, the consumer says
/// `handler over time`, its key and its permit stay taken until it returns, and what it returns counts.
///
/// `on_timeout = "abandon"` drops its future where it is, and the attempt has failed. Whatever it had awaited is dropped
/// as well, so it must stand being cut off at every `.await`. sqlx 0.9.0 does not, where it matters most: a `begin` that is
/// dropped can leave a transaction open on its connection, and the next one to use that connection from the pool writes
/// into it and loses the writes. Make the pools of such handlers with `guarded_postgres` or `guarded_mysql` of
/// `store::sql`, which roll back before a connection is used again. The framework's own transaction ([`Tx`](crate::Tx)) is
/// rolled back before its connection is used again.
///
/// `#[cfg]` on a handler holds for its registration too. `#[allow(..)]` on it covers what is written for it.
pub use evento_macros::event_handler;

/// Makes a method of a [`#[saga]`](macro@saga) block, or a free function, the handler of one event of a saga. Needs no
/// import in a block.
///
/// # Signature
///
/// `async fn (&self, event, state: &mut S, extractors…)`, without `&self` for free functions; a plain `fn` may block, as
/// in [`#[event_handler]`](macro@event_handler). Event and extractors are taken by value, and
/// [`Associations`](crate::Associations) is one more of them; `tx: &mut Tx<Sqlite>` is the framework's transaction, as there. All handlers of a saga take the same `S`, which derives
/// `Default`, `Serialize` and `Deserialize`. [`RawEvent`](crate::RawEvent) cannot be the event: it has no fields.
///
/// It returns what other handlers do. The state is stored after `()`, [`Flow::Continue`](crate::Flow::Continue) and
/// [`Flow::Complete`](crate::Flow::Complete); after all else the stored one stays as it was.
///
/// ```
/// use evento_runtime::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Event, Serialize, Deserialize)]
/// struct OrderPlaced { order_id: u64, coupon: Option<String> }
///
/// #[derive(Event, Serialize, Deserialize)]
/// struct Shipped { parcel: Parcel }
///
/// #[derive(Serialize, Deserialize)]
/// struct Parcel { number: String }
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Delivery { coupon: Option<String>, shipped: bool }
///
/// #[derive(Default)]
/// struct Deliver;
///
/// #[saga(version = 1)]
/// impl Deliver {
///     #[saga_event_handler(init, association = order_id, retry = 3)]
///     async fn placed(
///         &self,
///         event: OrderPlaced,
///         state: &mut Delivery,
///         associations: Associations,
///     ) -> Result<(), BoxError> {
///         state.coupon = event.coupon;
///         // Later events know the parcel, and nothing of the order.
///         associations.add("parcel", format!("p-{}", event.order_id))?;
///         Ok(())
///     }
///
///     #[saga_event_handler(association = parcel.number, property = "parcel")]
///     async fn shipped(&self, _event: Shipped, state: &mut Delivery) -> Flow {
///         state.shipped = true;
///         Flow::Complete
///     }
/// }
/// ```
///
/// # Options
///
/// | option | value | if it is left out |
/// |---|---|---|
/// | `association` | the field of the event that finds the instance: `order_id`, or the way to one: `order.id`. Anything with `Display`, or an `Option` of it; an absent or an empty value finds nothing | required |
/// | `property` | what instances are found by, 1 to 255 bytes; events whose fields have different names meet in it | the name of the field |
/// | `init` | the event begins an instance where there is none | it is passed there |
/// | `retry`, `retry_delay`, `max_delay`, `timeout` | as in [`#[event_handler]`](macro@event_handler#options) | as there, in line |
/// | `saga` | free functions only: the unit struct they join | required there |
/// | `crate` | free functions only: the path of this crate from the root | `::evento_runtime` |
///
/// There is no `executor`: events of a saga change one state in order, so they run one after the other in the consumer's
/// own loop.
pub use evento_macros::saga_event_handler;
