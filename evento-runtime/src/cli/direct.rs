//! Straight at a store: what the API would do, by a process that runs nothing of the bundle.

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::fault::{Exit, Fault};
use super::place::Who;
use super::target::{Action, Name, Target};
use crate::bundle::Plan;
use crate::clock::{Clock as _, SystemClock};
use crate::engine::{Delivered, Errand, RemoteConsumer};
use crate::error::{AdminError, StoreError, StoreErrorKind};
use crate::event::{Redaction, Timestamp};
use crate::identity::{ConsumerId, ContextPattern};
use crate::store::{AuditRow, LetterFilter, Store, StoreConfig, StoredDeadLetter};
use crate::view::words::{self, Which, position};
use crate::view::{AuditView, CommandView, Components, LetterView, Overview, Preview, PrunedView, Subject};

/// How much of a payload a list shows, and the letter itself.
const GLANCE: usize = 512;
const LOOK: usize = 64 * 1_024;
/// Events that are taken out at once, and that are counted at most.
const PRUNED: usize = 20_000;
const COUNTED: usize = 1_000_000;

pub(super) struct Direct {
    bundle: String,
    slot: Mutex<Slot>,
    /// `None`: nobody here knows the bundle's types.
    knowledge: Option<Knowledge>,
    who: Who,
}

/// The store, opened when it is first needed.
enum Slot {
    Absent,
    Config(Box<dyn StoreConfig>),
    Open(Store),
}

/// What the application's own binary knows of its bundle.
pub(super) struct Knowledge {
    plan: Plan,
    components: Components,
    redaction: Redaction,
    consumers: Vec<ConsumerId>,
}

impl Knowledge {
    pub(super) fn new(plan: Plan, redaction: Redaction, consumers: Vec<ConsumerId>) -> Self {
        Self { components: Components::of(&plan), plan, redaction, consumers }
    }
}

/// An action that was understood.
enum Meant {
    Pause,
    Resume,
    Deliver(Errand),
    Redrive(LetterFilter),
    Discard(LetterFilter),
    Purge(Timestamp),
}

impl Meant {
    /// And how the audit keeps it.
    fn of(action: &Action) -> Result<(Self, Value), Fault> {
        let errand = |errand: Errand| {
            let detail = errand.to_json();
            (Self::Deliver(errand), detail)
        };
        Ok(match action {
            Action::Pause => (Self::Pause, json!({})),
            Action::Resume => (Self::Resume, json!({})),
            Action::Seek { to, keep } => errand(Errand::Seek { to: words::seek_to(to)?, keep: *keep }),
            Action::Skip { position } => errand(Errand::Skip { position: words::position(position)? }),
            Action::Redrive { which, all } => {
                let (filter, said) = words::meant(*all, which)?;
                (Self::Redrive(filter), said)
            }
            Action::Discard { which, all } => {
                let (filter, said) = words::meant(*all, which)?;
                (Self::Discard(filter), said)
            }
            Action::Purge { before } => (Self::Purge(words::time(before)?), action.said()),
        })
    }

    async fn carry_out(self, consumer: &RemoteConsumer) -> Result<Done, AdminError> {
        match self {
            Self::Pause => {
                consumer.pause().await?;
                consumer.deliver(&Errand::Confirm { paused: true }).await.map(Done::Delivered)
            }
            Self::Resume => {
                consumer.resume().await?;
                consumer.deliver(&Errand::Confirm { paused: false }).await.map(Done::Delivered)
            }
            Self::Deliver(errand) => consumer.deliver(&errand).await.map(Done::Delivered),
            Self::Redrive(which) => Ok(Done::Letters(consumer.redrive(which).await?)),
            Self::Discard(which) => Ok(Done::Letters(consumer.discard(which).await?)),
            Self::Purge(before) => Ok(Done::Letters(consumer.purge(before).await?)),
        }
    }
}

enum Done {
    Delivered(Delivered),
    Letters(u64),
}

impl Done {
    fn document(&self, audit: Uuid) -> Value {
        let letters = if let Self::Letters(letters) = self { Some(*letters) } else { None };
        let command = if let Self::Delivered(Delivered::Waiting(id)) = self { Some(id.to_string()) } else { None };
        json!({ "audit": audit.to_string(), "result": self.text(), "letters": letters, "command": command })
    }

    fn text(&self) -> String {
        match self {
            Self::Delivered(Delivered::Done) => "done".to_owned(),
            Self::Delivered(Delivered::Waiting(command)) => {
                format!("waiting: the owner has not carried it out within five seconds ({command})")
            }
            Self::Letters(letters) => format!("done: {letters} dead letters"),
        }
    }
}

impl Direct {
    pub(super) fn new(
        bundle: &str,
        store: Option<Box<dyn StoreConfig>>,
        knowledge: Option<Knowledge>,
        who: Who,
    ) -> Self {
        let slot = Mutex::new(store.map_or(Slot::Absent, Slot::Config));
        Self { bundle: bundle.to_owned(), slot, knowledge, who }
    }

    async fn store(&self) -> Result<Store, Fault> {
        let mut slot = self.slot.lock().await;
        match std::mem::replace(&mut *slot, Slot::Absent) {
            Slot::Open(store) => {
                *slot = Slot::Open(store.clone());
                Ok(store)
            }
            Slot::Config(config) if !config.is_durable() => Err(Fault::usage(
                "the store of the bundle ends with its process: ask the process that runs, by `--url`",
            )),
            Slot::Config(mut config) => {
                config.only_existing();
                let store = config.open().await?;
                *slot = Slot::Open(store.clone());
                Ok(store)
            }
            // Rule `no-store`, or it could not be opened.
            Slot::Absent => Err(Fault::unreachable("the bundle has no store that is open")),
        }
    }

    async fn look(&self, store: &Store) -> Result<Overview, Fault> {
        let none = Components::default();
        let subject = Subject {
            bundle: &self.bundle,
            components: self.knowledge.as_ref().map_or(&none, |known| &known.components),
            consumers: &[],
            planned: self.knowledge.as_ref().map_or(&[], |known| &known.consumers),
            executors: &[],
            times: &|_| Vec::new(),
            store,
            me: None,
        };
        Ok(Overview::look(subject).await?)
    }

    fn id(&self, name: &Name) -> Result<ConsumerId, Fault> {
        let context =
            ContextPattern::parse(&name.context).map_err(|why| Fault::usage(format!("the context: {why}")))?;
        let (bundle, component) = (self.bundle.as_str().into(), name.component.as_str().into());
        Ok(ConsumerId { bundle, component, version: name.version, context })
    }

    /// As it may be shown: nothing of the payload where nobody knows what is sensitive in it.
    fn shown(&self, stored: &StoredDeadLetter, limit: usize) -> LetterView {
        let Some(known) = &self.knowledge else {
            let mut letter = LetterView::of(stored, &Redaction::default(), 0);
            letter.event.payload = Preview::hidden(stored.letter.event.payload.len());
            return letter;
        };
        LetterView::of(stored, &known.redaction, limit)
    }

    /// Notes what is about to be done. Nothing is done that could not be noted.
    async fn begin(&self, store: &Store, action: &str, target: String, detail: &Value) -> Result<AuditRow, Fault> {
        let row = AuditRow {
            id: Uuid::now_v7(),
            bundle: self.bundle.clone(),
            at: SystemClock.now(),
            who: self.who.name.clone(),
            origin: self.who.origin.clone(),
            action: action.to_owned(),
            target,
            detail: detail.to_string(),
            result: String::new(),
        };
        store.stores.admin.note(&row).await?;
        Ok(row)
    }
}

#[async_trait]
impl Target for Direct {
    async fn overview(&self) -> Result<Value, Fault> {
        let overview = self.look(&self.store().await?).await?;
        serde_json::to_value(overview).map_err(|error| Fault::new(Exit::Refused, "document", error.to_string()))
    }

    async fn letters(&self, name: &Name, which: &Which) -> Result<Value, Fault> {
        let (id, filter, limit) = (self.id(name)?, which.filter()?, which.limit.unwrap_or(50));
        let after = (!which.after.is_empty()).then(|| position(&which.after)).transpose()?;
        let letters = self.store().await?.stores.dead_letters.list(&id, &filter, after.as_ref(), limit).await?;
        let next = letters.last().filter(|_| letters.len() == limit).map(|last| last.letter.event.position.to_text());
        let letters: Vec<LetterView> = letters.iter().map(|letter| self.shown(letter, GLANCE)).collect();
        Ok(json!({ "letters": letters, "next": next }))
    }

    async fn letter(&self, name: &Name, at: &str, raw: bool) -> Result<Value, Fault> {
        let (id, at) = (self.id(name)?, position(at)?);
        let store = self.store().await?;
        let found = store.stores.dead_letters.list(&id, &LetterFilter::at(at.clone()), None, 1).await?;
        let none = || Fault::not_found(format!("`{id}` has no unresolved dead letter at position {}", at.to_text()));
        let stored = found.first().ok_or_else(none)?;
        if !raw {
            return Ok(json!(self.shown(stored, LOOK)));
        }
        let event = &stored.letter.event;
        let detail = json!({ "position": at.to_text(), "event": event.id.to_string(), "name": &*event.name });
        let row = self.begin(&store, "reveal", id.to_string(), &detail).await?;
        store.stores.admin.note(&AuditRow { result: "done".to_owned(), ..row }).await?;
        Ok(json!(LetterView::of(stored, &Redaction::default(), LOOK)))
    }

    async fn act(&self, name: &Name, action: &Action) -> Result<Value, Fault> {
        let id = self.id(name)?;
        let (meant, detail) = Meant::of(action)?;
        let store = self.store().await?;
        let row = self.begin(&store, action.name(), id.to_string(), &detail).await?;
        let audit = row.id;
        let done = meant.carry_out(&RemoteConsumer::new(id, store.stores.clone())).await;
        let result = match &done {
            Ok(done) => done.text(),
            Err(error) => format!("refused: {error}"),
        };
        store.stores.admin.note(&AuditRow { result, ..row }).await?;
        Ok(done?.document(audit))
    }

    async fn prune(&self, before: &str, dry: bool) -> Result<Value, Fault> {
        let time = words::time(before)?;
        let store = self.store().await?;
        if dry {
            return store.prunable(time, COUNTED).await.map(|pruned| json!(PrunedView::of(pruned))).map_err(unpruned);
        }
        let row = self.begin(&store, "prune", "the log".to_owned(), &json!({ "before": before })).await?;
        let pruned = store.prune(time, PRUNED).await.map(PrunedView::of);
        let result = match &pruned {
            Ok(pruned) => pruned.text(),
            Err(error) => format!("refused: {error}"),
        };
        store.stores.admin.note(&AuditRow { result, ..row }).await?;
        pruned.map(|pruned| json!(pruned)).map_err(unpruned)
    }

    async fn plan(&self) -> Result<(Value, Option<String>), Fault> {
        if let Some(known) = &self.knowledge {
            return Ok((known.plan.to_json(), Some(known.plan.to_string())));
        }
        let overview = self.look(&self.store().await?).await?;
        let consumers = overview.consumers.iter().map(|consumer| {
            json!({ "component": consumer.component, "version": consumer.version, "context": consumer.context })
        });
        let reported = json!({
            "bundle": self.bundle,
            "components": null,
            "consumers": consumers.collect::<Vec<_>>(),
            "executors": overview.executors,
        });
        Ok((reported, None))
    }

    async fn audit(&self, after: &str, limit: u16) -> Result<Value, Fault> {
        let (after, limit) = ((!after.is_empty()).then(|| uuid(after)).transpose()?, usize::from(limit));
        let rows = self.store().await?.stores.admin.audit(&self.bundle, after, limit).await?;
        let rows: Vec<AuditView> = rows.into_iter().map(AuditView::of).collect();
        let next = rows.last().filter(|_| rows.len() == limit).map(|row| row.id.clone());
        Ok(json!({ "audit": rows, "next": next }))
    }

    async fn command(&self, id: &str) -> Result<Value, Fault> {
        let row = self.store().await?.stores.admin.command(&self.bundle, uuid(id)?).await?;
        row.map(|row| json!(CommandView::of(&row))).ok_or_else(|| Fault::not_found("there is no such command"))
    }

    async fn close(&self) {
        let mut slot = self.slot.lock().await;
        if let Slot::Open(store) = std::mem::replace(&mut *slot, Slot::Absent)
            && let Some(close) = &store.close
        {
            close.close().await;
        }
    }
}

/// A log that cannot be pruned here is no failure of the store, and nothing that was said.
fn unpruned(error: StoreError) -> Fault {
    match error.kind() {
        StoreErrorKind::Config => Fault::new(Exit::Refused, "refused", error.to_string()),
        _ => error.into(),
    }
}

fn uuid(text: &str) -> Result<Uuid, Fault> {
    Uuid::try_parse(text).map_err(|_| Fault::usage("an id is a UUID: write it as it is shown here"))
}
