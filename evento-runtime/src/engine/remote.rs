//! One consumer, steered through the store alone: whoever owns it, wherever that is.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::desired::Desired;
use super::errand::{Delivered, Errand};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{AdminError, StoreError};
use crate::event::Timestamp;
use crate::identity::ConsumerId;
use crate::store::{CommandRow, LetterFilter, Stores};
use crate::task::Tasks;

/// How long an answer is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How often the answer of another instance is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Steers a consumer of which this process may have no component. What is asked for is stored, and found within a second
/// by the instance that owns it. Cheap to clone.
#[derive(Clone)]
pub struct RemoteConsumer {
    id: Arc<ConsumerId>,
    stores: Stores,
    tasks: Tasks,
    /// Where this process looks at the store as well, so that it does so at once.
    here: Option<Desired>,
}

impl RemoteConsumer {
    /// One that the stores know.
    #[must_use]
    pub fn new(id: ConsumerId, stores: Stores) -> Self {
        Self { id: Arc::new(id), stores, tasks: Tasks::default(), here: None }
    }

    pub(super) const fn here(id: Arc<ConsumerId>, stores: Stores, tasks: Tasks, desired: Desired) -> Self {
        Self { id, stores, tasks, here: Some(desired) }
    }

    /// Which consumer it is.
    #[must_use]
    pub fn id(&self) -> &ConsumerId {
        &self.id
    }

    /// Begins nothing more until [`resume`](Self::resume), in whichever instance owns it, also after a restart. Returns
    /// once the wish is stored, and known where this process has the component.
    ///
    /// # Errors
    /// The store failed, or this process has the component and did not hear of it within five seconds.
    ///
    /// # Cancel safety
    /// Dropping the future does not take the wish back.
    pub async fn pause(&self) -> Result<(), AdminError> {
        self.want(false).await
    }

    /// Goes on.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    ///
    /// # Cancel safety
    /// As [`pause`](Self::pause).
    pub async fn resume(&self) -> Result<(), AdminError> {
        self.want(true).await
    }

    async fn want(&self, enabled: bool) -> Result<(), AdminError> {
        let (state, id) = (Arc::clone(&self.stores.state), Arc::clone(&self.id));
        // Asked by a handler that holds the only writer it is stored once that has returned.
        let stored = self.tasks.run(async move { state.set_enabled(&id, enabled).await });
        patiently(&self.id, stored).await??;
        let Some(mut desired) = self.here.clone() else { return Ok(()) };
        desired.ask_now();
        patiently(&self.id, async { desired.wait(&self.id, !enabled).await }).await
    }

    /// Has dead letters tried again: see [`ConsumerHandle::redrive`](super::ConsumerHandle::redrive). Answers how many were marked.
    ///
    /// # Errors
    /// The store failed; nothing is marked.
    ///
    /// # Cancel safety
    /// Dropping the future does not take the marks back.
    pub async fn redrive(&self, which: LetterFilter) -> Result<u64, StoreError> {
        let (queue, id) = (Arc::clone(&self.stores.dead_letters), Arc::clone(&self.id));
        let marked = self.tasks.run(async move { queue.request(&id, &which).await }).await?;
        self.ask_now();
        Ok(marked)
    }

    /// Resolves dead letters without handling them: see [`ConsumerHandle::discard`](super::ConsumerHandle::discard). Answers how many.
    ///
    /// # Errors
    /// The store failed; nothing is discarded.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn discard(&self, which: LetterFilter) -> Result<u64, StoreError> {
        let (queue, id) = (Arc::clone(&self.stores.dead_letters), Arc::clone(&self.id));
        self.tasks.run(async move { queue.discard(&id, &which).await }).await
    }

    /// Deletes the rows of dead letters that were resolved before a point in time. Answers how many.
    ///
    /// # Errors
    /// The store failed; nothing is deleted.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn purge(&self, before: Timestamp) -> Result<u64, StoreError> {
        let (queue, id) = (Arc::clone(&self.stores.dead_letters), Arc::clone(&self.id));
        self.tasks.run(async move { queue.purge(&id, before).await }).await
    }

    /// Has something done by the instance that owns the consumer: it is stored, found there within a second, and carried
    /// out in turn. An owner that dies in the middle may leave it to the next one, which does it again. What is not
    /// carried out within ten minutes is refused.
    ///
    /// # Errors
    /// [`AdminError::Refused`] with what the owner said, or the store failed.
    ///
    /// # Cancel safety
    /// Dropping the future does not take it back.
    pub async fn deliver(&self, errand: &Errand) -> Result<Delivered, AdminError> {
        let command = CommandRow {
            id: Uuid::now_v7(),
            consumer: (*self.id).clone(),
            body: errand.to_json().to_string(),
            asked_at: SystemClock.now(),
            answer: None,
        };
        let id = command.id;
        let admin = Arc::clone(&self.stores.admin);
        self.tasks.run(async move { admin.ask(&command).await }).await?;
        self.ask_now();
        let answered = async {
            loop {
                match self.command(id).await?.and_then(|command| command.answer) {
                    Some(answer) if answer.done => return Ok(Delivered::Done),
                    Some(answer) => {
                        return Err(AdminError::Refused { consumer: self.id.to_string(), reason: answer.text });
                    }
                    None => tokio::time::sleep(LOOK).await,
                }
            }
        };
        tokio::select! {
            biased;
            answered = answered => answered,
            () = tokio::time::sleep(PATIENCE) => Ok(Delivered::Waiting(id)),
        }
    }

    /// What became of something that was [delivered](Self::deliver). `None`: nobody of this bundle knows it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn command(&self, id: Uuid) -> Result<Option<CommandRow>, StoreError> {
        let (admin, bundle) = (Arc::clone(&self.stores.admin), Arc::clone(&self.id.bundle));
        self.tasks.run(async move { admin.command(&bundle, id).await }).await
    }

    fn ask_now(&self) {
        if let Some(desired) = &self.here {
            desired.ask_now();
        }
    }
}

/// At most five seconds.
pub(super) async fn patiently<T>(id: &ConsumerId, asked: impl Future<Output = T>) -> Result<T, AdminError> {
    tokio::select! {
        biased;
        answer = asked => Ok(answer),
        () = tokio::time::sleep(PATIENCE) => Err(AdminError::NoAnswer { consumer: id.to_string() }),
    }
}
