//! What makes a component's value, and what runs beside its events.

#[allow(unused_imports, reason = "for the links of the documentation")]
use super::{observer, projector, saga};

/// Marks the constructor in a block of [`#[projector]`](macro@projector), [`#[saga]`](macro@saga) or
/// [`#[observer]`](macro@observer). Needs no import there.
///
/// `fn new(a: A, b: B) -> Self`: a plain function, without `self` and without `async`. Its arguments are values that were
/// given to the bundle with `.provide(..)`, found by their types; each must be `Clone + Send + Sync + 'static`. One that
/// nobody provided stops the launch.
///
/// What can fail, or has to wait, is done before: connect in `main`, and provide the connection.
pub use evento_macros::inject;

/// Marks a hook: in a block of [`#[projector]`](macro@projector), [`#[saga]`](macro@saga) or
/// [`#[observer]`](macro@observer), where it needs no import, or on a free function that names the unit struct it joins:
/// `#[on_start(projector = OrderTotals)]`, `saga = ..` or `observer = ..`.
///
/// `async fn (&self, dependency: Dep<T>, …)`, without `&self` for a free function: runs once per component version, before its first event, to create tables
/// and the like. Its arguments implement [`FromStart`](crate::context::FromStart): values that were provided, and which
/// consumer it is about, since a component is one for each pattern of contexts it reads. It returns nothing, or
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

/// Marks the hook of a projector that goes back: in a [`#[projector]`](macro@projector) block, where it needs no import, or
/// on a free function that names the unit struct it joins: `#[on_reset(projector = OrderTotals)]`.
///
/// It runs when the consumer is told to go back, before the first event is handled again, and clears what the handlers
/// wrote. It must stand being run twice: a crash between it and the first event runs it once more. It takes and
/// returns what [`#[on_start]`](macro@on_start) does.
///
/// A component that reads several contexts ([`component_contexts`](crate::BundleBuilder::component_contexts)) is a consumer
/// for each of them, and only one of these goes back: its hook takes a
/// [`ContextPattern`](crate::identity::ContextPattern) and clears what belongs to that.
///
/// ```
/// use evento_runtime::prelude::*;
/// # #[derive(Clone)]
/// # struct Database;
/// # impl Database {
/// #     async fn clear(&self, table: &str) -> Result<(), std::io::Error> { let _ = table; Ok(()) }
/// # }
/// # #[derive(Default)]
/// # struct OrderView;
/// #[projector(version = 2)]
/// impl OrderView {
///     #[on_reset]
///     async fn clear(&self, Dep(db): Dep<Database>, contexts: ContextPattern) -> Result<(), std::io::Error> {
///         match contexts {
///             ContextPattern::Exact(tenant) => db.clear(&format!("order_view_{tenant}")).await,
///             _ => db.clear("order_view").await,
///         }
///     }
///     # #[event_handler] async fn on(&self, _event: RawEvent) {}
/// }
/// ```
///
/// Only projectors have it: a saga applies no event twice, so it has nothing to clear, and what an observer has done
/// elsewhere cannot be taken back.
pub use evento_macros::on_reset;
