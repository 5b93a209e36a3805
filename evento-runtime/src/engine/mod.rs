//! The engines: they compose source, dispatch, executors and stores into running consumers.

mod config;
mod desired;
mod errand;
mod errands;
mod error;
mod handle;
mod hooks;
mod lag;
mod moving;
mod observer;
mod ownership;
mod presence;
mod projector;
mod pruning;
mod remote;
mod saga;
mod supervision;
mod supervisor;
mod target;
mod waiting;

pub use crate::consumer::{ConsumerEngine, ConsumerPlan, HandlerPlan};
pub use config::{ConsumerEngineConfig, ProcessorParts};
pub use errand::{Delivered, Errand};
pub use error::EngineError;
pub use handle::ConsumerHandle;
pub use lag::{Lag, MOST_COUNTED};
pub use observer::ObserverEngine;
pub use projector::ProjectorEngine;
pub use remote::RemoteConsumer;
pub use saga::SagaEngine;
pub use supervisor::{EngineSupervisor, SupervisorConfig};
pub use waiting::Waited;
