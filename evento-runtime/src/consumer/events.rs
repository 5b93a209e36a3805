//! What happens to consumers, told as it happens.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::status::StallReason;
use crate::event::Position;
use crate::identity::{ConsumerId, Epoch};

/// Something that happened to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineEvent {
    /// To which one.
    pub consumer: Arc<ConsumerId>,
    /// What.
    pub what: Happening,
}

/// What can happen to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// Its loop began.
    Started,
    /// Its loop ended, by a stop.
    Stopped,
    /// This process owns it now.
    OwnershipGained {
        /// Which ownership it is.
        epoch: Epoch,
    },
    /// This process owned it, and does not any more.
    OwnershipLost {
        /// Which ownership it was.
        epoch: Epoch,
    },
    /// An event was given to the dead letters, and its row is stored.
    DeadLetter {
        /// The event.
        position: Position,
        /// `OrderView::placed`.
        handler: String,
    },
    /// It does not move, although there is something to do.
    Stalled {
        /// Why.
        reason: StallReason,
    },
    /// It moves again, or there is nothing left to do.
    Resumed,
    /// Its loop died of a panic that was no handler's. It begins again by itself: [`Started`](Self::Started) follows, and
    /// what stalled before is not told to be over.
    LoopDied {
        /// What the panic said.
        cause: String,
        /// How often that was so, without an hour of peace in between.
        deaths: u32,
        /// After how long it begins again, or later: handlers it has left behind end first.
        pause: Duration,
    },
}

/// How many events a listener may be behind before it loses the oldest.
const KEPT: usize = 1_024;

/// Is called with everything that happens to a bundle's consumers.
pub type Listener = Arc<dyn Fn(&EngineEvent) + Send + Sync>;

/// Tells listeners, if there are any.
#[derive(Clone)]
pub struct EngineEvents {
    channel: broadcast::Sender<EngineEvent>,
    listeners: Arc<[Listener]>,
}

impl EngineEvents {
    /// For these listeners, and for whoever subscribes.
    #[must_use]
    pub fn new(listeners: Vec<Listener>) -> Self {
        Self { channel: broadcast::Sender::new(KEPT), listeners: listeners.into() }
    }

    /// From now on. A listener that falls more than 1,024 behind is told how many it has lost.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<EngineEvent> {
        self.channel.subscribe()
    }

    pub(crate) fn tell(&self, consumer: &Arc<ConsumerId>, what: Happening) {
        let event = EngineEvent { consumer: Arc::clone(consumer), what };
        for listener in &*self.listeners {
            // What a listener makes of it is no concern of the consumer.
            if catch_unwind(AssertUnwindSafe(|| listener(&event))).is_err() {
                tracing::error!(consumer = %event.consumer, "a listener of the bundle panicked");
            }
        }
        // Without a subscriber nothing is kept.
        let _ = self.channel.send(event);
    }
}

impl fmt::Debug for EngineEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EngineEvents({} listeners)", self.listeners.len())
    }
}
