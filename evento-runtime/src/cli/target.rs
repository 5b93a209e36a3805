//! What commands work on: a running API, or a store.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::fault::Fault;
use crate::view::words::{Which, action};

/// A consumer of the bundle, as documents name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) component: String,
    pub(super) version: u32,
    pub(super) context: String,
}

/// `OrderView/1`, with the pattern of its contexts where that is not `*`.
impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.component, self.version)?;
        if self.context == "*" { Ok(()) } else { write!(f, "/{}", self.context) }
    }
}

/// Something that changes something, as it was said.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Pause,
    Resume,
    Seek { to: String, keep: bool },
    Skip { position: String },
    Redrive { which: Which, all: bool },
    Discard { which: Which, all: bool },
    Purge { before: String },
}

impl Action {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Pause => action::PAUSE,
            Self::Resume => action::RESUME,
            Self::Seek { .. } => action::SEEK,
            Self::Skip { .. } => action::SKIP,
            Self::Redrive { .. } => action::REDRIVE,
            Self::Discard { .. } => action::DISCARD,
            Self::Purge { .. } => action::PURGE,
        }
    }

    /// As the API is told, and as the audit keeps it.
    pub(super) fn said(&self) -> Value {
        match self {
            Self::Pause | Self::Resume => json!({}),
            Self::Seek { to, keep } => json!({ "to": to, "keep": keep }),
            Self::Skip { position } => json!({ "position": position }),
            Self::Redrive { which, all } | Self::Discard { which, all } => {
                let mut said = which.said();
                if *all {
                    said.insert("all".to_owned(), true.into());
                }
                said.into()
            }
            Self::Purge { before } => json!({ "before": before }),
        }
    }
}

/// Answers with the documents of the API.
#[async_trait]
pub(super) trait Target: Send + Sync {
    /// Consumers, executors and instances.
    async fn overview(&self) -> Result<Value, Fault>;

    /// A page of unresolved dead letters.
    async fn letters(&self, consumer: &Name, which: &Which) -> Result<Value, Fault>;

    /// One of them with more of its payload; `raw`: as it is stored.
    async fn letter(&self, consumer: &Name, position: &str, raw: bool) -> Result<Value, Fault>;

    /// Notes something, does it, and answers what became of it.
    async fn act(&self, consumer: &Name, action: &Action) -> Result<Value, Fault>;

    /// Takes events out of the log, a part at a time; `dry`: counts them.
    async fn prune(&self, before: &str, dry: bool) -> Result<Value, Fault>;

    /// Components and executors; and as text, where that is not made of the document.
    async fn plan(&self) -> Result<(Value, Option<String>), Fault>;

    /// A page of the audit.
    async fn audit(&self, after: &str, limit: u16) -> Result<Value, Fault>;

    /// What became of a command.
    async fn command(&self, id: &str) -> Result<Value, Fault>;

    /// Ends what was opened.
    async fn close(&self);
}
