//! Claims of the observer as its settlements make them: of one event, one at a time.

use std::collections::BTreeMap;

use evento_runtime::event::EventId;
use tokio::time::Instant;

use evento_runtime::store::Claims as Changes;

#[derive(Clone, Copy)]
enum Claim {
    Held { by: usize, until: Instant },
    Done,
}

#[derive(Default)]
pub(crate) struct Claims(BTreeMap<EventId, Claim>);

impl Claims {
    /// Changes by an instance were stored. Answers what is wrong with them.
    pub(crate) fn changed(&mut self, by: usize, changes: &Changes) -> Vec<String> {
        let (now, mut wrong) = (Instant::now(), Vec::new());
        for id in &changes.taken {
            match self.0.get(id) {
                Some(Claim::Done) => continue,
                Some(Claim::Held { by: other, until }) if *other != by && *until > now => {
                    wrong.push(format!("#{by} claims what #{other} holds for another {:?}", *until - now));
                }
                _ => {}
            }
            self.0.insert(*id, Claim::Held { by, until: now + changes.expiry });
        }
        for id in &changes.released {
            if matches!(self.0.get(id), Some(Claim::Held { by: holder, .. }) if *holder == by) {
                self.0.remove(id);
            }
        }
        self.0.extend(changes.done.iter().map(|id| (*id, Claim::Done)));
        wrong
    }

    /// An instance begins to handle an event. Answers what is wrong with it.
    pub(crate) fn began(&self, by: usize, id: EventId) -> Option<String> {
        match self.0.get(&id) {
            Some(Claim::Held { by: holder, .. }) if *holder == by => None,
            Some(Claim::Held { by: holder, .. }) => Some(format!("#{by} begins what #{holder} has claimed")),
            Some(Claim::Done) => Some(format!("#{by} begins what was done")),
            None => Some(format!("#{by} begins what nobody has claimed")),
        }
    }
}
