//! What is wanted of the consumers of a bundle, as the store says: asked once for all of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::consumer::StopPhase;
use crate::consumer::command::Paused;
use crate::identity::ConsumerId;
use crate::store::ConsumerStateStore;

/// How often the store is asked what other instances want.
const ASK: Duration = Duration::from_secs(1);

/// Who is paused, and a way to have the store asked at once.
#[derive(Clone)]
pub(super) struct Desired {
    pub(super) paused: Paused,
    ask: Arc<Notify>,
}

/// The other end.
pub(super) struct Housekeeping {
    bundle: String,
    state: Arc<dyn ConsumerStateStore>,
    paused: watch::Sender<Arc<BTreeSet<ConsumerId>>>,
    ask: Arc<Notify>,
    stop: watch::Receiver<StopPhase>,
}

impl Desired {
    pub(super) fn of(
        bundle: &str,
        state: Arc<dyn ConsumerStateStore>,
        stop: watch::Receiver<StopPhase>,
    ) -> (Self, Housekeeping) {
        let (sender, paused) = watch::channel(Arc::default());
        let ask = Arc::new(Notify::new());
        let house = Housekeeping { bundle: bundle.to_owned(), state, paused: sender, ask: Arc::clone(&ask), stop };
        (Self { paused, ask }, house)
    }

    /// Something has changed that is not to wait for the next second.
    pub(super) fn ask_now(&self) {
        self.ask.notify_one();
    }

    /// Waits until the consumer is paused, or is not.
    pub(super) async fn wait(&mut self, consumer: &ConsumerId, paused: bool) {
        // The other end lives as long as the bundle runs.
        let _ = self.paused.wait_for(|all| all.contains(consumer) == paused).await;
    }
}

impl Housekeeping {
    /// Asks once; consumers begin with what it says.
    pub(super) async fn look(&self) {
        match self.state.paused(&self.bundle).await {
            Ok(paused) => {
                let paused: BTreeSet<ConsumerId> = paused.into_iter().collect();
                self.paused.send_if_modified(|known| {
                    let changed = **known != paused;
                    if changed {
                        *known = Arc::new(paused);
                    }
                    changed
                });
            }
            // What was wanted before is still wanted.
            Err(error) => {
                tracing::warn!(bundle = self.bundle, error = &error as &dyn std::error::Error, "desired state unknown");
            }
        }
    }

    /// Until the stop. In a task of its own, which is joined.
    pub(super) async fn keep(mut self) {
        loop {
            tokio::select! {
                _ = self.stop.wait_for(|phase| *phase != StopPhase::Run) => return,
                () = self.ask.notified() => {}
                () = tokio::time::sleep(ASK) => {}
            }
            self.look().await;
        }
    }
}
