//! What an operator asks of a running consumer, and how its loop answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use crate::error::AdminError;
use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;
use crate::sync::{Mutex, lock};

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
    /// Say that the loop turns.
    Ping { reply: Reply },
}

impl Command {
    /// There is no loop that could carry it out.
    pub(crate) fn refuse(self, error: AdminError) {
        let (Self::Skip { reply, .. } | Self::Seek { reply, .. } | Self::Ping { reply }) = self;
        // Whoever asked may have gone.
        let _ = reply.send(Err(error));
    }
}

/// Requests waiting at once; more wait at the sender.
const WAITING: usize = 16;

/// Where the owner's end of a channel lies while no loop holds it.
#[derive(Debug, Clone)]
pub(crate) struct Desk(Arc<Mutex<Option<mpsc::Receiver<Command>>>>);

/// The owner's end. Dropped, also by a loop that dies, it lies on its desk again: the next loop goes on with it.
#[derive(Debug)]
pub(crate) struct Commands {
    received: Option<mpsc::Receiver<Command>>,
    desk: Desk,
}

/// A channel to a consumer's loop.
pub(crate) fn channel() -> (mpsc::Sender<Command>, Desk) {
    let (sender, received) = mpsc::channel(WAITING);
    (sender, Desk(Arc::new(Mutex::new(Some(received)))))
}

impl Desk {
    /// Whether no loop has it: nobody is to answer.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// For whoever carries out what is asked, or refuses it. Nothing is received where somebody else has it.
    pub(crate) fn take(&self) -> Commands {
        Commands { received: lock(&self.0).take(), desk: self.clone() }
    }
}

impl Commands {
    /// The next request. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Option<Command> {
        match &mut self.received {
            Some(received) => received.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Nobody carries anything out any more.
    pub(crate) fn close(mut self, consumer: &ConsumerId) {
        let Some(mut received) = self.received.take() else { return };
        received.close();
        while let Ok(command) = received.try_recv() {
            command.refuse(AdminError::not_owner(consumer));
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        if let Some(received) = self.received.take() {
            *lock(&self.desk.0) = Some(received);
        }
    }
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
