//! What operators did, and what became of it.

use serde::Serialize;
use serde_json::Value;

use super::super::time;
use crate::store::{AuditRow, CommandRow};

/// A row of the audit.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct AuditView {
    pub(in crate::admin) id: String,
    pub(in crate::admin) at: String,
    pub(in crate::admin) who: String,
    pub(in crate::admin) origin: String,
    pub(in crate::admin) action: String,
    pub(in crate::admin) target: String,
    pub(in crate::admin) detail: String,
    /// Empty: nobody knows.
    pub(in crate::admin) result: String,
}

impl AuditView {
    pub(in crate::admin) fn of(row: AuditRow) -> Self {
        let AuditRow { id, bundle: _, at, who, origin, action, target, detail, result } = row;
        Self { id: id.to_string(), at: time::text(at), who, origin, action, target, detail, result }
    }
}

/// What became of a command.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct CommandView {
    pub(in crate::admin) id: String,
    pub(in crate::admin) consumer: String,
    pub(in crate::admin) command: Value,
    pub(in crate::admin) asked_at: String,
    /// `waiting`, `done` or `refused`.
    pub(in crate::admin) status: &'static str,
    pub(in crate::admin) message: Option<String>,
    pub(in crate::admin) answered_at: Option<String>,
}

impl CommandView {
    pub(in crate::admin) fn of(row: &CommandRow) -> Self {
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
