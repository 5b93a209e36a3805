//! An event that could not be handled, with all that is needed to understand it and to try again.

use std::error::Error as StdError;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::event::{Position, StoredEvent, Timestamp};
use crate::identity::ConsumerId;
use crate::outcome::ErrorClass;

/// Error text kept with a dead letter: 16 KiB.
pub const MAX_ERROR_TEXT: usize = 16 * 1_024;

/// What later events queue behind once one of them is given up, where a component parks: a key in its context, or an
/// instance of a saga.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParkedKey {
    /// The context of the events; empty for an instance of a saga, which may have events of several.
    pub context: Arc<str>,
    /// The key, or what a saga calls its instance.
    pub key: Arc<str>,
}

impl fmt::Display for ParkedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.context {
            "" | "default" => f.write_str(&self.key),
            context => write!(f, "{} in {context}", self.key),
        }
    }
}

/// Whether an event was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum LetterKind {
    /// It was given up.
    #[default]
    Dead,
    /// It was not begun: an earlier event of its key was given up, and it waits behind that.
    Parked,
}

/// What an engine gives to a store. One row per (consumer, event): a second one adds its attempts to the first,
/// keeps the first failure and replaces the rest.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The event with its raw bytes.
    pub event: Arc<StoredEvent>,
    /// Whether it was tried.
    pub kind: LetterKind,
    /// What later events queue behind for as long as this one is unresolved; `None`: nobody waits for it.
    pub parks: Option<ParkedKey>,
    /// The handler's method.
    pub handler: String,
    /// How the last failure was treated; of no meaning for one that is parked.
    pub class: ErrorClass,
    /// The last error with its causes; see [`error_text`].
    pub error: String,
    /// Attempts that were made.
    pub attempts: u32,
    /// When the first failed; or when it was parked, if that was before.
    pub first_failed_at: Timestamp,
    /// When the last failed.
    pub last_failed_at: Timestamp,
}

/// A dead letter as a store holds it.
#[derive(Debug, Clone)]
pub struct StoredDeadLetter {
    /// Whose it is.
    pub consumer: ConsumerId,
    /// What was stored, attempts summed up.
    pub letter: DeadLetter,
    /// Whether it is to be tried again.
    pub requested: bool,
}

/// One unresolved letter that later events queue behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRow {
    /// What they queue behind.
    pub key: ParkedKey,
    /// The letter's event.
    pub position: Position,
    /// Whether it was tried.
    pub kind: LetterKind,
    /// Whether it is to be tried again.
    pub requested: bool,
}

/// That everything unresolved of a parked key is to be tried again, or is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedWish {
    /// Of what.
    pub key: ParkedKey,
    /// Whether it is.
    pub redrive: bool,
}

/// Which dead letters are meant: those that fit everything that is said. The default fits all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LetterFilter {
    /// The event at this position.
    pub position: Option<Position>,
    /// Events of this name.
    pub name: Option<String>,
    /// Events of this key.
    pub key: Option<String>,
    /// Of this kind.
    pub kind: Option<LetterKind>,
    /// Given up by this handler, or parked before it.
    pub handler: Option<String>,
    /// Whose last failure was treated so.
    pub class: Option<ErrorClass>,
    /// Whose error text holds this, byte by byte.
    pub error: Option<String>,
    /// Whose last failure was then or later.
    pub since: Option<Timestamp>,
    /// Whose last failure was earlier.
    pub before: Option<Timestamp>,
}

impl LetterFilter {
    /// All.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The event at a position.
    #[must_use]
    pub fn at(position: Position) -> Self {
        Self { position: Some(position), ..Self::default() }
    }

    /// Events of a name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Events of a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Given up, or parked behind one that was.
    #[must_use]
    pub const fn kind(mut self, kind: LetterKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Given up by a handler, or parked before it.
    #[must_use]
    pub fn handler(mut self, method: impl Into<String>) -> Self {
        self.handler = Some(method.into());
        self
    }

    /// Whose last failure was treated so; one that is parked has had none.
    #[must_use]
    pub const fn class(mut self, class: ErrorClass) -> Self {
        self.class = Some(class);
        self
    }

    /// Whose error text holds this, byte by byte.
    #[must_use]
    pub fn error(mut self, part: impl Into<String>) -> Self {
        self.error = Some(part.into());
        self
    }

    /// Whose last failure was then or later.
    #[must_use]
    pub const fn since(mut self, time: Timestamp) -> Self {
        self.since = Some(time);
        self
    }

    /// Whose last failure was earlier.
    #[must_use]
    pub const fn before(mut self, time: Timestamp) -> Self {
        self.before = Some(time);
        self
    }

    /// Whether a dead letter is meant.
    #[must_use]
    pub fn matches(&self, letter: &DeadLetter) -> bool {
        let event = &letter.event;
        self.position.as_ref().is_none_or(|position| *position == event.position)
            && self.name.as_deref().is_none_or(|name| *name == *event.name)
            && self.key.as_deref().is_none_or(|key| Some(key) == event.key.as_deref())
            && self.handler.as_ref().is_none_or(|handler| *handler == letter.handler)
            && self.kind.is_none_or(|kind| kind == letter.kind)
            && self.class.is_none_or(|class| class == letter.class && letter.kind == LetterKind::Dead)
            && self.error.as_deref().is_none_or(|part| letter.error.contains(part))
            && self.since.is_none_or(|time| letter.last_failed_at >= time)
            && self.before.is_none_or(|time| letter.last_failed_at < time)
    }
}

/// An error with its causes, one a line, fit for every store: no NUL, at most `limit` bytes, cut at a character
/// with a mark.
#[must_use]
pub fn error_text(error: &(dyn StdError + 'static), limit: usize) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let separator = if text.is_empty() { "" } else { "\ncaused by: " };
        // Writing to a `String` cannot fail; what a broken `Display` answers is no reason to lose the rest.
        let _ = write!(text, "{separator}{error}");
        if text.len() > limit {
            break;
        }
        next = error.source();
    }
    fit_text(text, limit)
}

/// A text fit for every store; see [`error_text`]. What a store was given is made to fit, never refused.
pub(crate) fn fit_text(mut text: String, limit: usize) -> String {
    // Only what can be kept is looked at: an error may have megabytes.
    if text.len() > limit.saturating_mul(4) {
        let mut end = limit.saturating_mul(4);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    if text.contains('\0') {
        text = text.replace('\0', "\u{2400}");
    }
    if text.len() > limit {
        const MARK: &str = "… (cut)";
        let mut end = limit.saturating_sub(MARK.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BoxError;

    #[test]
    fn error_text_fits_whatever_the_error_says() {
        let error: BoxError = "é\0".repeat(1_000_000).into();
        let text = error_text(error.as_ref(), MAX_ERROR_TEXT);
        assert!(text.len() <= MAX_ERROR_TEXT);
        assert!(text.ends_with("(cut)"));
        assert!(!text.contains('\0'));
    }

    #[test]
    fn causes_are_told_in_order() {
        let cause = std::io::Error::other("disk");
        let error = crate::error::StoreError::new(crate::error::StoreErrorKind::Other, "x.db").caused_by(cause);
        assert_eq!(error_text(&error, 1_000), "store `x.db` failed\ncaused by: disk");
    }
}
