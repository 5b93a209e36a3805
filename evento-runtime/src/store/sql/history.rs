//! The error history as JSON text.

use serde::{Deserialize, Serialize};

use crate::event::{Position, Timestamp};
use crate::outcome::ErrorClass;
use crate::store::{ErrorHistory, Failure};

#[derive(Serialize, Deserialize)]
struct Stored {
    streak: u64,
    recent: Vec<StoredFailure>,
}

#[derive(Serialize, Deserialize)]
struct StoredFailure {
    position: Vec<u8>,
    handler: String,
    class: String,
    attempt: u32,
    error: String,
    at: i64,
}

pub(super) fn encode(history: &ErrorHistory) -> String {
    let recent = history.recent.iter().map(|failure| StoredFailure {
        position: failure.position.as_bytes().to_vec(),
        handler: failure.handler.clone(),
        class: class_name(failure.class).to_owned(),
        attempt: failure.attempt,
        error: failure.error.clone(),
        at: failure.at.as_micros(),
    });
    // Numbers and texts only: nothing in it can refuse to be JSON.
    serde_json::to_string(&Stored { streak: history.streak, recent: recent.collect() }).unwrap_or_default()
}

pub(super) fn decode(text: &str) -> Result<ErrorHistory, serde_json::Error> {
    let stored: Stored = serde_json::from_str(text)?;
    let mut recent = Vec::with_capacity(stored.recent.len());
    for failure in stored.recent {
        recent.push(Failure {
            position: Position::from_bytes(&failure.position).map_err(serde::de::Error::custom)?,
            handler: failure.handler,
            class: class_of(&failure.class),
            attempt: failure.attempt,
            error: failure.error,
            at: Timestamp::from_micros(failure.at),
        });
    }
    Ok(ErrorHistory { streak: stored.streak, recent })
}

pub(super) const fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Ordinary => "ordinary",
        ErrorClass::Transient => "transient",
        ErrorClass::Permanent => "permanent",
    }
}

/// A class of a newer version is shown as an ordinary failure.
pub(super) fn class_of(name: &str) -> ErrorClass {
    match name {
        "transient" => ErrorClass::Transient,
        "permanent" => ErrorClass::Permanent,
        _ => ErrorClass::Ordinary,
    }
}
