//! Why the engines did not start, or did not end as they should.

use crate::error::{BoxError, StoreError};

/// Why the engines did not start, or did not end as they should.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
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
    /// A component's `#[on_reset]` hook failed, or is gone although it has to run.
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
