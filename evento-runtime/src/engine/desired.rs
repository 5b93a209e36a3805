//! What is wanted of the consumers of a bundle, as the store says: asked once for all of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::errands::Errands;
use super::presence::Presence;
use super::pruning::Pruning;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::StopPhase;
use crate::consumer::command::{Wishes, WishesReceiver};
use crate::error::StoreError;
use crate::identity::ConsumerId;
use crate::policy::Retention;
use crate::store::{Store, Stores};
use crate::task::panic_fails;

/// How often the store is asked what other instances want.
const ASK: Duration = Duration::from_secs(1);

/// How often what is no longer to be remembered is forgotten.
const SWEEP: Duration = Duration::from_secs(3_600);

/// How long commands and audit are kept, unless somebody says otherwise.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3_600);

/// Commands looked at once.
const COMMANDS: usize = 100;

/// What is wanted, and a way to have the store asked at once.
#[derive(Clone)]
pub(super) struct Desired {
    pub(super) wishes: WishesReceiver,
    ask: Arc<Notify>,
}

/// The other end.
pub(super) struct Housekeeping {
    bundle: String,
    stores: Stores,
    wishes: Arc<Wishes>,
    /// One for each consumer, told in order: listeners of one channel are woken in any order, and a simulated run has to
    /// repeat itself.
    told: Vec<watch::Sender<Arc<Wishes>>>,
    ask: Arc<Notify>,
    stop: watch::Receiver<StopPhase>,
    /// How long handled events and ended instances are remembered; `None`: nobody has such.
    remembered: Option<Duration>,
    retention: Retention,
    sweep_at: Instant,
    sweep_admin_at: Instant,
    pruning: Option<Pruning>,
}

impl Desired {
    /// For so many consumers.
    pub(super) fn of(
        consumers: usize,
        bundle: &str,
        instance: &Arc<str>,
        store: &Store,
        stop: watch::Receiver<StopPhase>,
        remembered: Option<Duration>,
        retention: Retention,
    ) -> (Vec<Self>, Housekeeping) {
        let ask = Arc::new(Notify::new());
        let channels = (0..consumers).map(|_| watch::channel(Arc::default()));
        let (told, wishes): (Vec<_>, Vec<_>) = channels.unzip();
        let desired = wishes.into_iter().map(|wishes| Self { wishes, ask: Arc::clone(&ask) }).collect();
        let house = Housekeeping {
            bundle: bundle.to_owned(),
            stores: store.stores.clone(),
            wishes: Arc::default(),
            told,
            ask,
            stop,
            remembered,
            retention,
            sweep_at: Instant::now(),
            sweep_admin_at: Instant::now() + SWEEP,
            pruning: retention.events.and_then(|age| Pruning::of(bundle, instance, store, age)),
        };
        (desired, house)
    }

    /// Something has changed that is not to wait for the next second.
    pub(super) fn ask_now(&self) {
        self.ask.notify_one();
    }

    /// Waits until the consumer is paused, or is not.
    pub(super) async fn wait(&mut self, consumer: &ConsumerId, paused: bool) {
        // The other end lives as long as the bundle runs.
        let _ = self.wishes.wait_for(|wishes| wishes.paused.contains(consumer) == paused).await;
    }
}

impl Housekeeping {
    /// Asks once; consumers begin with what it says.
    pub(super) async fn look(&mut self) {
        match panic_fails("desired state", self.ask()).await {
            // Letters may have been marked again since the last look: that is news although it looks the same.
            Ok(wishes) if *self.wishes != wishes || !wishes.redrive.is_empty() => {
                self.wishes = Arc::new(wishes);
                for consumer in &self.told {
                    consumer.send_replace(Arc::clone(&self.wishes));
                }
            }
            Ok(_) => {}
            // What was wanted before is still wanted.
            Err(error) => {
                tracing::warn!(bundle = self.bundle, error = &error as &dyn std::error::Error, "desired state unknown");
            }
        }
    }

    async fn ask(&self) -> Result<Wishes, StoreError> {
        let paused = self.stores.state.paused(&self.bundle).await?.into_iter().collect();
        let redrive = self.stores.dead_letters.wanted(&self.bundle).await?.into_iter().collect();
        Ok(Wishes { paused, redrive })
    }

    /// Until the stop. In a task of its own, which is joined.
    pub(super) async fn keep(mut self, mut errands: Errands, mut presence: Option<Presence>) {
        loop {
            if let Some(presence) = &mut presence {
                presence.beat_if_due(&self.bundle, &self.stores).await;
            }
            tokio::select! {
                biased;
                _ = self.stop.wait_for(|phase| *phase != StopPhase::Run) => break,
                () = self.ask.notified() => {}
                () = errands.ended() => {}
                () = tokio::time::sleep(ASK) => {}
            }
            self.look().await;
            self.hand_out(&mut errands).await;
            self.sweep_if_due().await;
            self.sweep_admin_if_due().await;
            if let Some(pruning) = &mut self.pruning {
                pruning.go_on_if_due().await;
            }
        }
        if let Some(presence) = presence {
            presence.leave(&self.bundle, &self.stores).await;
        }
    }

    /// What operators have asked for, to those that this instance owns.
    async fn hand_out(&self, errands: &mut Errands) {
        match panic_fails("commands", self.stores.admin.asked(&self.bundle, COMMANDS)).await {
            Ok(commands) => errands.begin(commands),
            // They wait for the next look.
            Err(error) => {
                tracing::warn!(bundle = self.bundle, error = &error as &dyn std::error::Error, "commands unknown");
            }
        }
    }

    async fn sweep_admin_if_due(&mut self) {
        if self.sweep_admin_at > Instant::now() {
            return;
        }
        self.sweep_admin_at = Instant::now() + SWEEP;
        match panic_fails("sweep", self.stores.admin.sweep_admin(&self.bundle, self.retention.audit.unwrap_or(KEPT)))
            .await
        {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(bundle = self.bundle, rows, "forgot commands and audit"),
            // The next one finds them as well.
            Err(error) => {
                tracing::warn!(bundle = self.bundle, error = &error as &dyn std::error::Error, "could not sweep");
            }
        }
    }

    async fn sweep_if_due(&mut self) {
        if self.sweep_at > Instant::now() {
            return;
        }
        self.sweep_at = Instant::now() + SWEEP;
        match panic_fails("sweep", self.sweep()).await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(bundle = self.bundle, rows, "swept what is no longer to be kept"),
            // The next one finds them as well.
            Err(error) => {
                tracing::warn!(bundle = self.bundle, error = &error as &dyn std::error::Error, "could not sweep");
            }
        }
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        let mut rows = 0;
        if let Some(age) = self.remembered {
            rows += self.stores.claims.sweep_claims(&self.bundle, age).await?;
            rows += self.stores.sagas.sweep_ended(&self.bundle, age).await?;
        }
        if let Some(age) = self.retention.resolved {
            let before = SystemClock.now().earlier(age);
            for consumer in self.stores.state.consumers(&self.bundle).await? {
                rows += self.stores.dead_letters.purge(&consumer, before).await?;
            }
        }
        Ok(rows)
    }
}
