//! What an operator asks of a running consumer, and how its loop answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use crate::error::AdminError;
use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;

/// Where a consumer is to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SeekTo {
    /// At the first event of the log.
    Start,
    /// Behind the last event there is now.
    Head,
    /// Behind this position.
    After(Position),
    /// At the first event that was recorded then or later.
    Time(Timestamp),
}

pub(crate) type Reply = oneshot::Sender<Result<(), AdminError>>;

/// A request to the owner's loop.
#[derive(Debug)]
pub(crate) enum Command {
    /// Settle one event without handling it.
    Skip { position: Position, reply: Reply },
    /// Go on elsewhere. `keep`: going back is meant, and what handlers have written stays.
    Seek { to: SeekTo, keep: bool, reply: Reply },
}

impl Command {
    /// There is no loop that could carry it out.
    pub(crate) fn refuse(self, error: AdminError) {
        let (Self::Skip { reply, .. } | Self::Seek { reply, .. }) = self;
        // Whoever asked may have gone.
        let _ = reply.send(Err(error));
    }
}

/// Requests waiting at once; more wait at the sender.
const WAITING: usize = 16;

/// The owner's end.
pub(crate) type Commands = mpsc::Receiver<Command>;

/// A channel to a consumer's loop.
pub(crate) fn channel() -> (mpsc::Sender<Command>, Commands) {
    mpsc::channel(WAITING)
}

/// What is wanted of the consumers of a bundle, as the store says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Who is to begin nothing.
    pub(crate) paused: BTreeSet<ConsumerId>,
    /// Who has dead letters that are to be tried again.
    pub(crate) redrive: BTreeSet<ConsumerId>,
}

/// Follows them.
pub(crate) type WishesReceiver = watch::Receiver<Arc<Wishes>>;
