//! The engines: they compose source, dispatch, executors and stores into running consumers.

mod ownership;
mod supervisor;

pub use crate::consumer::{ConsumerPlan, HandlerPlan};
pub use supervisor::{EngineSupervisor, SupervisorConfig};
