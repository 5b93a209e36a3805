//! Ownership over time: who may work for which consumer, and for how long this process may believe it.

mod keeper;

pub use keeper::{HeldLease, Keeper, LeaseRenewal, Validity};
