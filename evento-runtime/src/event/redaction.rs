//! What of an event is not shown to people.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{JSON, StoredEvent};

/// Stands for a value that is not shown.
pub const DOTS: &str = "\u{2022}\u{2022}\u{2022}";

/// Which fields of which events are not shown: those marked `#[event(sensitive)]`, of the events that the handlers of a
/// bundle take. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    fields: Arc<BTreeMap<&'static str, Vec<&'static str>>>,
}

impl Redaction {
    /// Of these events: recorded name, and names of fields.
    #[must_use]
    pub fn new(events: impl IntoIterator<Item = (&'static str, &'static [&'static str])>) -> Self {
        let mut fields: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (event, names) in events.into_iter().filter(|(_, names)| !names.is_empty()) {
            fields.entry(event).or_default().extend_from_slice(names);
        }
        Self { fields: Arc::new(fields) }
    }

    /// Whether something of events of this name is not shown.
    #[must_use]
    pub fn concerns(&self, event: &str) -> bool {
        self.fields.contains_key(event)
    }

    /// The payload as it may be shown: with [`DOTS`] for the values of sensitive fields, at any depth, in whatever
    /// spelling serde gave their names; as a whole where it cannot be read. Other events: the payload as it is. For
    /// people, not for machines: a long number may lose digits.
    #[must_use]
    pub fn payload<'a>(&self, event: &'a StoredEvent) -> Cow<'a, [u8]> {
        let Some(names) = self.fields.get(&*event.name) else { return Cow::Borrowed(&event.payload) };
        let read = (*event.content_type == *JSON).then(|| serde_json::from_slice(&event.payload).ok()).flatten();
        let shown = read.map_or_else(
            || Value::from(DOTS),
            |mut value| {
                hide(&mut value, names);
                value
            },
        );
        Cow::Owned(shown.to_string().into_bytes())
    }
}

fn hide(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if names.iter().any(|sensitive| simplified(sensitive).eq(simplified(name))) {
                    *value = DOTS.into();
                } else {
                    hide(value, names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, names)),
        _ => {}
    }
}

/// `card_number`, `cardNumber` and `CARD-NUMBER` are one field.
fn simplified(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Bytes that are not for the log.
pub(super) struct Bytes(pub(super) usize);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventId, Position, Timestamp};

    fn event(name: &str, content_type: &str, payload: &'static [u8]) -> StoredEvent {
        StoredEvent {
            position: Position::from_u64(1),
            id: EventId::generate(),
            name: name.into(),
            context: "default".into(),
            key: None,
            version: None,
            recorded_at: Timestamp::from_micros(0),
            content_type: content_type.into(),
            payload: payload.into(),
            metadata: b"{}".as_slice().into(),
        }
    }

    #[test]
    fn values_are_hidden_at_any_depth_and_in_any_spelling() {
        let redaction = Redaction::new([("Paid", &["card_number"][..]), ("Open", &[])]);
        let shown = |event: &StoredEvent| String::from_utf8(redaction.payload(event).into_owned()).unwrap();
        let nested = br#"{"a":[{"cardNumber":{"x":4711}}],"CARD-NUMBER":"4711","card":"no"}"#;
        let text = shown(&event("Paid", JSON, nested));
        assert!(!text.contains("4711") && text.contains("no"), "{text}");
        assert_eq!(text.matches(DOTS).count(), 2);
        assert_eq!(shown(&event("Paid", JSON, b"{4711")), format!("\"{DOTS}\""));
        assert_eq!(shown(&event("Paid", "text/plain", br#"{"a":4711}"#)), format!("\"{DOTS}\""));
        assert_eq!(shown(&event("Open", JSON, nested)).as_bytes(), nested, "others as they are");
        assert!(redaction.concerns("Paid") && !redaction.concerns("Open"));
    }

    #[test]
    fn what_is_printed_for_the_log_has_no_payload() {
        let text = format!("{:?}", event("Paid", JSON, br#"{"card":4711}"#));
        assert!(!text.contains("4711") && text.contains("13 bytes"), "{text}");
    }
}
