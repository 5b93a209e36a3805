//! What a running bundle shows to the outside: its health, metrics (feature `metrics`), and the same for people who export
//! through the `metrics` facade (feature `metrics-facade`).
//!
//! Everything is read off the handles and figures that the engines keep for themselves; nothing here is called by them.

mod health;

pub use health::{ConsumerHealth, Health, HealthCheck};

#[cfg(feature = "metrics-facade")]
pub mod facade;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(any(feature = "metrics", feature = "metrics-facade"))]
#[cfg_attr(
    not(all(feature = "metrics", feature = "metrics-facade")),
    allow(dead_code, reason = "one exports what the other does not")
)]
mod snapshot;
