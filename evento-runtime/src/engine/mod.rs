//! The engines: they compose source, dispatch, executors and stores into running consumers.

mod plan;
mod supervisor;

pub use plan::{ConsumerPlan, HandlerPlan};
pub use supervisor::{EngineSupervisor, SupervisorConfig};
