//! What all routes work with.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::access::{Caller, Rule};
use super::fault::Fault;
use super::scraped::Scraped;
use crate::bundle::Running;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::StopPhase;
use crate::engine::ConsumerHandle;
use crate::event::Redaction;
use crate::executor::ConsumerExecutor;
use crate::identity::{ConsumerId, ContextPattern};
use crate::observe::HealthCheck;
use crate::store::{AuditRow, Store};
use crate::sync::{Mutex, lock};
use crate::task::Tasks;
use crate::view::{Components, Overview, Subject};

/// How long an overview is good for whoever asks next.
const FRESH: Duration = Duration::from_millis(900);

/// Over how long rates are taken.
const RATES: Duration = Duration::from_secs(10);

/// Pages that are kept up to date at once; more are refused.
const LIVE_PAGES: usize = 32;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Shared(Arc<Inner>);

pub(super) struct Inner {
    pub(super) bundle: String,
    pub(super) components: Components,
    pub(super) consumers: Vec<ConsumerHandle>,
    pub(super) executors: Vec<Arc<dyn ConsumerExecutor>>,
    pub(super) store: Store,
    pub(super) rule: Rule,
    /// What is not shown.
    pub(super) redaction: Redaction,
    /// Requests run to their end in here.
    pub(super) tasks: Tasks,
    pub(super) stop: watch::Receiver<StopPhase>,
    /// One for each page that is kept up to date.
    pub(super) live: Arc<Semaphore>,
    pub(super) scraped: Scraped,
    pub(super) health: HealthCheck,
    latest: Mutex<Latest>,
}

/// What was looked at last.
#[derive(Default)]
struct Latest {
    overview: Option<(Instant, Arc<Overview>)>,
    /// How much each consumer had settled, oldest first.
    settled: VecDeque<(Instant, Vec<(String, u64)>)>,
}

impl Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Shared {
    pub(super) fn of(running: &Running, rule: Rule) -> Self {
        Self(Arc::new(Inner {
            bundle: running.name().to_owned(),
            components: Components::of(running.plan()),
            consumers: running.consumers(),
            executors: running.supervisor().executors().to_vec(),
            store: running.store().clone(),
            rule,
            redaction: running.redaction().clone(),
            tasks: Tasks::default(),
            stop: running.supervisor().stopping(),
            live: Arc::new(Semaphore::new(LIVE_PAGES)),
            scraped: Scraped::of(running),
            health: running.health(),
            latest: Mutex::default(),
        }))
    }

    /// Whether people come with a cookie.
    pub(super) fn by_cookie(&self) -> bool {
        matches!(self.rule, Rule::Token { .. })
    }

    /// The consumer of a path; one that this process does not have can only be looked at.
    pub(super) async fn find(&self, path: &ConsumerPath) -> Result<(ConsumerId, Option<&ConsumerHandle>), Fault> {
        let unknown = || Fault::not_found(format!("bundle `{}` has no such consumer", self.bundle));
        let context = ContextPattern::parse(&path.context).map_err(|_| unknown())?;
        let id = ConsumerId {
            bundle: self.bundle.as_str().into(),
            component: path.component.as_str().into(),
            version: path.version,
            context,
        };
        if let Some(handle) = self.consumers.iter().find(|handle| *handle.id() == id) {
            return Ok((id, Some(handle)));
        }
        let stored = self.store.stores.state.consumers(&self.bundle).await?;
        if stored.contains(&id) { Ok((id, None)) } else { Err(unknown()) }
    }

    async fn look(&self) -> Result<Overview, Fault> {
        let subject = Subject {
            bundle: &self.bundle,
            components: &self.components,
            consumers: &self.consumers,
            planned: &[],
            executors: &self.executors,
            times: &|consumer| self.scraped.times(consumer),
            store: &self.store,
            me: Some(self.store.stores.lock.owner()),
        };
        Ok(Overview::look(subject).await?)
    }

    /// Consumers, executors and instances, as they are or were less than a second ago.
    pub(super) async fn overview(&self) -> Result<Arc<Overview>, Fault> {
        let fresh = |latest: &Latest| {
            let (at, overview) = latest.overview.as_ref()?;
            (at.elapsed() < FRESH).then(|| Arc::clone(overview))
        };
        if let Some(overview) = fresh(&lock(&self.latest)) {
            return Ok(overview);
        }
        let mut overview = self.look().await?;
        let mut latest = lock(&self.latest);
        latest.rate(&mut overview);
        let overview = Arc::new(overview);
        latest.overview = Some((Instant::now(), Arc::clone(&overview)));
        Ok(overview)
    }

    /// Notes what somebody is about to do. Nothing is done that could not be noted.
    pub(super) async fn begin(&self, who: &Who, action: &str, target: String, detail: String) -> Result<Uuid, Fault> {
        self.note(who, action, target, detail, "").await
    }

    /// Notes what cannot fail any more.
    pub(super) async fn noted(
        &self,
        who: &Who,
        action: &str,
        target: String,
        detail: String,
        result: &str,
    ) -> Result<(), Fault> {
        self.note(who, action, target, detail, result).await.map(drop)
    }

    async fn note(&self, who: &Who, action: &str, target: String, detail: String, result: &str) -> Result<Uuid, Fault> {
        let row = AuditRow {
            id: Uuid::now_v7(),
            bundle: self.bundle.clone(),
            at: SystemClock.now(),
            who: who.caller.name.clone(),
            origin: who.origin.0.clone(),
            action: action.to_owned(),
            target,
            detail,
            result: result.to_owned(),
        };
        tracing::info!(bundle = row.bundle, who = row.who, origin = row.origin, action, target = row.target, "asked");
        self.store.stores.admin.note(&row).await?;
        Ok(row.id)
    }

    /// Adds what became of it.
    pub(super) async fn end(&self, id: Uuid, result: String) -> Result<(), Fault> {
        // Whoever has done it looks at what it has done.
        lock(&self.latest).overview = None;
        let Some(row) = self.audited(id).await? else { return Ok(()) };
        Ok(self.store.stores.admin.note(&AuditRow { result, ..row }).await?)
    }

    /// A row of the audit by its id.
    pub(super) async fn audited(&self, id: Uuid) -> Result<Option<AuditRow>, Fault> {
        let next = Uuid::from_u128(id.as_u128().saturating_add(1));
        let rows = self.store.stores.admin.audit(&self.bundle, Some(next), 1).await?;
        Ok(rows.into_iter().next().filter(|row| row.id == id))
    }
}

impl Latest {
    /// Adds how much each consumer settles in a second.
    fn rate(&mut self, overview: &mut Overview) {
        let now = Instant::now();
        while self.settled.front().is_some_and(|(at, _)| now.duration_since(*at) > RATES) {
            self.settled.pop_front();
        }
        if let Some((at, before)) = self.settled.front() {
            let seconds = now.duration_since(*at).as_secs_f64();
            for consumer in &mut overview.consumers {
                let before = before.iter().find(|(name, _)| *name == consumer.consumer).map(|(_, settled)| *settled);
                let settled = consumer.live.as_ref().map(|live| live.settled);
                if let (Some(before), Some(settled)) = (before, settled)
                    && settled >= before
                    && seconds > 0.5
                {
                    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
                    let rate = (settled - before) as f64 / seconds;
                    consumer.rate = Some(rate);
                }
            }
        }
        let settled = overview.consumers.iter();
        let settled = settled.filter_map(|one| Some((one.consumer.clone(), one.live.as_ref()?.settled)));
        self.settled.push_back((now, settled.collect()));
    }
}

/// The parts of a path that name a consumer.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct ConsumerPath {
    pub(super) component: String,
    pub(super) version: u32,
    pub(super) context: String,
}

/// Address of the other side, for the audit.
#[derive(Debug, Clone)]
pub(super) struct Origin(pub(super) String);

/// Who has asked, as the guard has found out.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) caller: Caller,
    pub(super) origin: Origin,
}

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let (caller, origin) = (parts.extensions.get::<Caller>(), parts.extensions.get::<Origin>());
        match (caller.cloned(), origin.cloned()) {
            (Some(caller), Some(origin)) => Ok(Self { caller, origin }),
            _ => Err(Fault::forbidden("nobody knows who has asked")),
        }
    }
}
