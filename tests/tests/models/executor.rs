//! The runtime's own file of permits, compiled once more with the locks and atomics of a model in the place of
//! `crate::sync`: it names no others. tokio's channels stay tokio's; a step of theirs is one step of the model.

use std::sync::Arc;

pub(crate) use evento_runtime::executor::{Admission, Permit, PermitPool, Work};

#[allow(dead_code, reason = "an executor needs more of it than a model")]
#[path = "../../../evento-runtime/src/executor/permits.rs"]
mod permits;

/// The figures that `permits.rs` fills in; those of the runtime are made by the runtime only.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "filled in as a whole")]
pub(crate) struct ExecutorStats {
    pub(crate) in_flight: usize,
    pub(crate) admitted: u64,
    pub(crate) rejected: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) peak: usize,
    pub(crate) paced: u64,
    pub(crate) waits_for_rate: bool,
}

/// The pool.
#[derive(Clone)]
pub(crate) struct Pool(Arc<permits::Permits>);

impl Pool {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(permits::Permits::new(capacity))
    }

    pub(crate) async fn admit(&self, admission: Admission) -> Option<Permit> {
        self.0.admit(admission).await
    }

    pub(crate) fn refuse(&self) {
        self.0.refuse();
    }

    pub(crate) async fn idle(&self) {
        self.0.idle().await;
    }

    pub(crate) fn stats(&self) -> ExecutorStats {
        self.0.stats()
    }
}
