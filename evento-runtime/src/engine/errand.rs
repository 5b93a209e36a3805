//! What is asked of whichever instance owns a consumer, and how it lies in the store.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::consumer::SeekTo;
use crate::event::{Position, Timestamp};

/// Something that only the owner of a consumer can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Errand {
    /// As [`ConsumerHandle::skip`](super::ConsumerHandle::skip).
    Skip {
        /// The event.
        position: Position,
    },
    /// As [`ConsumerHandle::seek`](super::ConsumerHandle::seek).
    Seek {
        /// Where to go on.
        to: SeekTo,
        /// As [`ConsumerHandle::seek_keeping`](super::ConsumerHandle::seek_keeping).
        keep: bool,
    },
    /// Changes nothing: the owner says that it knows of a [pause](super::RemoteConsumer::pause), or of its end, that was
    /// stored before.
    Confirm {
        /// Whether the consumer is meant to be paused.
        paused: bool,
    },
}

/// What became of an errand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The owner has carried it out.
    Done,
    /// It was not carried out within five seconds, and still may be; [`ConsumerHandle::command`](super::ConsumerHandle::command) tells by this id.
    Waiting(Uuid),
}

impl Errand {
    /// As a store keeps it, and as people read it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Skip { position } => json!({ "skip": position.to_text() }),
            Self::Seek { to, keep } => {
                let to = match to {
                    SeekTo::Start => json!("start"),
                    SeekTo::Head => json!("head"),
                    SeekTo::After(position) => json!({ "after": position.to_text() }),
                    SeekTo::Time(time) => json!({ "time": time.as_micros() }),
                };
                json!({ "seek": to, "keep": keep })
            }
            Self::Confirm { paused } => json!({ "confirm": if *paused { "paused" } else { "resumed" } }),
        }
    }

    /// Reads [`to_json`](Self::to_json). `None`: it was written by a version that knows more, or by nobody of us.
    pub(super) fn of_json(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let position = |value: &Value| Position::of_text(value.as_str()?);
        if let Some(skip) = value.get("skip") {
            return Some(Self::Skip { position: position(skip)? });
        }
        if let Some(confirm) = value.get("confirm") {
            return match confirm.as_str()? {
                "paused" => Some(Self::Confirm { paused: true }),
                "resumed" => Some(Self::Confirm { paused: false }),
                _ => None,
            };
        }
        let to = match value.get("seek")? {
            Value::String(text) if text == "start" => SeekTo::Start,
            Value::String(text) if text == "head" => SeekTo::Head,
            to => match (to.get("after"), to.get("time")) {
                (Some(after), None) => SeekTo::After(position(after)?),
                (None, Some(time)) => SeekTo::Time(Timestamp::from_micros(time.as_i64()?)),
                _ => return None,
            },
        };
        Some(Self::Seek { to, keep: value.get("keep")?.as_bool()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let foreign = Position::from_bytes(&[0x12, 0x34]).unwrap();
        for position in [Position::from_u64(7), Position::from_u64(u64::MAX), foreign] {
            for to in [
                SeekTo::Start,
                SeekTo::Head,
                SeekTo::After(position.clone()),
                SeekTo::Time(Timestamp::from_micros(i64::MIN)),
            ] {
                let errand = Errand::Seek { to, keep: true };
                assert_eq!(Errand::of_json(&errand.to_json().to_string()), Some(errand));
            }
            let errand = Errand::Skip { position };
            assert_eq!(Errand::of_json(&errand.to_json().to_string()), Some(errand));
        }
        for paused in [true, false] {
            let errand = Errand::Confirm { paused };
            assert_eq!(Errand::of_json(&errand.to_json().to_string()), Some(errand));
        }
        for other in [
            "",
            "{}",
            r#"{"confirm":"perhaps"}"#,
            "[]",
            "null",
            r#"{"skip":7}"#,
            r#"{"seek":"start"}"#,
            r#"{"seek":{},"keep":true}"#,
        ] {
            assert_eq!(Errand::of_json(other), None, "{other}");
        }
    }
}
