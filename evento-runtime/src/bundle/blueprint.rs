//! A judged draft, resolved: what remains of the builder once nothing is wrong.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::discover::{Draft, DraftComponent};
use super::plan::Plan;
use super::report::Problem;
use crate::component::{Build, ComponentDef, HandlerDef, HookDef, Kind, Location};
use crate::consumer::DispatchContext;
use crate::context::MissingDependency;
use crate::deps::Deps;
use crate::engine::{ConsumerEngine, ConsumerPlan, HandlerPlan, ObserverEngine, ProjectorEngine, SagaEngine};
use crate::event::Redaction;
use crate::executor::ConsumerExecutor;
use crate::identity::{ConsumerId, ContextPattern};
use crate::policy::{Batching, CheckpointMode, DeadLetterPolicy, HandlerTimeout, LoopSettings, RetryPolicy, StartFrom};
use crate::store::Stores;

pub(super) struct Blueprint {
    pub(super) warnings: Vec<Problem>,
    pub(super) plan: Plan,
    components: Vec<Resolved>,
    sizes: LoopSettings,
    pub(super) redaction: Redaction,
}

struct Resolved {
    def: &'static ComponentDef,
    value: Option<Arc<dyn Any + Send + Sync>>,
    mode: CheckpointMode,
    dead_letter: DeadLetterPolicy,
    redrive_transient: Option<Duration>,
    wait_for_head: bool,
    /// Whether this instance runs it.
    enabled: bool,
    /// One consumer each.
    contexts: Vec<ContextPattern>,
    on_start: Option<&'static HookDef>,
    on_reset: Option<&'static HookDef>,
    start: StartFrom,
    handlers: Vec<ResolvedHandler>,
}

struct ResolvedHandler {
    def: &'static HandlerDef,
    label: String,
    retry: RetryPolicy,
    timeout: Option<HandlerTimeout>,
    batch: Option<Batching>,
}

impl Resolved {
    fn of(component: &DraftComponent) -> Self {
        let settings = &component.settings;
        Self {
            def: component.def,
            value: component.value.clone(),
            mode: component.mode(),
            dead_letter: settings.dead_letter.value,
            redrive_transient: settings.redrive_transient.as_ref().map(|every| every.value),
            wait_for_head: settings.wait_for_head.value,
            enabled: settings.is_enabled(),
            contexts: settings.contexts.value.iter().filter_map(|text| ContextPattern::parse(text).ok()).collect(),
            on_start: component.hooks.first().copied(),
            on_reset: component.resets.first().copied(),
            start: settings.start.value,
            handlers: component
                .handlers
                .iter()
                .map(|handler| ResolvedHandler {
                    def: handler.def,
                    label: component.label(handler),
                    retry: handler.settings.policy(),
                    timeout: handler.settings.timeout(),
                    batch: handler.settings.batching(),
                })
                .collect(),
        }
    }

    fn value(&self, deps: &Deps) -> Result<Arc<dyn Any + Send + Sync>, MissingDependency> {
        match (&self.value, self.def.build) {
            (Some(value), _) => Ok(Arc::clone(value)),
            (None, Build::With { build, .. }) => build(deps),
            (None, Build::Unit) => Ok(Arc::new(())),
            // Rule `no-constructor`.
            (None, Build::Given) => Err(MissingDependency(self.def.name)),
        }
    }

    fn consumers(&self, bundle: &Arc<str>) -> impl Iterator<Item = ConsumerId> {
        self.contexts.iter().map(|context| ConsumerId {
            bundle: Arc::clone(bundle),
            component: self.def.name.into(),
            version: self.def.version,
            context: context.clone(),
        })
    }
}

impl Blueprint {
    pub(super) fn of(draft: &Draft<'_>, warnings: Vec<Problem>) -> Self {
        Self {
            plan: Plan::of(draft, warnings.clone()),
            warnings,
            components: draft.components.iter().map(Resolved::of).collect(),
            sizes: draft.sizes.for_loop(),
            redaction: Redaction::new(draft.handlers().flat_map(|(_, handler)| {
                let names = handler.def.names.into_iter();
                let names = names.flat_map(|(name, aliases)| std::iter::once(name).chain(aliases.iter().copied()));
                names.map(|name| (name, handler.def.sensitive))
            })),
        }
    }

    /// Every consumer of the launch, with the place of its component.
    pub(super) fn consumers(&self, bundle: &Arc<str>) -> Vec<(ConsumerId, Location)> {
        let of = |component: &Resolved| {
            component.consumers(bundle).map(|id| (id, component.def.location)).collect::<Vec<_>>()
        };
        self.components.iter().flat_map(of).collect()
    }

    /// Whether a consumer that was never stored begins with the first event of the log.
    pub(super) fn begins_with_first(&self, consumer: &ConsumerId) -> bool {
        let of = self.components.iter().find(|of| of.def.name == &*consumer.component);
        of.is_some_and(|of| of.start == StartFrom::Beginning)
    }

    /// Where the first observer stands, and how long its claims are believed.
    pub(super) fn claims(&self) -> Option<(Location, Duration)> {
        let observer = self.components.iter().find(|component| component.def.kind == Kind::Observer)?;
        Some((observer.def.location, self.sizes.claim_expiry))
    }

    /// Makes the components and binds every name.
    pub(super) fn consumer_plans(
        &self,
        bundle: &Arc<str>,
        executors: &[Arc<dyn ConsumerExecutor>],
        dispatch: &DispatchContext,
        deps: &Deps,
        stores: &Stores,
    ) -> Result<Vec<ConsumerPlan>, (&'static ComponentDef, MissingDependency)> {
        let mut plans = Vec::new();
        for component in self.components.iter().filter(|component| component.enabled) {
            let value = component.value(deps).map_err(|missing| (component.def, missing))?;
            let handlers: Vec<HandlerPlan> = component
                .handlers
                .iter()
                .map(|ResolvedHandler { def, label, retry, timeout, batch }| HandlerPlan {
                    label: label.clone(),
                    method: def.method,
                    names: def
                        .names
                        .map(|(name, aliases)| std::iter::once(name).chain(aliases.iter().copied()).collect()),
                    invoke: def.invoke,
                    saga: def.saga,
                    key: def.key,
                    timeout: *timeout,
                    batch: *batch,
                    transactions: def.transaction.and_then(|_| stores.transactions.clone()),
                    retry: *retry,
                    executor: executors.iter().find(|executor| Some(executor.name()) == def.executor).cloned(),
                })
                .collect();
            let engine = engine(component.def.kind, stores, &self.sizes);
            let mut of_kind = dispatch.clone();
            of_kind.interceptors.retain(|one| one.applies_to(component.def.kind));
            let of_kind = Arc::new(of_kind);
            plans.extend(component.consumers(bundle).map(|id| ConsumerPlan {
                id: Arc::new(id),
                component: Arc::clone(&value),
                engine: Arc::clone(&engine),
                start: component.start,
                dispatch: Arc::clone(&of_kind),
                mode: component.mode,
                dead_letter: component.dead_letter,
                redrive_transient: component.redrive_transient,
                wait_for_head: component.wait_for_head,
                on_start: component.on_start.copied(),
                on_reset: component.on_reset.copied(),
                handlers: handlers.clone(),
                settings: self.sizes.clone(),
            }));
        }
        Ok(plans)
    }
}

/// What runs components of a kind.
fn engine(kind: Kind, stores: &Stores, settings: &LoopSettings) -> Arc<dyn ConsumerEngine> {
    match kind {
        Kind::Projector => Arc::new(ProjectorEngine),
        Kind::Saga => Arc::new(SagaEngine::new(Arc::clone(&stores.sagas))),
        Kind::Observer => {
            Arc::new(ObserverEngine::new(Arc::clone(&stores.claims), stores.lock.owner(), settings.claim_expiry))
        }
    }
}
