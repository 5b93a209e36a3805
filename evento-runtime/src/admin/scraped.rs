//! Metrics, where they are built in.

use crate::bundle::Running;
use crate::observe::metrics::Metrics;

/// What a scrape is answered with.
pub(super) struct Scraped(Metrics);

impl Scraped {
    pub(super) fn of(running: &Running) -> Self {
        Self(running.metrics())
    }

    /// The text, and what it is.
    pub(super) async fn text(&self) -> Option<(String, &'static str)> {
        Some((self.0.scrape().await, Metrics::CONTENT_TYPE))
    }
}
