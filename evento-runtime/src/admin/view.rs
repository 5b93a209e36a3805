//! What is shown: data for programs and for pages alike.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::fault::Fault;
use super::payload::Preview;
use super::shared::Shared;
use super::time;
use crate::bundle::Plan;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::ConsumerFigures;
use crate::error::StoreError;
use crate::event::{Position, Redaction, StoredEvent};
use crate::executor::ExecutorFigures;
use crate::identity::{ConsumerId, OwnerId};
use crate::outcome::ErrorClass;
use crate::source::{EventFilter, FetchLimits};
use crate::store::{AuditRow, CommandRow, ConsumerState, Failure, InstanceRow, Lease, LetterKind, StoredDeadLetter};

/// Events that are left are counted up to here.
const MOST_COUNTED: u64 = 10_000;

/// An instance that was not seen for so long is gone.
const GONE: Duration = Duration::from_secs(30);

/// The components of this process, as its plan prints them.
pub(super) struct Components(pub(super) Vec<Value>);

impl Components {
    pub(super) fn of(plan: &Plan) -> Self {
        let components = plan.to_json().get("components").and_then(Value::as_array).cloned();
        Self(components.unwrap_or_default())
    }

    fn find(&self, id: &ConsumerId) -> Option<&Value> {
        let same = |one: &&Value| one["name"] == *id.component && one["version"] == id.version;
        self.0.iter().find(same)
    }

    /// The executors that the handlers of a consumer name, each once.
    fn executors(&self, id: &ConsumerId) -> Vec<String> {
        let handlers = self.find(id).and_then(|component| component["handlers"].as_array());
        let named = handlers.into_iter().flatten().filter_map(|handler| handler["executor"].as_str());
        let mut names: Vec<String> = named.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Everything at one moment.
#[derive(Debug, Serialize)]
pub(super) struct Overview {
    pub(super) bundle: String,
    /// The end of the log.
    pub(super) head: Option<String>,
    pub(super) consumers: Vec<ConsumerView>,
    pub(super) instances: Vec<InstanceView>,
    pub(super) executors: Vec<ExecutorView>,
}

/// One consumer.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ConsumerView {
    /// `orders/OrderView v1`.
    pub(super) consumer: String,
    pub(super) component: String,
    pub(super) version: u32,
    pub(super) context: String,
    /// Absent where this process has no such component.
    pub(super) kind: Option<String>,
    /// `moving`, `caught up`, `standing`, `paused`, `unowned`.
    pub(super) status: &'static str,
    /// Why it stands, as its owner says.
    pub(super) reason: Option<String>,
    pub(super) enabled: bool,
    pub(super) epoch: u64,
    /// Of which instance.
    pub(super) owner: Option<String>,
    /// What people call it.
    pub(super) instance: Option<String>,
    /// Whether that is the one that answers.
    pub(super) here: bool,
    pub(super) last_settled: Option<String>,
    pub(super) last_started: Option<String>,
    pub(super) lag: Lag,
    /// Events settled in a second.
    pub(super) rate: Option<f64>,
    /// Failed attempts since the last success.
    pub(super) error_streak: u64,
    pub(super) errors: Vec<FailureView>,
    pub(super) dead_letters: u64,
    /// Only where a handler names an executor.
    pub(super) parallel: Option<Parallel>,
    /// By its owner; absent where that does not show itself.
    pub(super) live: Option<ConsumerFigures>,
}

/// How far it is behind.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Lag {
    /// Events of the log after the last settled one, whoever they are for.
    pub(super) events: u64,
    /// Whether there are more than were counted.
    pub(super) more: bool,
    /// The age of the first of them.
    pub(super) seconds: f64,
}

/// What a consumer does beside its loop.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Parallel {
    pub(super) executors: Vec<String>,
    pub(super) in_flight: usize,
    /// Waits for a permit that ended without one.
    pub(super) saturated: u64,
    pub(super) transient_failures: u64,
}

/// One failed attempt.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FailureView {
    pub(super) position: String,
    pub(super) handler: String,
    pub(super) class: &'static str,
    pub(super) attempt: u32,
    pub(super) error: String,
    pub(super) at: String,
}

/// One instance.
#[derive(Debug, Clone, Serialize)]
pub(super) struct InstanceView {
    pub(super) owner: String,
    pub(super) name: Option<String>,
    pub(super) started_at: Option<String>,
    /// Seconds since it showed itself.
    pub(super) seen: Option<f64>,
    pub(super) here: bool,
    pub(super) consumers: Vec<String>,
}

/// One executor of one instance.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ExecutorView {
    pub(super) instance: String,
    pub(super) here: bool,
    #[serde(flatten)]
    pub(super) figures: ExecutorFigures,
    /// The handlers of this process that run on it.
    pub(super) handlers: Vec<String>,
}

/// What an instance writes about itself.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Figures {
    consumers: Vec<ConsumerFigures>,
    executors: Vec<ExecutorFigures>,
}

/// What is known of the instances.
struct Known {
    me: OwnerId,
    owners: Vec<Lease>,
    instances: Vec<(InstanceRow, Duration, Figures)>,
}

impl Known {
    async fn look(shared: &Shared) -> Result<Self, StoreError> {
        let stores = &shared.store.stores;
        let owners = stores.lock.owners(&shared.bundle).await?;
        let instances = stores.admin.instances(&shared.bundle).await?.into_iter();
        let instances = instances.filter(|(_, seen)| *seen < GONE).map(|(row, seen)| {
            let figures = serde_json::from_str(&row.figures).unwrap_or_default();
            (row, seen, figures)
        });
        Ok(Self { me: stores.lock.owner(), owners, instances: instances.collect() })
    }

    fn named(&self, owner: OwnerId) -> Option<&(InstanceRow, Duration, Figures)> {
        self.instances.iter().find(|(row, ..)| row.owner == owner)
    }

    fn live(&self, owner: OwnerId, id: &ConsumerId) -> Option<ConsumerFigures> {
        let (_, _, figures) = self.named(owner)?;
        let context = id.context.to_string();
        let same = |one: &&ConsumerFigures| (&*one.component, one.version) == (&*id.component, id.version);
        figures.consumers.iter().find(|one| same(one) && one.context == context).cloned()
    }
}

impl Overview {
    pub(super) async fn look(shared: &Shared) -> Result<Self, Fault> {
        let known = Known::look(shared).await?;
        let mut ids: Vec<ConsumerId> = shared.consumers.iter().map(|handle| handle.id().clone()).collect();
        ids.extend(shared.store.stores.state.consumers(&shared.bundle).await?);
        ids.sort();
        ids.dedup();
        let mut consumers = Vec::with_capacity(ids.len());
        for id in &ids {
            consumers.push(ConsumerView::look(shared, &known, id).await?);
        }
        Ok(Self {
            bundle: shared.bundle.clone(),
            head: shared.store.events.newest().await?.map(|head| head.to_text()),
            instances: instances(&known, &consumers),
            executors: executors(shared, &known),
            consumers,
        })
    }

    pub(super) fn consumer(&self, id: &ConsumerId) -> Option<&ConsumerView> {
        let name = id.to_string();
        self.consumers.iter().find(|consumer| consumer.consumer == name)
    }
}

impl ConsumerView {
    /// Why it stands, where the status alone does not say it.
    pub(super) fn why(&self) -> &str {
        self.reason.as_deref().filter(|reason| *reason != self.status).unwrap_or_default()
    }

    async fn look(shared: &Shared, known: &Known, id: &ConsumerId) -> Result<Self, StoreError> {
        let stores = &shared.store.stores;
        let state = stores.state.load(id).await?;
        let dead_letters = stores.dead_letters.count(id).await?;
        let handle = shared.consumers.iter().find(|handle| handle.id() == id);
        let status = handle.map(crate::engine::ConsumerHandle::status).filter(|status| status.epoch.0 > 0);
        let lease = known.owners.iter().find(|lease| lease.consumer == *id);
        let owner = if status.is_some() { Some(known.me) } else { lease.map(|lease| lease.owner) };
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
        let executors = shared.components.executors(id);
        Ok(Self {
            consumer: id.to_string(),
            component: id.component.to_string(),
            version: id.version,
            context: id.context.to_string(),
            kind: shared.components.find(id).and_then(|component| component["kind"].as_str()).map(str::to_owned),
            status: status_of(&state, owner.is_some(), reason.as_deref()),
            enabled: state.enabled,
            epoch: status.as_ref().map_or(state.epoch, |status| status.epoch).0,
            owner: owner.map(|owner| owner.to_string()),
            instance: owner.and_then(|owner| known.named(owner)).map(|(row, ..)| row.name.clone()),
            here: status.is_some(),
            last_started: live.as_ref().map_or_else(stored_reach, |live| live.reach.clone()),
            lag: Lag::look(shared, watermark.as_ref()).await?,
            last_settled: watermark.as_ref().map(Position::to_text),
            rate: None,
            error_streak: errors.streak,
            errors: errors.recent.iter().rev().map(FailureView::of).collect(),
            dead_letters,
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
    async fn look(shared: &Shared, watermark: Option<&Position>) -> Result<Self, StoreError> {
        let log = &shared.store.events;
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

/// Those that show themselves, those that own something, and this one.
fn instances(known: &Known, consumers: &[ConsumerView]) -> Vec<InstanceView> {
    let mut found: BTreeMap<String, InstanceView> = BTreeMap::new();
    let shown = known.instances.iter().map(|(row, ..)| row.owner);
    for owner in shown.chain(known.owners.iter().map(|lease| lease.owner)).chain([known.me]) {
        let (name, row) = (owner.to_string(), known.named(owner));
        let of_owner = consumers.iter().filter(|consumer| consumer.owner.as_ref() == Some(&name));
        let view = InstanceView {
            name: row.map(|(row, ..)| row.name.clone()),
            started_at: row.map(|(row, ..)| time::text(row.started_at)),
            seen: row.map(|(_, seen, _)| seen.as_secs_f64()),
            here: owner == known.me,
            consumers: of_owner.map(|consumer| consumer.consumer.clone()).collect(),
            owner: name.clone(),
        };
        found.insert(name, view);
    }
    found.into_values().collect()
}

fn executors(shared: &Shared, known: &Known) -> Vec<ExecutorView> {
    let handlers = |executor: &str| {
        let mut handlers = Vec::new();
        for component in &shared.components.0 {
            for handler in component["handlers"].as_array().into_iter().flatten() {
                if handler["executor"] == executor {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    handlers.push(format!("{}::{}", text(&component["name"]), text(&handler["method"])));
                }
            }
        }
        handlers
    };
    let name_of = |owner: OwnerId| known.named(owner).map_or_else(|| owner.to_string(), |(row, ..)| row.name.clone());
    let view = |figures: ExecutorFigures, owner: OwnerId| ExecutorView {
        instance: name_of(owner),
        here: owner == known.me,
        handlers: handlers(&figures.name),
        figures,
    };
    let here = shared.executors.iter().map(|executor| view(ExecutorFigures::of(&**executor), known.me));
    let others = known.instances.iter().filter(|(row, ..)| row.owner != known.me);
    let others = others.flat_map(|(row, _, figures)| figures.executors.iter().map(|one| view(one.clone(), row.owner)));
    here.chain(others).collect()
}

pub(super) const fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Permanent => "permanent",
        _ => "ordinary",
    }
}

/// An event of the log, or of a dead letter.
#[derive(Debug, Clone, Serialize)]
pub(super) struct EventView {
    pub(super) position: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) context: String,
    pub(super) key: Option<String>,
    pub(super) version: Option<u64>,
    pub(super) recorded_at: String,
    pub(super) content_type: String,
    pub(super) metadata: Option<Preview>,
    pub(super) payload: Preview,
}

impl EventView {
    /// With dots for what is sensitive.
    pub(super) fn of(event: &StoredEvent, redaction: &Redaction, limit: usize) -> Self {
        Self {
            position: event.position.to_text(),
            id: event.id.to_string(),
            name: event.name.to_string(),
            context: event.context.to_string(),
            key: event.key.as_deref().map(str::to_owned),
            version: event.version,
            recorded_at: time::text(event.recorded_at),
            content_type: event.content_type.to_string(),
            metadata: (!event.metadata.is_empty()).then(|| Preview::of(&event.metadata, limit)),
            payload: Preview::of(&redaction.payload(event), limit),
        }
    }
}

/// A dead letter.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LetterView {
    pub(super) event: EventView,
    /// `dead`, or `parked`: it was not begun, and waits behind an earlier one of its key.
    pub(super) kind: &'static str,
    /// What later events queue behind as long as this one is unresolved.
    pub(super) parks: Option<String>,
    pub(super) handler: String,
    pub(super) class: &'static str,
    pub(super) error: String,
    pub(super) attempts: u32,
    pub(super) first_failed_at: String,
    pub(super) last_failed_at: String,
    /// Whether it is to be tried again.
    pub(super) requested: bool,
}

impl LetterView {
    pub(super) fn of(stored: &StoredDeadLetter, redaction: &Redaction, limit: usize) -> Self {
        let letter = &stored.letter;
        Self {
            event: EventView::of(&letter.event, redaction, limit),
            kind: match letter.kind {
                LetterKind::Parked => "parked",
                LetterKind::Dead => "dead",
            },
            parks: letter.parks.as_ref().map(ToString::to_string),
            handler: letter.handler.clone(),
            class: class_name(letter.class),
            error: letter.error.clone(),
            attempts: letter.attempts,
            first_failed_at: time::text(letter.first_failed_at),
            last_failed_at: time::text(letter.last_failed_at),
            requested: stored.requested,
        }
    }
}

/// A row of the audit.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AuditView {
    pub(super) id: String,
    pub(super) at: String,
    pub(super) who: String,
    pub(super) origin: String,
    pub(super) action: String,
    pub(super) target: String,
    pub(super) detail: String,
    /// Empty: nobody knows.
    pub(super) result: String,
}

impl AuditView {
    pub(super) fn of(row: AuditRow) -> Self {
        let AuditRow { id, bundle: _, at, who, origin, action, target, detail, result } = row;
        Self { id: id.to_string(), at: time::text(at), who, origin, action, target, detail, result }
    }
}

/// What became of a command.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CommandView {
    pub(super) id: String,
    pub(super) consumer: String,
    pub(super) command: Value,
    pub(super) asked_at: String,
    /// `waiting`, `done` or `refused`.
    pub(super) status: &'static str,
    pub(super) message: Option<String>,
    pub(super) answered_at: Option<String>,
}

impl CommandView {
    pub(super) fn of(row: &CommandRow) -> Self {
        let answer = row.answer.as_ref();
        Self {
            id: row.id.to_string(),
            consumer: row.consumer.to_string(),
            command: serde_json::from_str(&row.body).unwrap_or_default(),
            asked_at: time::text(row.asked_at),
            status: match answer {
                None => "waiting",
                Some(answer) if answer.done => "done",
                Some(_) => "refused",
            },
            message: answer.filter(|answer| !answer.done).map(|answer| answer.text.clone()),
            answered_at: answer.map(|answer| time::text(answer.at)),
        }
    }
}
