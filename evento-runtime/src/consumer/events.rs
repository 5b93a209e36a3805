//! What happens to consumers, told as it happens.

use std::sync::Arc;

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
}

/// How many events a listener may be behind before it loses the oldest.
const KEPT: usize = 1_024;

/// Tells listeners, if there are any.
#[derive(Debug, Clone)]
pub struct EngineEvents(broadcast::Sender<EngineEvent>);

impl Default for EngineEvents {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl EngineEvents {
    /// From now on. A listener that falls more than 1,024 behind is told how many it has lost.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<EngineEvent> {
        self.0.subscribe()
    }

    pub(crate) fn tell(&self, consumer: &Arc<ConsumerId>, what: Happening) {
        // Without a listener nothing is kept.
        let _ = self.0.send(EngineEvent { consumer: Arc::clone(consumer), what });
    }
}
