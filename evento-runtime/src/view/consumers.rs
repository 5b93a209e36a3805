//! One consumer: how far it is, and why it stands.

use std::time::Duration;

use serde::Serialize;

use super::Subject;
use super::class_name;
use super::known::Known;
use super::time;
use super::times::TimesView;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::ConsumerFigures;
use crate::error::StoreError;
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::source::{EventFilter, FetchLimits};
use crate::store::{ConsumerState, Failure};

/// Events that are left are counted up to here.
const MOST_COUNTED: u64 = 10_000;

/// One consumer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ConsumerView {
    /// `orders/OrderView v1`.
    pub(crate) consumer: String,
    pub(crate) component: String,
    pub(crate) version: u32,
    pub(crate) context: String,
    /// Absent where this process has no such component.
    pub(crate) kind: Option<String>,
    /// `moving`, `caught up`, `standing`, `paused`, `unowned`.
    pub(crate) status: &'static str,
    /// Why it stands, as its owner says.
    pub(crate) reason: Option<String>,
    pub(crate) enabled: bool,
    pub(crate) epoch: u64,
    /// Of which instance.
    pub(crate) owner: Option<String>,
    /// What people call it.
    pub(crate) instance: Option<String>,
    /// Whether that is the one that answers.
    pub(crate) here: bool,
    pub(crate) last_settled: Option<String>,
    pub(crate) last_started: Option<String>,
    pub(crate) lag: Lag,
    /// Events settled in a second.
    pub(crate) rate: Option<f64>,
    /// Failed attempts since the last success.
    pub(crate) error_streak: u64,
    pub(crate) errors: Vec<FailureView>,
    pub(crate) dead_letters: u64,
    /// How long its handlers take; only where this instance owns it and counts that.
    pub(crate) handler_times: Vec<TimesView>,
    /// Only where a handler names an executor.
    pub(crate) parallel: Option<Parallel>,
    /// By its owner; absent where that does not show itself.
    pub(crate) live: Option<ConsumerFigures>,
}

/// How far it is behind.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Lag {
    /// Events of the log after the last settled one, whoever they are for.
    pub(crate) events: u64,
    /// Whether there are more than were counted.
    pub(crate) more: bool,
    /// The age of the first of them.
    pub(crate) seconds: f64,
}

/// What a consumer does beside its loop.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Parallel {
    pub(crate) executors: Vec<String>,
    pub(crate) in_flight: usize,
    /// Waits for a permit that ended without one.
    pub(crate) saturated: u64,
    pub(crate) transient_failures: u64,
}

/// One failed attempt.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FailureView {
    pub(crate) position: String,
    pub(crate) handler: String,
    pub(crate) class: &'static str,
    pub(crate) attempt: u32,
    pub(crate) error: String,
    pub(crate) at: String,
}

impl ConsumerView {
    /// Why it stands, where the status alone does not say it.
    pub(crate) fn why(&self) -> &str {
        self.reason.as_deref().filter(|reason| *reason != self.status).unwrap_or_default()
    }

    pub(super) async fn look(of: Subject<'_>, known: &Known, id: &ConsumerId) -> Result<Self, StoreError> {
        let stores = &of.store.stores;
        let state = stores.state.load(id).await?;
        let dead_letters = stores.dead_letters.count(id).await?;
        let handle = of.consumers.iter().find(|handle| handle.id() == id);
        let status = handle.map(crate::engine::ConsumerHandle::status).filter(|status| status.epoch.0 > 0);
        let lease = known.owners.iter().find(|lease| lease.consumer == *id);
        let owner = known.me.filter(|_| status.is_some()).or_else(|| lease.map(|lease| lease.owner));
        let live = match (&status, owner) {
            (Some(status), _) => Some(status.figures()),
            (None, Some(owner)) => known.live(owner, id),
            (None, None) => None,
        };
        // A loop that died owns nothing, and says why.
        let dead = || handle.and_then(|handle| handle.status().reason).map(|reason| reason.to_string());
        let reason = live.as_ref().map_or_else(|| dead().filter(|_| owner.is_none()), |live| live.reason.clone());
        let errors = status.as_ref().map_or(&state.errors, |status| &status.errors);
        let checkpoint = state.checkpoint.as_ref();
        let watermark = match &status {
            Some(status) => status.watermark.clone(),
            None => checkpoint.and_then(|checkpoint| checkpoint.watermark.clone()),
        };
        let stored_reach = || checkpoint.and_then(|checkpoint| checkpoint.reach.as_ref()).map(Position::to_text);
        let executors = of.components.executors(id);
        Ok(Self {
            consumer: id.to_string(),
            component: id.component.to_string(),
            version: id.version,
            context: id.context.to_string(),
            kind: of.components.find(id).and_then(|component| component["kind"].as_str()).map(str::to_owned),
            status: status_of(&state, owner.is_some(), reason.as_deref()),
            enabled: state.enabled,
            epoch: status.as_ref().map_or(state.epoch, |status| status.epoch).0,
            owner: owner.map(|owner| owner.to_string()),
            instance: owner.and_then(|owner| known.named(owner)).map(|(row, ..)| row.name.clone()),
            here: status.is_some(),
            last_started: live.as_ref().map_or_else(stored_reach, |live| live.reach.clone()),
            lag: Lag::look(of, watermark.as_ref()).await?,
            last_settled: watermark.as_ref().map(Position::to_text),
            rate: None,
            error_streak: errors.streak,
            errors: errors.recent.iter().rev().map(FailureView::of).collect(),
            dead_letters,
            handler_times: if status.is_some() { (of.times)(id) } else { Vec::new() },
            parallel: (!executors.is_empty()).then(|| Parallel {
                executors,
                in_flight: live.as_ref().map_or(0, |live| live.in_flight),
                saturated: live.as_ref().map_or(0, |live| live.rejected),
                transient_failures: live.as_ref().map_or(0, |live| live.transient),
            }),
            reason,
            live,
        })
    }
}

fn status_of(state: &ConsumerState, owned: bool, reason: Option<&str>) -> &'static str {
    match (state.enabled, owned, reason) {
        (false, ..) => "paused",
        (true, false, _) => "unowned",
        (true, true, None) => "moving",
        (true, true, Some("caught up")) => "caught up",
        (true, true, Some(_)) => "standing",
    }
}

impl Lag {
    async fn look(of: Subject<'_>, watermark: Option<&Position>) -> Result<Self, StoreError> {
        let log = &of.store.events;
        let events = log.count_after(watermark, MOST_COUNTED + 1).await?;
        if events == 0 {
            return Ok(Self::default());
        }
        let first = log.fetch(watermark, FetchLimits { events: 1, bytes: 1 }, &EventFilter::all()).await?.events;
        let age = first.first().map_or(Duration::ZERO, |event| SystemClock.now().since(event.recorded_at));
        Ok(Self { events: events.min(MOST_COUNTED), more: events > MOST_COUNTED, seconds: age.as_secs_f64() })
    }
}

impl FailureView {
    fn of(failure: &Failure) -> Self {
        Self {
            position: failure.position.to_text(),
            handler: failure.handler.clone(),
            class: class_name(failure.class),
            attempt: failure.attempt,
            error: failure.error.clone(),
            at: time::text(failure.at),
        }
    }
}
