//! A consumer as the launch decided it: every setting resolved, every name bound.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::engine::ConsumerEngine;
use super::telemetry::DispatchContext;
use crate::component::{HookDef, Invoke, KeyDef, SagaHandlerDef};
use crate::executor::ConsumerExecutor;
use crate::identity::ConsumerId;
use crate::policy::{Batching, CheckpointMode, DeadLetterPolicy, HandlerTimeout, LoopSettings, RetryPolicy, StartFrom};
use crate::store::TransactionStore;

/// One consumer, ready to run.
#[derive(Clone)]
pub struct ConsumerPlan {
    /// Who.
    pub id: Arc<ConsumerId>,
    /// The component's value.
    pub component: Arc<dyn Any + Send + Sync>,
    /// What makes it a projector, a saga or an observer.
    pub engine: Arc<dyn ConsumerEngine>,
    /// Where it begins without a checkpoint.
    pub start: StartFrom,
    /// What accompanies its events.
    pub dispatch: Arc<DispatchContext>,
    /// For its handlers with an executor.
    pub mode: CheckpointMode,
    /// What becomes of later events of a key once one was given up.
    pub dead_letter: DeadLetterPolicy,
    /// How long after its last failure a dead letter is tried again by itself, if that failure was a transient one.
    pub redrive_transient: Option<Duration>,
    /// Whether the bundle's start waits for it.
    pub wait_for_head: bool,
    /// Run once per component version before its first event.
    pub on_start: Option<HookDef>,
    /// Run before events are handled again.
    pub on_reset: Option<HookDef>,
    /// At least one; no two for one event name.
    pub handlers: Vec<HandlerPlan>,
    /// Sizes and times.
    pub settings: LoopSettings,
}

/// One handler, ready to run.
#[derive(Clone)]
pub struct HandlerPlan {
    /// For people: `OrderView::placed`.
    pub label: String,
    /// The method, as dead letters name it.
    pub method: &'static str,
    /// The recorded names it is called for; `None` for the catch-all.
    pub names: Option<Vec<&'static str>>,
    /// How it is called.
    pub invoke: Invoke,
    /// What a saga needs to find the instance.
    pub saga: Option<SagaHandlerDef>,
    /// What it orders its events by, if not by their streams.
    pub key: Option<KeyDef>,
    /// Where its transaction comes from, if it takes one.
    pub transactions: Option<Arc<dyn TransactionStore>>,
    /// How many events it is called for at once; `None`: for each by itself.
    pub batch: Option<Batching>,
    /// How long an attempt may take.
    pub timeout: Option<HandlerTimeout>,
    /// How it is tried again.
    pub retry: RetryPolicy,
    /// Where it runs; `None`: in the consumer's own loop, one event after the other.
    pub executor: Option<Arc<dyn ConsumerExecutor>>,
}
