//! What a running bundle shows to the outside: its health, and metrics (feature `metrics`).
//!
//! Everything is read off the handles and figures that the engines keep for themselves; nothing here is called by them.

mod health;

pub use health::{ConsumerHealth, Health, HealthCheck};

#[cfg(feature = "metrics")]
pub mod metrics;
