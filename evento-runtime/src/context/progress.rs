//! How far the consumer is, as its handlers may know it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{FromContext, HandlerContext, MissingDependency};
use crate::event::Position;

/// Where the consumer stands with this event. An extractor, for handlers that leave out what makes no sense while
/// catching up: a notification about an order of last year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The consumer has passed this event before, and was told to go back behind it.
    pub replaying: bool,
    /// The consumer has once settled everything that was there when this process took it over, or when it was moved.
    pub head_reached: bool,
}

/// What the loop knows and handlers ask.
#[derive(Debug, Default)]
pub(crate) struct ProgressCell {
    head_reached: AtomicBool,
    replay_to: Option<Position>,
}

impl ProgressCell {
    pub(crate) const fn new(replay_to: Option<Position>) -> Self {
        Self { head_reached: AtomicBool::new(false), replay_to }
    }

    pub(crate) fn note_head(&self) {
        self.head_reached.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_reached_head(&self) -> bool {
        self.head_reached.load(Ordering::Relaxed)
    }
}

impl FromContext for Progress {
    fn from_context(context: &HandlerContext) -> Result<Self, MissingDependency> {
        let progress = &context.0.scope.progress;
        Ok(Self {
            replaying: progress.replay_to.as_ref().is_some_and(|replay_to| context.event().position <= *replay_to),
            head_reached: progress.has_reached_head(),
        })
    }
}
