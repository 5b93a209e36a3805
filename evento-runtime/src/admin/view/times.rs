//! How long handlers take.

use serde::Serialize;

/// The attempts of one handler, in the process that answers.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct TimesView {
    pub(in crate::admin) handler: String,
    pub(in crate::admin) attempts: u64,
    pub(in crate::admin) failed: u64,
    /// All together.
    pub(in crate::admin) seconds: f64,
    /// By bucket; the last one holds what is above all bounds.
    pub(in crate::admin) counts: Vec<u64>,
    /// Upper bounds of the buckets, in seconds.
    pub(in crate::admin) bounds: &'static [f64],
    /// The bounds within which half, 95 % and 99 % of them were; `None`: longer than the last one.
    pub(in crate::admin) within: [Option<f64>; 3],
}

impl TimesView {
    /// The mean, in seconds.
    pub(in crate::admin) fn mean(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let attempts = self.attempts.max(1) as f64;
        self.seconds / attempts
    }
}
