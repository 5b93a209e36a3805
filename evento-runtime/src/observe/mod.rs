//! What a running bundle shows to the outside: metrics (feature `metrics`).
//!
//! Everything is read off the handles and figures that the engines keep for themselves; nothing here is called by them.

#[cfg(feature = "metrics")]
pub mod metrics;
