//! Instances that stand: known to the consumer's loop and to its attempts, since only an attempt finds out which instance
//! an event belongs to. For consumers whose handlers run one after the other.

use std::sync::Arc;

use super::parked::ParkedKeys;
use crate::context::HandlerContext;
use crate::event::Position;
use crate::store::ParkedKey;
use crate::sync::{Mutex, lock};

/// What the order of an event is kept in, where that is not its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedBy {
    /// The instance; `None`: there is none.
    pub instance: Option<String>,
    /// What finds the instance, where it does not live yet.
    pub found_by: Option<String>,
}

impl OrderedBy {
    /// What later events queue behind: both names, so that an instance that could not begin is found by either.
    fn key(&self) -> Option<ParkedKey> {
        let instance = self.instance.as_deref()?;
        let key = match &self.found_by {
            Some(found_by) => format!("{instance} {found_by}").into(),
            None => instance.into(),
        };
        Some(ParkedKey { context: "".into(), key })
    }
}

/// The parked keys, and what the event that runs belongs to.
#[derive(Debug)]
pub(crate) struct Standing {
    keys: Arc<Mutex<ParkedKeys>>,
    current: Mutex<Option<(Position, ParkedKey)>>,
}

impl Standing {
    pub(crate) fn new(keys: Arc<Mutex<ParkedKeys>>) -> Self {
        Self { keys, current: Mutex::default() }
    }

    /// An attempt begins; nothing is known of its event.
    pub(crate) fn begin(&self) {
        *lock(&self.current) = None;
    }

    /// What the event of an attempt belongs to. Answers what it has to queue behind.
    pub(crate) fn enter(&self, context: &HandlerContext, by: &OrderedBy) -> Option<ParkedKey> {
        let position = &context.event().position;
        *lock(&self.current) = by.key().map(|key| (position.clone(), key));
        if context.is_redriven() {
            return None;
        }
        let keys = lock(&self.keys);
        [&by.instance, &by.found_by].into_iter().flatten().find_map(|name| keys.named(name))
    }

    /// What the event at `position` belongs to, if its attempt was the last one.
    pub(crate) fn of(&self, position: &Position) -> Option<ParkedKey> {
        lock(&self.current).as_ref().filter(|(of, _)| of == position).map(|(_, key)| key.clone())
    }
}
