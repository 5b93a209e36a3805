//! Metrics, where they are built in.

use crate::bundle::Running;
use crate::identity::ConsumerId;
use crate::observe::metrics::{HandlerTime, Metrics};
use crate::view::TimesView;

/// What a scrape is answered with.
pub(super) struct Scraped(Metrics);

impl Scraped {
    pub(super) fn of(running: &Running) -> Self {
        Self(running.metrics())
    }

    /// How long the handlers of a consumer take here.
    pub(super) fn times(&self, consumer: &ConsumerId) -> Vec<TimesView> {
        let view = |time: &HandlerTime| TimesView {
            handler: time.handler.clone(),
            attempts: time.attempts(),
            failed: time.failed,
            seconds: time.seconds,
            counts: time.counts.clone(),
            bounds: HandlerTime::BOUNDS,
            within: [500, 950, 990].map(|per_mille| time.within(per_mille)),
        };
        self.0.handler_times(consumer).iter().map(view).collect()
    }

    /// The text, and what it is.
    pub(super) async fn text(&self) -> Option<(String, &'static str)> {
        Some((self.0.scrape().await, Metrics::CONTENT_TYPE))
    }
}
