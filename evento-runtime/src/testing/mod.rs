//! For tests of your own: the real engine, in memory, on a virtual clock. Behind the feature `testing`.
//!
//! [`run`] gives a test a runtime whose clock stands still while anything can run and jumps when nothing can: a retry
//! that is due in half an hour is due at once. [`Scenario`] starts a bundle there: events that are given, events that
//! are appended, and then what was emitted and what was given to the dead letters.
//!
//! ```
//! use evento_runtime::prelude::*;
//! use evento_runtime::testing::{self, Scenario};
//! # #[derive(Event, serde::Serialize, serde::Deserialize)]
//! # struct OrderPaid { order_id: String }
//! # #[derive(Debug, PartialEq, Event, serde::Serialize, serde::Deserialize)]
//! # struct InvoiceDue { order_id: String }
//! # #[derive(Default)]
//! # struct Invoicing;
//! # #[projector(version = 1)]
//! # impl Invoicing {
//! #     #[event_handler]
//! #     async fn paid(&self, event: OrderPaid, outbox: Outbox) {
//! #         outbox.emit(InvoiceDue { order_id: event.order_id });
//! #     }
//! # }
//!
//! # fn main() -> evento_runtime::Result {
//! testing::run(async {
//!     let test = Scenario::given([OrderPaid { order_id: "a".into() }], |bundle| {
//!         bundle.component(Invoicing::default())
//!     })
//!     .await?;
//!     test.when([OrderPaid { order_id: "b".into() }]).await?;
//!     let invoices: Vec<InvoiceDue> = test.emitted().await?;
//!     assert_eq!(invoices.len(), 2);
//!     assert!(test.dead_letters().await?.is_empty());
//!     test.stop().await
//! })?
//! # ; Ok(()) }
//! ```
//!
//! # Handlers that run again
//!
//! After a crash events come again, up to the [window](crate::BundleBuilder::window), and a handler without the
//! framework's transaction has to stand that. [`simulate`] finds those that do not: it crashes the process between
//! handlers and the checkpoint that covers them, starts it again, and compares what is left with an undisturbed run.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::{Arc, Mutex};
//!
//! use evento_runtime::prelude::*;
//! use evento_runtime::testing::simulate;
//!
//! # #[derive(Event, serde::Serialize, serde::Deserialize)]
//! # struct OrderPaid { order_id: String, cents: u64 }
//! /// Clones share the read model, as those of a connection pool would.
//! #[derive(Clone, Default)]
//! struct Paid(Arc<Mutex<BTreeMap<String, u64>>>);
//!
//! #[projector(version = 1)]
//! impl Paid {
//!     #[event_handler]
//!     async fn paid(&self, event: OrderPaid) {
//!         // `insert` may run again; `+= event.cents` may not, and would be found.
//!         self.0.lock().unwrap().insert(event.order_id, event.cents);
//!     }
//! }
//!
//! # fn main() -> evento_runtime::Result {
//! let events = (0..20).map(|n| OrderPaid { order_id: format!("o{n}"), cents: n * 100 });
//! simulate(Paid::default, events, 50).compare(|paid| paid.0.lock().unwrap().clone())?;
//! # Ok(()) }
//! ```

mod crashing;
mod scenario;
mod simulation;

pub use scenario::{NotSettled, Scenario};
pub use simulation::{Rerun, Simulation, simulate};

use crate::error::BoxError;

/// Runs a test on a runtime of its own, whose clock is virtual: time passes only while nothing can run.
///
/// # Errors
/// The system gives no runtime.
///
/// # Panics
/// Inside of another runtime: the test is a plain `#[test]`. And with a panic of `test`.
pub fn run<T>(test: impl Future<Output = T>) -> Result<T, BoxError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    Ok(runtime.block_on(test))
}
