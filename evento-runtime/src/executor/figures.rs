//! What an executor shows of itself to other instances.

use serde::{Deserialize, Serialize};

use super::ConsumerExecutor;

/// Live figures of an executor. A figure that another version does not know is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ExecutorFigures {
    /// What handlers call it.
    pub name: String,
    /// Handlers that may run at once; `None`: unbounded.
    pub capacity: Option<usize>,
    /// Whether events of one key stay in order.
    pub keeps_key_order: bool,
    /// Permits in use.
    pub in_flight: usize,
    /// Permits handed out since the process began.
    pub admitted: u64,
    /// Waits that ended without one.
    pub rejected: u64,
    /// Works that ended.
    pub completed: u64,
    /// The most permits in use at once.
    pub peak: usize,
}

impl ExecutorFigures {
    /// As they are now.
    #[must_use]
    pub fn of(executor: &dyn ConsumerExecutor) -> Self {
        let stats = executor.stats();
        Self {
            name: executor.name().to_owned(),
            capacity: executor.capacity(),
            keeps_key_order: executor.keeps_key_order(),
            in_flight: stats.in_flight,
            admitted: stats.admitted,
            rejected: stats.rejected,
            completed: stats.completed,
            peak: stats.peak,
        }
    }
}
