//! Why a bundle does not run, or did not end as it should; and how `main` prints it.

use std::error::Error as StdError;
use std::fmt;

use super::Style;
use super::report::LaunchError;
use crate::engine::EngineError;
use crate::error::{BoxError, StoreError};

/// What `main` returns: `fn main() -> evento_runtime::Result`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Any error at all, printed for people.
///
/// `fn main() -> Result<_, E>` prints `{:?}` of its error. Here that is the launch report, or the message
/// with its causes below it, instead of a struct with quotes.
pub struct Error(BoxError);

impl Error {
    /// The error inside, to be matched with `downcast_ref`.
    #[must_use]
    pub fn inner(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self.0.as_ref()
    }
}

impl<E: Into<BoxError>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl Error {
    /// The report in it, if it is one.
    fn launch(&self) -> Option<&LaunchError> {
        match self.0.downcast_ref::<RunError>() {
            Some(RunError::Launch(launch)) => Some(launch),
            _ => self.0.downcast_ref(),
        }
    }
}

/// What `main` prints. A log wants [`Display`](fmt::Display), which is the same text without any look.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(launch), false) = (self.launch(), f.alternate()) {
            return launch.write(f, Style::of_stderr());
        }
        fmt::Display::fmt(self, f)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, "\n  caused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Why a running bundle ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The launch was refused; nothing runs.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A store could not be opened or read at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A component's `#[on_start]` hook failed.
    #[error("`{hook}` failed; `{component}` has not started")]
    OnStart {
        /// Component and method.
        hook: String,
        /// The component.
        component: String,
        /// What the hook returned.
        #[source]
        source: BoxError,
    },
    /// A component was moved back, and its `#[on_reset]` hook failed.
    #[error("`{hook}` failed; `{component}` was moved back and handles nothing before it has succeeded")]
    OnReset {
        /// Component and method.
        hook: String,
        /// The component.
        component: String,
        /// What the hook returned.
        #[source]
        source: BoxError,
    },
    /// The start was given up before every consumer had begun: a stop came first, or nobody waited any more.
    #[error("the start was given up before every consumer had begun")]
    GivenUp,
    /// The deadline of the stop came before these had finished.
    #[error("stopped at its deadline with {} still running: {}", .stragglers.len(), .stragglers.join(", "))]
    Stragglers {
        /// `consumer: handler at position`, one a straggler.
        stragglers: Vec<String>,
    },
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => Self::Store(error),
            EngineError::OnStart { hook, component, source } => Self::OnStart { hook, component, source },
            EngineError::OnReset { hook, component, source } => Self::OnReset { hook, component, source },
            EngineError::GivenUp => Self::GivenUp,
            EngineError::Stragglers { stragglers } => Self::Stragglers { stragglers },
        }
    }
}
