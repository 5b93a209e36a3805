//! What a type can be.

#[allow(unused_imports, reason = "for the links of the documentation")]
use super::{event_handler, inject, on_reset, saga_event_handler};

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
/// | `start` | `"beginning"` or `"head"` of the log: where a consumer begins that has no checkpoint yet | `"beginning"` |
/// | `wait_for_head` | whether the bundle's start waits until it has settled what was there | `false` |
/// | `contexts` | a context, a prefix `"tenant-*"`, or a list of them. One consumer each; they must not overlap | all contexts |
/// | `checkpoint` | `"on-start"` or `"watermark"`: see [`CheckpointMode`](crate::CheckpointMode) | what the bundle says; `"watermark"` where a handler takes a [`Tx`](crate::Tx) |
/// | `dead_letter` | `"skip"`: later events of a key go on after one was given up; `"park"`: they [queue behind it](crate::DeadLetterPolicy::Park) | `"skip"` |
/// | `redrive_transient` | `"5m"`: dead letters whose last failure was a transient one are tried again so long after it | never |
/// | `crate` | the path of this crate from the root, if it has another name or is re-exported | `::evento_runtime` |
///
/// What the bundle's builder says about a component wins over its attribute.
///
/// # Going back
///
/// A projector that is told to go back handles events once more. [`#[on_reset]`](macro@on_reset) clears what its
/// handlers wrote, [`Progress`](crate::Progress) tells a handler that this is so.
pub use evento_macros::projector;

/// Makes a type a saga: a component that keeps the state of a process which takes several events.
///
/// Each process is an *instance*. An event finds its instance by an *association*: a field of the event, such as
/// `order_id`. The instance that is found by a value is the only one that is: the store sees to it. What a handler makes
/// of the state is stored together with the checkpoint that passes the event, so an event is applied to it once.
///
/// ```
/// use evento_runtime::prelude::*;
/// use serde::{Deserialize, Serialize};
/// # #[derive(Clone)]
/// # struct Payments;
/// # impl Payments {
/// #     async fn open(&self, id: &str) -> Result<String, std::io::Error> { Ok(id.to_owned()) }
/// # }
///
/// #[derive(Event, Serialize, Deserialize)]
/// struct OrderPlaced { order_id: String }
///
/// #[derive(Event, Serialize, Deserialize)]
/// struct PaymentReceived { reference: String }
///
/// #[derive(Default, Serialize, Deserialize)]
/// struct Fulfilment { payment: Option<String> }
///
/// struct FulfilOrder { payments: Payments }
///
/// #[saga(version = 1)]
/// impl FulfilOrder {
///     #[inject]
///     fn new(payments: Payments) -> Self {
///         Self { payments }
///     }
///
///     /// Begins an instance where there is none for this order.
///     #[saga_event_handler(init, association = order_id)]
///     async fn placed(&self, event: OrderPlaced, state: &mut Fulfilment) -> Result<(), std::io::Error> {
///         state.payment = Some(self.payments.open(&event.order_id).await?);
///         Ok(())
///     }
///
///     /// Finds it by another field, and ends it.
///     #[saga_event_handler(association = reference, property = "order_id")]
///     async fn paid(&self, _event: PaymentReceived, _state: &mut Fulfilment) -> Flow {
///         Flow::Complete
///     }
/// }
/// ```
///
/// An event that finds no instance is passed, unless its handler says `init`. An instance ends when a handler returns
/// [`Flow::Complete`](crate::Flow::Complete); the same event does not begin it again.
///
/// The state begins as its `Default`, and is what `serde` makes of it: give new fields a `#[serde(default)]`. It is
/// decoded anew for every attempt, so a failed one leaves nothing half changed.
///
/// Events of a saga are handled one after the other, in the order of the log. What a handler does elsewhere, it may do
/// twice after a crash: put it last, or send the [`EventId`](crate::EventId) along. What it puts into the
/// [`Outbox`](crate::Outbox) is stored with the state; [`Outbox::schedule`](crate::Outbox::schedule) is a time-out.
///
/// # Function style
///
/// On a unit struct. Free functions join it with `#[saga_event_handler(saga = FulfilOrder, association = ..)]`; see
/// [`#[projector]`](macro@projector) for where this works and where it does not.
///
/// ```
/// use evento_runtime::prelude::*;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Event, Serialize, Deserialize)]
/// # struct OrderPlaced { order_id: String }
/// # #[derive(Default, Serialize, Deserialize)]
/// # struct Fulfilment { placed: bool }
///
/// #[saga(version = 1)]
/// struct FulfilOrder;
///
/// #[saga_event_handler(saga = FulfilOrder, init, association = order_id)]
/// async fn placed(_event: OrderPlaced, state: &mut Fulfilment) {
///     state.placed = true;
/// }
/// ```
///
/// # Options
///
/// Those of [`#[projector]`](macro@projector#options) but for `checkpoint`: a saga's events are covered only once they
/// are settled. A new `version` is a new saga without instances; with `start` left out it begins at the head of the log.
pub use evento_macros::saga;

/// Makes a type an observer: a component that has effects elsewhere: mails, calls, messages.
///
/// It is written like a [`#[projector]`](macro@projector), in block style or in function style, where free functions join
/// it with `#[event_handler(observer = Receipts)]`. What is different is what it is for:
///
/// * It begins at the head of the log, unless `start = "beginning"` says otherwise: a new observer does not send the mails
///   of last year.
/// * An event is *claimed* before it is handled, and its claim is done afterwards. An event that was handled is not handled
///   again, even where the checkpoint did not come to pass it. One whose handler was running when the process died is
///   handled once more: hand the [`EventId`](crate::EventId) to the other side, which can tell the two apart.
/// * It is covered by the checkpoint only once it is settled; there is no `checkpoint` option.
/// * What it has done elsewhere cannot be taken back; there is no [`#[on_reset]`](macro@on_reset).
///
/// ```
/// use evento_runtime::prelude::*;
/// use serde::{Deserialize, Serialize};
/// # #[derive(Clone)]
/// # struct Smtp;
/// # impl Smtp {
/// #     async fn send(&self, to: &str, id: EventId) -> Result<(), std::io::Error> { let _ = (to, id); Ok(()) }
/// # }
///
/// #[derive(Event, Serialize, Deserialize)]
/// struct OrderPlaced { email: String }
///
/// #[derive(Default)]
/// struct Receipts;
///
/// #[observer(version = 1)]
/// impl Receipts {
///     #[event_handler(executor = "mail", retry = 5)]
///     async fn placed(&self, event: OrderPlaced, Dep(smtp): Dep<Smtp>, id: EventId) -> Result<(), std::io::Error> {
///         smtp.send(&event.email, id).await
///     }
/// }
/// ```
///
/// # Options
///
/// Those of [`#[projector]`](macro@projector#options) but for `checkpoint`.
pub use evento_macros::observer;
