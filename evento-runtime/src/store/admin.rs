//! What operators ask for, who asked, and which instances are there.

use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::{MAX_ERROR_TEXT, fit_text};
use crate::error::StoreError;
use crate::event::Timestamp;
use crate::identity::{ConsumerId, OwnerId};

/// A request to whichever instance owns a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    /// Its identity, ordered by time (UUID version 7).
    pub id: Uuid,
    /// Whose owner is to carry it out.
    pub consumer: ConsumerId,
    /// What is to be done, as JSON.
    pub body: String,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// What became of it; `None`: it is not carried out yet.
    pub answer: Option<CommandAnswer>,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAnswer {
    /// Whether it was carried out.
    pub done: bool,
    /// Why not; empty if it was.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// Something an operator did, or tried to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its identity, ordered by time (UUID version 7).
    pub id: Uuid,
    /// The bundle it was about.
    pub bundle: String,
    /// When it was asked for.
    pub at: Timestamp,
    /// Who asked.
    pub who: String,
    /// From where.
    pub origin: String,
    /// What was asked: `pause`.
    pub action: String,
    /// Of which consumer.
    pub target: String,
    /// With which values, as JSON.
    pub detail: String,
    /// What became of it; empty as long as nobody knows.
    pub result: String,
}

/// What operators and errors say is made to fit every store, never refused.
fn fit(text: String) -> String {
    fit_text(text, MAX_ERROR_TEXT)
}

impl CommandAnswer {
    pub(crate) fn fit(self) -> Self {
        Self { text: fit(self.text), ..self }
    }
}

impl AuditRow {
    pub(crate) fn fit(self) -> Self {
        let Self { id, bundle, at, who, origin, action, target, detail, result } = self;
        let [who, origin, action, target, detail, result] = [who, origin, action, target, detail, result].map(fit);
        Self { id, bundle, at, who, origin, action, target, detail, result }
    }
}

/// A running instance of a bundle, as it shows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRow {
    /// Under which it owns consumers.
    pub owner: OwnerId,
    /// What people call it.
    pub name: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Live figures, as JSON.
    pub figures: String,
}

/// Commands, audit and instances. Nothing in here is needed to handle events.
#[async_trait]
pub trait AdminStore: Send + Sync + 'static {
    /// Keeps a command for the owner of its consumer. Harmless again.
    ///
    /// # Errors
    /// The store failed.
    async fn ask(&self, command: &CommandRow) -> Result<(), StoreError>;

    /// Commands of a bundle that were not answered, oldest first, at most `limit`.
    ///
    /// # Errors
    /// The store failed.
    async fn asked(&self, bundle: &str, limit: usize) -> Result<Vec<CommandRow>, StoreError>;

    /// Answers a command; the first answer stays.
    ///
    /// # Errors
    /// The store failed.
    async fn answer(&self, id: Uuid, answer: &CommandAnswer) -> Result<(), StoreError>;

    /// A command of a bundle by its id.
    ///
    /// # Errors
    /// The store failed.
    async fn command(&self, bundle: &str, id: Uuid) -> Result<Option<CommandRow>, StoreError>;

    /// Keeps a row of the audit; one that is there gets the new result.
    ///
    /// # Errors
    /// The store failed.
    async fn note(&self, row: &AuditRow) -> Result<(), StoreError>;

    /// The audit of a bundle, latest first, at most `limit`; `before`: only rows from before that one.
    ///
    /// # Errors
    /// The store failed.
    async fn audit(&self, bundle: &str, before: Option<Uuid>, limit: usize) -> Result<Vec<AuditRow>, StoreError>;

    /// Says that an instance of a bundle is there.
    ///
    /// # Errors
    /// The store failed.
    async fn beat(&self, bundle: &str, instance: &InstanceRow) -> Result<(), StoreError>;

    /// Says that an instance is gone; harmless for one that never was there.
    ///
    /// # Errors
    /// The store failed.
    async fn leave(&self, bundle: &str, owner: OwnerId) -> Result<(), StoreError>;

    /// The instances of a bundle, and how long ago each was last there, by the clock of the database; the oldest first.
    ///
    /// # Errors
    /// The store failed.
    async fn instances(&self, bundle: &str) -> Result<Vec<(InstanceRow, Duration)>, StoreError>;

    /// Forgets commands and audit of a bundle that are older than `age`, and instances that were not there for so
    /// long. Answers how many rows.
    ///
    /// # Errors
    /// The store failed.
    async fn sweep_admin(&self, bundle: &str, age: Duration) -> Result<u64, StoreError>;
}
