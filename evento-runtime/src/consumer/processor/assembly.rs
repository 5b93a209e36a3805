//! A processor put together for one ownership, from the plan and from what is stored.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::grouping::Groups;
use super::lingering::Lingering;
use super::outage::Outage;
use super::parking::Parking;
use super::timers::Timers;
use super::{ConsumerProcessor, Found, ProcessorConfig, outcome, series, stall};
use crate::cluster::HeldLease;
use crate::consumer::attempt::Caller;
use crate::consumer::command::Commands;
use crate::consumer::delivery::DeliveryLog;
use crate::consumer::dispatch::{Dispatch, Lane};
use crate::consumer::feed::Feed;
use crate::consumer::numbered::Numbered;
use crate::consumer::plan::ConsumerPlan;
use crate::consumer::routes::Routes;
use crate::consumer::settle::Settler;
use crate::consumer::status::StopPhase;
use crate::consumer::suspects::Suspects;
use crate::context::{ConsumerScope, ProgressCell, Stop};
use crate::executor::ConsumerExecutor;
use crate::store::ConsumerState;

impl ConsumerProcessor {
    /// For one ownership, going on from what is stored.
    #[must_use]
    pub(crate) fn new(
        config: &ProcessorConfig,
        lease: HeldLease,
        state: ConsumerState,
        found: Found,
        commands: Commands,
    ) -> Self {
        let Found { head, completed, parked, unended } = found;
        let plan = Arc::clone(&config.plan);
        let checkpoint = state.checkpoint.unwrap_or_default();
        let (handlers_stop, stop_signal) = watch::channel(false);
        let (id, component) = (Arc::clone(&plan.id), Arc::clone(&plan.component));
        let scope = ConsumerScope::new(id, component, config.deps.clone(), Stop::new(stop_signal))
            .with_progress(ProgressCell::new(state.replay_to));
        let scope = Arc::new(scope);
        let claiming = plan.engine.claiming();
        let (executors, lanes) = assign_lanes(&plan);
        let parking = Parking::of(&plan, parked);
        let callers = plan
            .handlers
            .iter()
            .map(|handler| {
                let (classifiers, clock) = (Arc::clone(&config.classifiers), Arc::clone(&config.clock));
                let standing = parking.as_ref().and_then(Parking::standing);
                let caller = Caller::new(&plan, handler, lease.lease(), classifiers, clock);
                Arc::new(caller.with_standing(standing).owning(lease.validity()))
            })
            .collect();
        let routes = Routes::new(&plan.handlers);
        let lingering = Lingering::new(&plan);
        let groups = Groups::new(&plan, &lanes, executors.len());
        let series = series::sizes(&plan, &lanes, &executors);
        let feed = Feed::new(
            Arc::clone(&config.source),
            routes.filter(plan.id.context.clone()),
            claiming.as_ref().map(|claiming| (Arc::clone(&claiming.store), Arc::clone(&plan.id))),
            config.tasks.clone(),
            &checkpoint,
            (plan.settings.poll_min, plan.settings.poll_max),
        );
        let settings = &plan.settings;
        let suspects = match unended.filter(|_| settings.unclean_ends > 0) {
            // Above the stored reach no more than the window had begun; where events pass each other, no more than the
            // look-ahead lay between.
            Some(unended) => {
                let between = if executors.is_empty() { 0 } else { settings.look_ahead };
                let above = settings.window.saturating_add(between);
                Suspects::after(unended, &checkpoint, above, settings.unclean_ends)
            }
            None => Suspects::default(),
        };
        // Every delivery that has started reports at most once before the report is taken.
        let (report_to, reports) = mpsc::channel(plan.settings.window.saturating_add(plan.settings.look_ahead).max(1));
        Self {
            settler: Settler::new(
                Arc::clone(&config.state),
                lease.lease().clone(),
                config.tasks.clone(),
                checkpoint.clone(),
                claiming.as_ref().map_or(Duration::ZERO, |claiming| claiming.expiry),
            ),
            timers: plan.engine.timers().map(Timers::new),
            claims_due: Instant::now() + claiming.as_ref().map_or(Duration::ZERO, |claiming| claiming.expiry / 3),
            claiming,
            claimed_not_begun: 0,
            unready: 0,
            head,
            completed,
            log: DeliveryLog::resume(&checkpoint),
            dispatch: Dispatch::new(executors.len()),
            asked: vec![0; executors.len()],
            clock: Arc::clone(&config.clock),
            tasks: config.tasks.clone(),
            handlers: config.handlers.clone(),
            status: config.status.clone(),
            events: config.events.clone(),
            stalled: false,
            stop: config.stop.clone(),
            counters: config.status.get().counters,
            errors: Arc::new(state.errors),
            errors_changed: false,
            plan,
            lease,
            scope,
            handlers_stop,
            callers,
            lanes,
            executors,
            routes,
            feed,
            deliveries: Numbered::default(),
            admissions: FuturesUnordered::new(),
            reports,
            report_to,
            inline: None,
            groups,
            series,
            lingering,
            retries: BTreeSet::new(),
            limits: BTreeMap::new(),
            pending: 0,
            pending_bytes: 0,
            in_flight: 0,
            calls: 0,
            turns: 0,
            transient_streak: 0,
            outage: Outage::default(),
            commands,
            wishes: config.wishes.clone(),
            paused: false,
            dead_letters: Arc::clone(&config.dead_letters),
            letters: None,
            backlog: VecDeque::new(),
            mark_at: config.plan.redrive_transient.map(|_| Instant::now()),
            parking,
            wants_redrive: config.wishes.borrow().redrive.contains(&*config.plan.id),
            redriven: 0,
            next_redriven: 0,
            seek: None,
            phase: StopPhase::Run,
            lost: false,
            store_error: None,
            pinned: stall::Pinned::default(),
            told: outcome::DeadLettersTold::default(),
            standing: stall::Standing::default(),
            suspects,
            end_due: true,
            only_end: false,
        }
    }
}

/// One lane per distinct executor; handlers that name the same one share it.
fn assign_lanes(plan: &ConsumerPlan) -> (Vec<Arc<dyn ConsumerExecutor>>, Vec<Lane>) {
    let mut executors: Vec<Arc<dyn ConsumerExecutor>> = Vec::new();
    let lanes = plan
        .handlers
        .iter()
        .map(|handler| {
            let Some(executor) = &handler.executor else { return Lane::Inline };
            let known = executors.iter().position(|known| known.name() == executor.name());
            Lane::Executor(known.unwrap_or_else(|| {
                executors.push(Arc::clone(executor));
                executors.len() - 1
            }))
        })
        .collect();
    (executors, lanes)
}
