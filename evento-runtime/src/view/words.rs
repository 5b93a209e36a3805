//! What people write to say what they mean: positions, times, where to go on, which dead letters.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::time;
use crate::consumer::SeekTo;
use crate::event::{Position, Timestamp};
use crate::outcome::ErrorClass;
use crate::store::{LetterFilter, LetterKind};

/// What a consumer may be asked to do: in the audit, in paths, on buttons, and as commands.
pub(crate) mod action {
    pub(crate) const PAUSE: &str = "pause";
    pub(crate) const RESUME: &str = "resume";
    pub(crate) const SEEK: &str = "seek";
    pub(crate) const SKIP: &str = "skip";
    pub(crate) const REDRIVE: &str = "redrive";
    pub(crate) const DISCARD: &str = "discard";
    pub(crate) const PURGE: &str = "purge";
}

/// What was written cannot be meant; says what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unclear(pub(crate) &'static str);

/// A position as it is shown.
pub(crate) fn position(text: &str) -> Result<Position, Unclear> {
    let wrong = Unclear("a position is a number, or bytes as `0x…`: write it as it is shown here");
    Position::of_text(text.trim()).ok_or(wrong)
}

/// A point in time.
pub(crate) fn time(text: &str) -> Result<Timestamp, Unclear> {
    let wrong = Unclear("a time is written as `2026-11-30T18:44:00Z`, or in microseconds since 1970");
    time::of_text(text).ok_or(wrong)
}

/// Where to go on, in one word.
pub(crate) fn seek_to(text: &str) -> Result<SeekTo, Unclear> {
    match (text, text.split_once(':')) {
        ("start", _) => Ok(SeekTo::Start),
        ("head", _) => Ok(SeekTo::Head),
        (_, Some(("after", text))) => position(text).map(SeekTo::After),
        (_, Some(("time", text))) => time(text).map(SeekTo::Time),
        _ => Err(Unclear("`to` is `start`, `head`, `after:POSITION` or `time:TIME`")),
    }
}

/// Which letters are meant. A field that is empty says nothing, so that forms can be sent as they are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Which {
    pub(crate) position: String,
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) handler: String,
    pub(crate) class: String,
    pub(crate) error: String,
    pub(crate) since: String,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) limit: Option<usize>,
}

impl Which {
    /// The fields that narrow it down, by their names.
    pub(crate) fn fields(&self) -> [(&'static str, &str); 9] {
        [
            ("position", &self.position),
            ("name", &self.name),
            ("key", &self.key),
            ("kind", &self.kind),
            ("handler", &self.handler),
            ("class", &self.class),
            ("error", &self.error),
            ("since", &self.since),
            ("before", &self.before),
        ]
    }

    /// Whether nothing is said.
    pub(crate) fn is_all(&self) -> bool {
        self.fields().iter().all(|(_, text)| text.is_empty())
    }

    /// What is said, as it was written.
    pub(crate) fn said(&self) -> Map<String, Value> {
        let said = self.fields().into_iter().filter(|(_, text)| !text.is_empty());
        said.map(|(name, text)| (name.to_owned(), text.into())).collect()
    }

    pub(crate) fn filter(&self) -> Result<LetterFilter, Unclear> {
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let at = |text: &str| (!text.is_empty()).then(|| time(text)).transpose();
        let mut filter = LetterFilter::all();
        filter.position = said(&self.position).map(|text| position(&text)).transpose()?;
        filter.name = said(&self.name);
        filter.key = said(&self.key);
        filter.handler = said(&self.handler);
        filter.error = said(&self.error);
        filter.kind = match &*self.kind {
            "" => None,
            "dead" => Some(LetterKind::Dead),
            "parked" => Some(LetterKind::Parked),
            _ => return Err(Unclear("a kind is `dead` or `parked`")),
        };
        filter.class = match &*self.class {
            "" => None,
            "ordinary" => Some(ErrorClass::Ordinary),
            "transient" => Some(ErrorClass::Transient),
            "permanent" => Some(ErrorClass::Permanent),
            _ => return Err(Unclear("a class is `ordinary`, `transient` or `permanent`")),
        };
        (filter.since, filter.before) = (at(&self.since)?, at(&self.before)?);
        Ok(filter)
    }
}

/// The letters that an action is for: some, or all where that is said.
pub(crate) fn meant(all: bool, which: &Which) -> Result<(LetterFilter, Value), Unclear> {
    if all != which.is_all() {
        return Err(Unclear("say which dead letters are meant, or `all`, and not both"));
    }
    let said = if all { Map::from_iter([("all".to_owned(), true.into())]) } else { which.said() };
    Ok((which.filter()?, said.into()))
}

/// A text as one segment of a path, or one value of a query.
pub(crate) fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
