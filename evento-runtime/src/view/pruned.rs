//! What of the log nobody needs any more.

use serde::Serialize;

use crate::source::Pruned;

/// What was taken out, or would be.
#[derive(Debug, Serialize)]
pub(crate) struct PrunedView {
    pub(crate) events: u64,
    /// Everything up to there was looked at.
    pub(crate) to: Option<String>,
    /// Whether there is more.
    pub(crate) more: bool,
    /// The consumer that has come least far, and how far.
    pub(crate) slowest: Option<SlowestView>,
}

/// The consumer that holds what is after it.
#[derive(Debug, Serialize)]
pub(crate) struct SlowestView {
    pub(crate) consumer: String,
    pub(crate) last_settled: Option<String>,
}

impl PrunedView {
    pub(crate) fn of(pruned: Pruned) -> Self {
        let slowest = pruned.slowest.map(|(consumer, watermark)| SlowestView {
            consumer: consumer.to_string(),
            last_settled: watermark.map(|watermark| watermark.to_text()),
        });
        Self { events: pruned.events, to: pruned.to.map(|to| to.to_text()), more: pruned.more, slowest }
    }

    pub(crate) fn text(&self) -> String {
        let to = self.to.as_deref().map(|to| format!(", up to position {to}")).unwrap_or_default();
        let more = if self.more { "; there is more" } else { "" };
        format!("done: {} events{to}{more}", self.events)
    }
}
