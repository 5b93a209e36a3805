//! A named set of components with a store and executors: first a plan, then a process.

mod report;

pub use report::{LaunchError, Problem};
