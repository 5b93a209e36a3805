//! The engines: they compose source, dispatch, executors and stores into running consumers.

mod desired;
mod error;
mod handle;
mod ownership;
mod supervisor;

pub use crate::consumer::{ConsumerPlan, HandlerPlan};
pub use error::EngineError;
pub use handle::ConsumerHandle;
pub use supervisor::{EngineSupervisor, SupervisorConfig};
