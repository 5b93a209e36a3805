//! How a command ends.

use std::process::ExitCode;

use crate::error::{AdminError, StoreError, StoreErrorKind};
use crate::view::words::Unclear;

/// What the process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Done = 0,
    Refused = 1,
    Usage = 2,
    Unreachable = 3,
    Waiting = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) exit: Exit,
    /// For programs, as the API has them: `not-found`.
    pub(super) code: String,
    /// For people: what is wrong, and what would be right.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self { exit, code: code.to_owned(), message: message.into() }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "invalid", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, "not-found", message)
    }

    pub(super) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, "unreachable", message)
    }
}

impl From<Unclear> for Fault {
    fn from(Unclear(message): Unclear) -> Self {
        Self::usage(message)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            // What was typed in is not one of this store.
            StoreErrorKind::Config => Self::usage(error.to_string()),
            _ => Self::new(Exit::Unreachable, "store", with_causes(&error)),
        }
    }
}

impl From<AdminError> for Fault {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Store(error) => error.into(),
            AdminError::NoAnswer { .. } => Self::new(Exit::Waiting, "no-answer", error.to_string()),
            _ => Self::new(Exit::Refused, "refused", error.to_string()),
        }
    }
}

/// An error with what led to it.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some repeat what they are the cause of.
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
