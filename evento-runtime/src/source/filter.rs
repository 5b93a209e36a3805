//! What a consumer wants to see.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::StoredEvent;
use crate::identity::ContextPattern;

/// Event names and contexts, compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    names: Option<Arc<BTreeSet<String>>>,
    context: ContextPattern,
}

impl EventFilter {
    /// Every event.
    #[must_use]
    pub const fn all() -> Self {
        Self { names: None, context: ContextPattern::All }
    }

    /// Events of these names in these contexts; `names: None` for every name.
    #[must_use]
    pub fn new(names: Option<BTreeSet<String>>, context: ContextPattern) -> Self {
        Self { names: names.map(Arc::new), context }
    }

    /// Whether every event passes.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.names.is_none() && self.context == ContextPattern::All
    }

    /// The names, sorted; `None` for every name.
    #[must_use]
    pub fn names(&self) -> Option<&BTreeSet<String>> {
        self.names.as_deref()
    }

    /// The contexts.
    #[must_use]
    pub const fn context(&self) -> &ContextPattern {
        &self.context
    }

    /// Whether an event passes.
    #[must_use]
    pub fn matches(&self, event: &StoredEvent) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(&*event.name)) && self.context.matches(&event.context)
    }
}
