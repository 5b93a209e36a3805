//! What a handler may return, and how its errors are told apart.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::error::{BoxError, StoreError};

/// What is to happen with an event after its handler returned without an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// Handled; go on.
    Continue,
    /// Not for this component after all; counted apart from handled ones, otherwise the same, but that a saga keeps no
    /// change of its state.
    Skip,
    /// Give the event to the dead letters at once, with this reason.
    DeadLetter(String),
    /// Count a failed attempt and try again after this delay instead of the configured one. Bounded by `retry` where the
    /// handler says one; without, it is granted for ever, on an executor as well.
    RetryAfter(Duration),
    /// Handled, and the saga has ended. From any other component it is a failure.
    Complete,
}

/// How a failure is treated. The table in the crate documentation says how class and checkpoint mode combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// A failed attempt of this event: spends its retry budget.
    Ordinary,
    /// The world around is not ready (connection refused, database busy): another event would fail as well.
    Transient,
    /// No further attempt can help: a panic, an undecodable payload, or the handler said so.
    Permanent,
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ordinary => "ordinary",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
        })
    }
}

/// An error whose class the handler states itself.
///
/// ```
/// use evento_runtime::HandlerError;
/// fn parse(text: &str) -> Result<u32, HandlerError> {
///     text.parse().map_err(HandlerError::permanent)
/// }
/// assert!(parse("x").is_err());
/// ```
#[derive(Debug)]
pub struct HandlerError {
    class: ErrorClass,
    source: BoxError,
}

impl HandlerError {
    /// With the given class.
    pub fn new(class: ErrorClass, source: impl Into<BoxError>) -> Self {
        Self { class, source: source.into() }
    }

    /// The world around is not ready.
    pub fn transient(source: impl Into<BoxError>) -> Self {
        Self::new(ErrorClass::Transient, source)
    }

    /// No further attempt can help.
    pub fn permanent(source: impl Into<BoxError>) -> Self {
        Self::new(ErrorClass::Permanent, source)
    }

    /// The stated class.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.source, f)
    }
}

impl StdError for HandlerError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.source()
    }
}

/// What the shim of a handler gives to the engine.
pub type HandlerResult = Result<Flow, BoxError>;

/// What a handler may return: nothing, [`Flow`], or a `Result` of either with any error.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not `()`, `Flow`, `Result<(), E>` or `Result<Flow, E>`",
    note = "`E` may be any error that converts into `Box<dyn Error + Send + Sync>`"
)]
pub trait IntoOutcome {
    /// The outcome as the engine takes it.
    ///
    /// # Errors
    /// The handler's own error, boxed.
    fn into_outcome(self) -> HandlerResult;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> HandlerResult {
        Ok(Flow::Continue)
    }
}

impl IntoOutcome for Flow {
    fn into_outcome(self) -> HandlerResult {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> IntoOutcome for Result<(), E> {
    fn into_outcome(self) -> HandlerResult {
        self.map(|()| Flow::Continue).map_err(Into::into)
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> IntoOutcome for Result<Flow, E> {
    fn into_outcome(self) -> HandlerResult {
        self.map_err(Into::into)
    }
}

/// What an `#[on_start]` or `#[on_reset]` hook may return: nothing, or `Result<(), E>` with any error.
#[diagnostic::on_unimplemented(
    message = "a hook cannot return `{Self}`",
    label = "not `()` or `Result<(), E>`",
    note = "`E` may be any error that converts into `Box<dyn Error + Send + Sync>`"
)]
pub trait IntoStarted {
    /// The result as the engine takes it.
    ///
    /// # Errors
    /// The hook's own error, boxed.
    fn into_started(self) -> Result<(), BoxError>;
}

impl IntoStarted for () {
    fn into_started(self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> IntoStarted for Result<(), E> {
    fn into_started(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}

/// Knows the errors of one driver; `None` for an error that is not its own.
pub type Classifier = fn(&(dyn StdError + 'static)) -> Option<ErrorClass>;

/// The class of an error: stated by the handler, known to a driver, or an io kind, whichever is found first
/// going down the chain of causes. Never judged by its text.
#[must_use]
pub fn classify(error: &(dyn StdError + 'static), drivers: &[Classifier]) -> ErrorClass {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(class) = own_class(error).or_else(|| drivers.iter().find_map(|driver| driver(error))) {
            return class;
        }
        next = error.source();
    }
    ErrorClass::Ordinary
}

fn own_class(error: &(dyn StdError + 'static)) -> Option<ErrorClass> {
    if let Some(stated) = error.downcast_ref::<HandlerError>() {
        return match stated.class() {
            // Not the handler's last word: a driver may know the cause better.
            ErrorClass::Ordinary => None,
            class => Some(class),
        };
    }
    if error.is::<crate::event::DecodeError>() {
        return Some(ErrorClass::Permanent);
    }
    if let Some(store) = error.downcast_ref::<StoreError>() {
        return store.kind().is_transient().then_some(ErrorClass::Transient);
    }
    let io = error.downcast_ref::<io::Error>()?;
    matches!(
        io.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::Interrupted
    )
    .then_some(ErrorClass::Transient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapped(BoxError);
    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("timed out, connection refused")
        }
    }
    impl StdError for Wrapped {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(self.0.as_ref())
        }
    }

    #[test]
    fn class_comes_from_types_and_never_from_text() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(classify(&Wrapped(refused.into()), &[]), ErrorClass::Transient);
        assert_eq!(classify(&Wrapped("connection refused".into()), &[]), ErrorClass::Ordinary);
    }

    #[test]
    fn what_the_handler_says_wins_over_its_cause() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(classify(&HandlerError::permanent(refused), &[]), ErrorClass::Permanent);
        assert_eq!(classify(&Wrapped(Box::new(HandlerError::transient("later"))), &[]), ErrorClass::Transient);
    }
}
