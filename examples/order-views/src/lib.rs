//! Events and read models of the `orders` example.
//!
//! They live in a crate of their own to show the link rule: a crate that nobody names is not linked, and its
//! handlers are not there. `orders` names this one with `evento_runtime::link!(order_views)`.

pub mod customer_spend;
pub mod events;
pub mod order_totals;
