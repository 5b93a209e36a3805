//! Which handler an event goes to.

use std::collections::{BTreeSet, HashMap};

use super::keys::FixedHasher;
use super::plan::HandlerPlan;
use crate::identity::ContextPattern;
use crate::source::EventFilter;

/// Event names to handlers of one consumer.
#[derive(Debug, Default)]
pub struct Routes {
    by_name: HashMap<&'static str, usize, FixedHasher>,
    catch_all: Option<usize>,
}

impl Routes {
    /// From the handlers of a plan, by index.
    #[must_use]
    pub fn new(handlers: &[HandlerPlan]) -> Self {
        let mut routes = Self::default();
        for (index, handler) in handlers.iter().enumerate() {
            match &handler.names {
                Some(names) => routes.by_name.extend(names.iter().map(|name| (*name, index))),
                None => routes.catch_all = Some(index),
            }
        }
        routes
    }

    /// The handler of an event name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().or(self.catch_all)
    }

    /// What the source need not send.
    #[must_use]
    pub fn filter(&self, context: ContextPattern) -> EventFilter {
        let names: Option<BTreeSet<String>> =
            self.catch_all.is_none().then(|| self.by_name.keys().map(|name| (*name).to_owned()).collect());
        EventFilter::new(names, context)
    }
}
