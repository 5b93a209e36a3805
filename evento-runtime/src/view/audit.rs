//! What operators did, and what became of it.

use serde::Serialize;
use serde_json::Value;

use super::time;
use crate::store::{AuditRow, CommandRow};

/// A row of the audit.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AuditView {
    pub(crate) id: String,
    pub(crate) at: String,
    pub(crate) who: String,
    pub(crate) origin: String,
    pub(crate) action: String,
    pub(crate) target: String,
    pub(crate) detail: String,
    /// Empty: nobody knows.
    pub(crate) result: String,
}

impl AuditView {
    pub(crate) fn of(row: AuditRow) -> Self {
        let AuditRow { id, bundle: _, at, who, origin, action, target, detail, result } = row;
        Self { id: id.to_string(), at: time::text(at), who, origin, action, target, detail, result }
    }
}

/// What became of a command.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CommandView {
    pub(crate) id: String,
    pub(crate) consumer: String,
    pub(crate) command: Value,
    pub(crate) asked_at: String,
    /// `waiting`, `done` or `refused`.
    pub(crate) status: &'static str,
    pub(crate) message: Option<String>,
    pub(crate) answered_at: Option<String>,
}

impl CommandView {
    pub(crate) fn of(row: &CommandRow) -> Self {
        let answer = row.answer.as_ref();
        Self {
            id: row.id.to_string(),
            consumer: row.consumer.to_string(),
            command: serde_json::from_str(&row.body).unwrap_or_default(),
            asked_at: time::text(row.asked_at),
            status: match answer {
                None => "waiting",
                Some(answer) if answer.done => "done",
                Some(_) => "refused",
            },
            message: answer.filter(|answer| !answer.done).map(|answer| answer.text.clone()),
            answered_at: answer.map(|answer| time::text(answer.at)),
        }
    }
}
