//! Hooks of a component that run before its next event: once for a version, and after the consumer was moved back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::watch;

use super::error::EngineError;
use crate::component::HookDef;
use crate::consumer::{ConsumerPlan, ProcessorConfig};
use crate::context::{ConsumerScope, Stop};
use crate::error::BoxError;
use crate::store::{ConsumerState, Lease, Settlement};
use crate::task::panic_text;

/// A hook that has to run before the first event.
pub(super) struct Hook {
    def: Option<HookDef>,
    reset: bool,
}

impl Hook {
    pub(super) fn due(plan: &ConsumerPlan, state: &ConsumerState) -> Vec<Self> {
        let start = plan.on_start.filter(|_| !state.started).map(|def| Self { def: Some(def), reset: false });
        let reset = state.resetting.then_some(Self { def: plan.on_reset, reset: true });
        start.into_iter().chain(reset).collect()
    }

    pub(super) fn method(&self) -> &'static str {
        self.def.map_or("on_reset", |def| def.method)
    }

    /// Says that it has run.
    fn settlement(&self) -> Settlement {
        Settlement { started: !self.reset, resetting: self.reset.then_some(false), ..Settlement::default() }
    }

    pub(super) fn error(&self, component: &str, source: BoxError) -> EngineError {
        let (hook, component) = (format!("{component}::{}", self.method()), component.to_owned());
        match self.reset {
            false => EngineError::OnStart { hook, component, source },
            true => EngineError::OnReset { hook, component, source },
        }
    }

    /// Calls it, and stores that it has run.
    pub(super) async fn run(&self, config: &ProcessorConfig, lease: Lease) -> Result<(), BoxError> {
        let def =
            self.def.ok_or("the component has no `#[on_reset]` hook any more; give it one, or seek with `keep`")?;
        let (_never, stop_signal) = watch::channel(false);
        let (id, component) = (Arc::clone(&config.plan.id), Arc::clone(&config.plan.component));
        let scope = Arc::new(ConsumerScope::new(id, component, config.deps.clone(), Stop::new(stop_signal)));
        let (state, settlement) = (Arc::clone(&config.state), self.settlement());
        config
            .tasks
            .run(async move {
                let called = AssertUnwindSafe(async { (def.invoke)(scope).await }).catch_unwind().await;
                called.map_err(|panic| format!("it panicked: {}", panic_text(panic.as_ref())))??;
                Ok(state.settle(&lease, settlement).await?)
            })
            .await
    }
}
