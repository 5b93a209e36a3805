//! From a plan to a process: open, judge what the store knows, make the components, start.

use std::sync::Arc;

use tokio::sync::watch;
use tracing::Instrument;

use super::blueprint::Blueprint;
use super::error::RunError;
use super::launch::{self, Stored};
use super::report::{LaunchError, Problem, Report};
use super::running::{Running, close};
use super::{Bundle, Parts};
use crate::component::ComponentDef;
use crate::context::MissingDependency;
use crate::engine::{EngineSupervisor, SupervisorConfig};
use crate::error::StoreError;
use crate::outcome::Classifier;
use crate::source::PositionCheck;
use crate::store::Store;
use crate::task::Tasks;

impl Bundle {
    /// Opens the store and starts every consumer. Waits until components with `wait_for_head` have settled what was
    /// in the log; with none, returns as soon as everything runs.
    ///
    /// # Errors
    /// [`RunError::Launch`] where what the store knows does not fit the bundle, [`RunError::Store`] where it could
    /// not be opened or read, [`RunError::OnStart`] where a hook failed. Nothing runs then, and what was opened is
    /// closed.
    ///
    /// # Cancel safety
    /// Dropping the future stops what has begun, as dropping [`Running`] does.
    pub async fn start(self) -> Result<Running, RunError> {
        let running = self.launch().await?;
        running.supervisor.ready().await;
        Ok(running)
    }

    /// As [`start`](Self::start), without waiting for components with `wait_for_head`: for a process whose readiness is
    /// asked for while they catch up, see [`Running::health`].
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    ///
    /// # Cancel safety
    /// As [`start`](Self::start).
    pub async fn start_early(self) -> Result<Running, RunError> {
        self.launch().await
    }

    /// Starts, waits for `until`, stops within the [deadline](super::BundleBuilder::stop_deadline).
    ///
    /// ```no_run
    /// # async fn f(bundle: evento_runtime::bundle::Bundle) -> evento_runtime::Result {
    /// bundle.run_until(evento_runtime::bundle::shutdown_signal()).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`start`](Self::start) and of [`Running::stop`].
    ///
    /// # Cancel safety
    /// Dropping the future stops the bundle with deadline 0.
    pub async fn run_until(self, until: impl Future<Output = ()>) -> Result<(), RunError> {
        let mut until = std::pin::pin!(until);
        let deadline = self.parts.stop_deadline;
        let (running, stopping) = {
            let mut launch = std::pin::pin!(self.launch());
            // `until` is polled from the beginning, so that a signal during the start is not missed.
            tokio::select! {
                biased;
                running = &mut launch => (running?, false),
                () = &mut until => tokio::select! {
                    running = &mut launch => (running?, true),
                    // A hook that does not return must not keep the process; what it has begun is left to end.
                    () = tokio::time::sleep(deadline) => return Err(RunError::GivenUp),
                },
            }
        };
        if !stopping {
            let ready = tokio::select! {
                biased;
                () = &mut until => false,
                () = running.supervisor.ready() => true,
            };
            if ready {
                until.await;
            }
        }
        running.stop(deadline).await
    }

    /// Everything up to running consumers. In a task of its own: what has begun on the store ends in order, whatever
    /// becomes of the caller.
    async fn launch(self) -> Result<Running, RunError> {
        let Self { parts, blueprint } = self;
        log(&parts.name, &blueprint.warnings);
        // Dropped with this future: the start is given up in order, not cancelled in the middle of a statement.
        let (_wanted, is_wanted) = watch::channel(());
        Tasks::default().run(open(parts, blueprint, is_wanted).in_current_span()).await
    }
}

fn log(bundle: &str, warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!(bundle, "{warning}");
    }
}

async fn open(mut parts: Parts, blueprint: Blueprint, wanted: watch::Receiver<()>) -> Result<Running, RunError> {
    let Some(config) = parts.store.take() else {
        // Rule `no-store`.
        return Err(LaunchError { bundle: parts.name.to_string(), problems: Vec::new() }.into());
    };
    let store = config.open().await?;
    match begin(parts, blueprint, store.clone(), wanted).await {
        Ok(running) => Ok(running),
        Err(error) => {
            close(&store).await;
            Err(error)
        }
    }
}

async fn begin(
    parts: Parts,
    blueprint: Blueprint,
    store: Store,
    wanted: watch::Receiver<()>,
) -> Result<Running, RunError> {
    forget(&parts, &store).await?;
    let stored = ask(&parts, &blueprint, &store).await?;
    let mut report = Report::default();
    launch::judge_stored(&stored, &mut report);
    let connected = report.finish(&parts.name)?;
    log(&parts.name, &connected);

    let Parts { name, instance, mut deps, executors, dispatch, events, clock, renewal, retention, .. } = parts;
    deps.fill_from(&store.supplied);
    let consumers = blueprint
        .consumer_plans(&name, &executors, &dispatch, &deps, &store.stores)
        .map_err(|(def, missing)| not_made(&name, def, &missing))?;
    for consumer in &consumers {
        tracing::info!(consumer = %consumer.id, handlers = consumer.handlers.len(), "starting");
    }
    let config = SupervisorConfig {
        bundle: name.to_string(),
        instance: Arc::clone(&instance),
        store: store.clone(),
        consumers,
        executors,
        deps,
        clock,
        renewal,
        retention,
        classifiers: classifiers(),
        events,
        wanted,
    };
    let supervisor = EngineSupervisor::start(config).await?;
    let redaction = blueprint.redaction.clone();
    let mut warnings = blueprint.warnings;
    warnings.extend(connected);
    Ok(Running {
        name: name.to_string(),
        instance,
        store,
        plan: blueprint.plan,
        warnings,
        supervisor,
        redaction,
        telemetry: dispatch.telemetry,
    })
}

async fn forget(parts: &Parts, store: &Store) -> Result<(), StoreError> {
    for (component, version, _) in &parts.forget {
        let consumers = store.stores.state.forget(&parts.name, component, *version).await?;
        if consumers > 0 {
            tracing::info!(bundle = %parts.name, component, version, consumers, "forgotten");
        }
    }
    Ok(())
}

/// What the connected rules judge.
async fn ask(parts: &Parts, blueprint: &Blueprint, store: &Store) -> Result<Stored, StoreError> {
    let live = blueprint.consumers(&parts.name);
    let known = store.stores.state.consumers(&parts.name).await?;
    let pruned = store.events.pruned().await?;
    let (mut lost, mut behind) = (Vec::new(), Vec::new());
    for (consumer, _) in &live {
        let checkpoint = match known.contains(consumer) {
            true => store.stores.state.load(consumer).await?.checkpoint,
            false => None,
        };
        if checkpoint.is_some() || blueprint.begins_with_first(consumer) {
            let watermark = checkpoint.as_ref().and_then(|checkpoint| checkpoint.watermark.clone());
            if watermark < pruned {
                behind.push((consumer.clone(), watermark));
            }
        }
        let Some(position) = checkpoint.and_then(|checkpoint| checkpoint.reach.or(checkpoint.watermark)) else {
            continue;
        };
        if let PositionCheck::HistoryLost(reason) = store.events.validate(&position).await? {
            lost.push((consumer.clone(), position, reason));
        }
    }
    let (claims, lease) = (blueprint.claims(), store.stores.lock.lease_duration());
    Ok(Stored { at: parts.at, log: store.events.describe(), live, known, lost, pruned, behind, claims, lease })
}

/// A constructor missed a value that no list of needs names, or the store did not supply what it promised.
fn not_made(bundle: &Arc<str>, def: &'static ComponentDef, missing: &MissingDependency) -> LaunchError {
    let problem = Problem {
        code: "missing-dependency",
        message: format!("the constructor of `{}` takes a `{}`, but none was provided", def.name, missing.0),
        location: Some(def.location),
        help: Some("add `.provide(..)` to the bundle builder".to_owned()),
    };
    LaunchError { bundle: bundle.to_string(), problems: vec![problem] }
}

/// Every driver that is compiled in and knows its own errors: one line each.
fn classifiers() -> Vec<Classifier> {
    vec![
        #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
        crate::store::sql::classify,
    ]
}
