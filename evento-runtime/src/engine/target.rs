//! What a consumer has to settle before it is ready.

use std::sync::{Arc, OnceLock};

use crate::consumer::ConsumerStatus;
use crate::event::Position;

/// The last event of the log when the bundle began. Shared by its consumers; not known at first.
#[derive(Debug, Clone, Default)]
pub(super) struct Target(Arc<OnceLock<Option<Position>>>);

impl Target {
    /// `None`: the log was empty. The first call counts.
    pub(super) fn set(&self, newest: Option<Position>) {
        // Set before: then it stays.
        let _ = self.0.set(newest);
    }

    /// Whether a consumer has settled everything up to there.
    pub(super) fn is_reached(&self, status: &ConsumerStatus) -> bool {
        self.0.get().is_some_and(|newest| status.watermark >= *newest)
    }
}
