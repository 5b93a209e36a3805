//! One consumer's loop: feed -> dispatch -> executor -> handler -> settle -> checkpoint.
//!
//! One task owns a consumer's state. What decides is pure and lives apart: [`DeliveryLog`] (what a checkpoint may
//! cover), [`KeyQueues`] and [`Dispatch`] (what may start), [`RetryPlan`](crate::policy::RetryPlan) (what a failure
//! leads to). [`ConsumerProcessor`] moves events between them; it never waits for one key, one permit or one write.
//!
//! ```text
//!  feed ── page ──▶ DeliveryLog + Dispatch ── next ──▶ permit ──▶ attempt ── report ──▶ settled | waiting | dead
//!   ▲                                                                                        │
//!   └── room ◀────────────────────────── settler ◀── checkpoint, dead letters ◀──────────────┘
//! ```

mod attempt;
mod chain;
pub(crate) mod command;
mod delivery;
mod dispatch;
mod engine;
mod events;
mod feed;
mod figures;
mod group;
mod keys;
mod numbered;
mod parked;
mod plan;
mod processor;
mod ready;
mod routes;
mod series;
mod settle;
mod standing;
mod status;
mod suspects;
mod telemetry;
mod transaction;
mod work;

pub use command::SeekTo;
pub use delivery::{Cover, DeliveryLog, DeliveryNo, Mark};
pub use dispatch::{Dispatch, Lane};
pub use engine::{BindError, Binding, Bound, Claiming, ConsumerEngine};
pub use events::{EngineEvent, EngineEvents, Happening, Listener};
pub use figures::ConsumerFigures;
pub use keys::KeyQueues;
pub use parked::{ParkedKeys, Place};
pub use plan::{ConsumerPlan, HandlerPlan};
pub use processor::{ConsumerProcessor, ProcessorConfig};
pub(crate) use processor::{Ended, Found};
pub use routes::Routes;
pub use standing::OrderedBy;
pub use status::{ConsumerCounters, ConsumerStatus, HeldBy, StallReason, StatusCell, StopPhase};
pub(crate) use suspects::Unended;
pub use telemetry::{AttemptInfo, AttemptOutcome, DebugSpans, DispatchContext, Telemetry, Tracer};
