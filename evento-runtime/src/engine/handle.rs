//! One consumer, as an operator holds it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::desired::Desired;
use super::errand::{Delivered, Errand};
use super::remote::{RemoteConsumer, patiently};
use super::target::Target;
use crate::consumer::command::{Command, Desk};
use crate::consumer::{ConsumerStatus, SeekTo, StatusCell};
use crate::error::{AdminError, StoreError};
use crate::event::{Position, Timestamp};
use crate::identity::ConsumerId;
use crate::source::EventSource;
use crate::store::{CommandRow, LetterFilter, StoredDeadLetter, Stores};
use crate::task::Tasks;

/// Shows and steers one consumer. Cheap to clone; of no use once the bundle has stopped.
///
/// Pausing is a wish that the store keeps: it holds for every instance and across restarts. Skipping and seeking are
/// carried out by the instance that owns the consumer; elsewhere they are refused, and [`deliver`](Self::deliver) finds the
/// owner wherever it is.
#[derive(Clone)]
pub struct ConsumerHandle {
    pub(super) id: Arc<ConsumerId>,
    pub(super) status: StatusCell,
    pub(super) commands: mpsc::Sender<Command>,
    /// Where the other end lies while no loop has it.
    pub(super) desk: Desk,
    /// What was in the log at the beginning, where the start waits for it.
    pub(super) target: Option<Target>,
    pub(super) desired: Desired,
    pub(super) stores: Stores,
    pub(super) tasks: Tasks,
    pub(super) executors: Arc<[String]>,
    pub(super) source: Arc<dyn EventSource>,
    /// Whether some of its events are covered once they have started.
    pub(super) covers_at_start: bool,
}

impl ConsumerHandle {
    /// Which consumer it is.
    #[must_use]
    pub fn id(&self) -> &ConsumerId {
        &self.id
    }

    /// As it is now.
    #[must_use]
    pub fn status(&self) -> ConsumerStatus {
        self.status.get()
    }

    /// The executors that its handlers name, each once; empty for a plain loop.
    #[must_use]
    pub fn executors(&self) -> &[String] {
        &self.executors
    }

    /// Whether its loop turns: it gives a sign of life within `patience`. A consumer whose loop is not at work (it waits
    /// for its ownership, its hook runs, it begins again after a death) has nothing that could hang, and is live.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn is_live(&self, patience: Duration) -> bool {
        let (reply, answer) = oneshot::channel();
        // Refused, or nobody there any more: an answer as well.
        let asked = async {
            if self.commands.send(Command::Ping { reply }).await.is_ok() {
                drop(answer.await);
            }
        };
        tokio::select! {
            biased;
            () = asked => true,
            () = tokio::time::sleep(patience) => self.desk.is_full(),
        }
    }

    /// Whether it has settled what was in the log when the bundle began; always so where the start does not
    /// [wait](crate::BundleBuilder::wait_for_head) for it. Moved back, it is not ready until it is there again.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.target.as_ref().is_none_or(|target| target.is_reached(&self.status()))
    }

    /// Begins nothing more until [`resume`](Self::resume), here or in whichever instance owns it, also after a
    /// restart. What runs finishes; the ownership stays. Returns once the wish is stored and known here; another
    /// instance sees it within a second.
    ///
    /// # Errors
    /// The store failed, or this instance did not hear of it within five seconds.
    ///
    /// # Cancel safety
    /// Dropping the future does not take the wish back.
    pub async fn pause(&self) -> Result<(), AdminError> {
        self.remote().pause().await
    }

    /// Goes on.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    ///
    /// # Cancel safety
    /// As [`pause`](Self::pause).
    pub async fn resume(&self) -> Result<(), AdminError> {
        self.remote().resume().await
    }

    /// Waits until this instance knows of a pause, or of its end, that was stored before.
    pub(super) async fn confirm(&self, paused: bool) -> Result<(), AdminError> {
        if self.stores.state.load(&self.id).await?.enabled == paused {
            let reason = if paused { "somebody has resumed it meanwhile" } else { "somebody has paused it meanwhile" };
            return Err(AdminError::Refused { consumer: self.id.to_string(), reason: reason.to_owned() });
        }
        let mut desired = self.desired.clone();
        desired.ask_now();
        patiently(&self.id, async { desired.wait(&self.id, paused).await }).await
    }

    /// Settles one open event without handling it: one that waits for another attempt, or is not begun yet. One that
    /// runs is left to end, and skipped if it fails.
    ///
    /// # Errors
    /// [`AdminError::NotOpen`], [`AdminError::NotOwner`], [`AdminError::LoopDied`], [`AdminError::NoAnswer`].
    pub async fn skip(&self, position: Position) -> Result<(), AdminError> {
        self.ask(|reply| Command::Skip { position, reply }).await
    }

    /// Goes on elsewhere in the log, once what runs has finished. Everything in between is neither handled nor
    /// skipped event by event: the checkpoint moves. Forward it leaves events out. Back it handles events again: after
    /// the component's `#[on_reset]` hook has cleared what handlers have written, and where there is no such hook it is
    /// refused; see [`seek_keeping`](Self::seek_keeping). The hook has run when this returns, and handlers see
    /// [`Progress::replaying`](crate::Progress::replaying). A saga applies no event twice to one instance, and one
    /// that has ended stays ended for the [`dedupe_window`](crate::BundleBuilder::dedupe_window); another event that
    /// could have begun it may begin a new one. Dead letters of what is handled again are resolved.
    ///
    /// # Errors
    /// [`AdminError::WouldRepeat`], [`AdminError::BehindHead`], [`AdminError::Reset`], [`AdminError::NotOwner`],
    /// [`AdminError::LoopDied`], [`AdminError::NoAnswer`] (running handlers or the hook took longer; it still happens), or the store failed.
    pub async fn seek(&self, to: SeekTo) -> Result<(), AdminError> {
        self.ask(|reply| Command::Seek { to, keep: false, reply }).await
    }

    /// As [`seek`](Self::seek), also back and without the `#[on_reset]` hook: handlers see events again beside what they
    /// have written, and have to stand it.
    ///
    /// # Errors
    /// As [`seek`](Self::seek), but for [`AdminError::WouldRepeat`].
    pub async fn seek_keeping(&self, to: SeekTo) -> Result<(), AdminError> {
        self.ask(|reply| Command::Seek { to, keep: true, reply }).await
    }

    /// Unresolved dead letters that are meant, after a position, ascending, at most `limit`: the next page begins after
    /// the position of the last one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn dead_letters(
        &self,
        which: LetterFilter,
        after: Option<Position>,
        limit: usize,
    ) -> Result<Vec<StoredDeadLetter>, StoreError> {
        let (queue, id) = (Arc::clone(&self.stores.dead_letters), Arc::clone(&self.id));
        self.tasks.run(async move { queue.list(&id, &which, after.as_ref(), limit).await }).await
    }

    /// Has dead letters tried again, by whichever instance owns the consumer, within about a second: oldest first per
    /// key, behind what is open of the key, once each. One that fails again stays, with its attempts added up. Answers
    /// how many were marked.
    ///
    /// # Errors
    /// The store failed; nothing is marked.
    ///
    /// # Cancel safety
    /// Dropping the future does not take the marks back.
    pub async fn redrive(&self, which: LetterFilter) -> Result<u64, StoreError> {
        self.remote().redrive(which).await
    }

    /// Resolves dead letters without handling them: their rows stay, as history, and are listed no more. One that is being
    /// tried again right now comes back if it fails. Answers how many.
    ///
    /// # Errors
    /// The store failed; nothing is discarded.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn discard(&self, which: LetterFilter) -> Result<u64, StoreError> {
        self.remote().discard(which).await
    }

    /// Deletes the rows of dead letters that were resolved before a point in time: handled after all, or discarded.
    /// Answers how many. See [`keep_resolved`](crate::BundleBuilder::keep_resolved) for doing so by itself.
    ///
    /// # Errors
    /// The store failed; nothing is deleted.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn purge(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.remote().purge(before).await
    }

    /// The same consumer, as any process that has the store steers it.
    #[must_use]
    pub fn remote(&self) -> RemoteConsumer {
        RemoteConsumer::here(Arc::clone(&self.id), self.stores.clone(), self.tasks.clone(), self.desired.clone())
    }

    /// Has something done by the instance that owns the consumer, this one or another: see
    /// [`RemoteConsumer::deliver`].
    ///
    /// # Errors
    /// [`AdminError::Refused`] with what the owner said, or the store failed.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn deliver(&self, errand: &Errand) -> Result<Delivered, AdminError> {
        self.remote().deliver(errand).await
    }

    /// What became of something that was [delivered](Self::deliver). `None`: nobody of this bundle knows it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn command(&self, id: Uuid) -> Result<Option<CommandRow>, StoreError> {
        self.remote().command(id).await
    }

    async fn ask(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<(), AdminError>>) -> Command,
    ) -> Result<(), AdminError> {
        let (reply, answer) = oneshot::channel();
        let command = command(reply);
        let asked = async {
            self.commands.send(command).await.map_err(|_| AdminError::not_owner(&self.id))?;
            // Whatever ends in order answers.
            answer.await.map_err(|_| AdminError::loop_died(&self.id))?
        };
        patiently(&self.id, asked).await?
    }
}
