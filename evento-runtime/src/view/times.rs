//! How long handlers take.

use serde::Serialize;

/// The attempts of one handler, in the process that answers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TimesView {
    pub(crate) handler: String,
    pub(crate) attempts: u64,
    pub(crate) failed: u64,
    /// All together.
    pub(crate) seconds: f64,
    /// By bucket; the last one holds what is above all bounds.
    pub(crate) counts: Vec<u64>,
    /// Upper bounds of the buckets, in seconds.
    pub(crate) bounds: &'static [f64],
    /// The bounds within which half, 95 % and 99 % of them were; `None`: longer than the last one.
    pub(crate) within: [Option<f64>; 3],
}

impl TimesView {
    /// The mean, in seconds.
    pub(crate) fn mean(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let attempts = self.attempts.max(1) as f64;
        self.seconds / attempts
    }
}
