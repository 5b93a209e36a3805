//! What somebody needs of a bundle who looks at it and steers it, and runs nothing of it.

use std::sync::Arc;

use super::{Bundle, Plan};
use crate::event::Redaction;
use crate::identity::ConsumerId;
use crate::store::StoreConfig;

/// A bundle that is not going to run here.
pub(crate) struct Operated {
    pub(crate) name: Arc<str>,
    /// Not opened yet.
    pub(crate) store: Option<Box<dyn StoreConfig>>,
    pub(crate) plan: Plan,
    pub(crate) redaction: Redaction,
    /// What it would run, whether it ever has or not.
    pub(crate) consumers: Vec<ConsumerId>,
}

impl Bundle {
    pub(crate) fn operated(self) -> Operated {
        let Self { parts, blueprint } = self;
        let consumers = blueprint.consumers(&parts.name).into_iter().map(|(id, _)| id).collect();
        Operated {
            name: parts.name,
            store: parts.store,
            plan: blueprint.plan,
            redaction: blueprint.redaction,
            consumers,
        }
    }
}
