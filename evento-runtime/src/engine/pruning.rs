//! The log is pruned while the bundle runs: a little at a time, so that whatever else is asked for is not kept waiting.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use crate::clock::{Clock as _, SystemClock};
use crate::error::StoreError;
use crate::event::Timestamp;
use crate::source::Pruned;
use crate::store::{AuditRow, Store};
use crate::task::panic_fails;

/// How often what may be pruned is looked for.
const LOOK: Duration = Duration::from_secs(3_600);

/// Events looked at before anything else gets its turn.
const AT_ONCE: usize = 4_000;

/// What a setting says of the age of events, carried out.
pub(super) struct Pruning {
    bundle: String,
    instance: Arc<str>,
    store: Store,
    age: Duration,
    due: Instant,
    /// Taken out since it was last noted.
    events: u64,
}

impl Pruning {
    pub(super) fn of(bundle: &str, instance: &Arc<str>, store: &Store, age: Duration) -> Option<Self> {
        if !store.is_one() {
            tracing::warn!(
                bundle,
                log = store.events.describe(),
                "not pruned: consumers have their checkpoints elsewhere"
            );
            return None;
        }
        let (store, instance) = (store.clone(), Arc::clone(instance));
        Some(Self { bundle: bundle.to_owned(), instance, store, age, due: Instant::now(), events: 0 })
    }

    /// A part of it, if it is due.
    pub(super) async fn go_on_if_due(&mut self) {
        if self.due > Instant::now() {
            return;
        }
        match panic_fails("prune", self.go_on()).await {
            // The rest with the next look.
            Ok(true) => {}
            Ok(false) => self.due = Instant::now() + LOOK,
            // The next one finds it as well.
            Err(error) => {
                self.due = Instant::now() + LOOK;
                let error = &error as &dyn std::error::Error;
                tracing::warn!(bundle = self.bundle, error, "could not prune the log");
            }
        }
    }

    /// Answers whether there is more.
    async fn go_on(&mut self) -> Result<bool, StoreError> {
        let before = SystemClock.now().earlier(self.age);
        let pruned = self.store.prune(before, AT_ONCE).await?;
        self.events += pruned.events;
        if !pruned.more && self.events > 0 {
            self.note(before, &pruned).await?;
            self.events = 0;
        }
        Ok(pruned.more)
    }

    async fn note(&self, before: Timestamp, pruned: &Pruned) -> Result<(), StoreError> {
        let (bundle, events, to) = (self.bundle.clone(), self.events, pruned.to.as_ref());
        let to = to.map_or_else(|| "0".to_owned(), ToString::to_string);
        tracing::info!(bundle, events, to, "pruned the log");
        let row = AuditRow {
            id: Uuid::now_v7(),
            bundle,
            at: SystemClock.now(),
            who: "keep_events".to_owned(),
            origin: self.instance.to_string(),
            action: "prune".to_owned(),
            target: "the log".to_owned(),
            detail: json!({ "before": before.as_micros() }).to_string(),
            result: format!("done: {events} events, up to position {to}"),
        };
        self.store.stores.admin.note(&row).await
    }
}
