//! Instances of the saga as its settlements make them: every event is applied once, to the one instance it belongs to.

use std::collections::{BTreeMap, BTreeSet};

use evento_runtime::store::{SagaChange, SagaId, SagaInstance};

use crate::consumers::{Component, DUE};

/// An instance.
struct Told {
    order: String,
    /// Numbers of its events, as its state tells them.
    applied: Vec<u64>,
    ended: bool,
}

#[derive(Default)]
pub(crate) struct Sagas {
    instances: BTreeMap<SagaId, Told>,
    /// Numbers of the events that were applied to any.
    applied: BTreeSet<u64>,
    /// What came later, by the number of the event that asked for it.
    fired: BTreeSet<u64>,
}

impl Sagas {
    /// A change was stored. Answers what is wrong with it.
    pub(crate) fn changed(&mut self, change: &SagaChange, order_of: impl Fn(u64) -> Option<String>) -> Vec<String> {
        let mut wrong = Vec::new();
        let known = self.instances.get(&change.id);
        let Some(state) = &change.state else {
            match self.instances.get_mut(&change.id) {
                Some(told) => told.ended = true,
                None => wrong.push(format!("instance {} ends, and never began", change.id)),
            }
            return wrong;
        };
        let state: Vec<u64> = serde_json::from_slice(state).unwrap();
        if known.is_some_and(|told| told.applied == state) {
            // The same write once more.
            return wrong;
        }
        if known.is_some_and(|told| told.ended) {
            wrong.push(format!("instance {} has ended, and goes on with {state:?}", change.id));
            return wrong;
        }
        let (before, order) = match known {
            Some(told) => (told.applied.clone(), told.order.clone()),
            None => (Vec::new(), order_of(state[0]).unwrap_or_default()),
        };
        if !state.starts_with(&before) || state.len() != before.len() + 1 {
            wrong.push(format!("the state of instance {} was {before:?} and is {state:?}", change.id));
        }
        for n in state.iter().skip(before.len()) {
            if order_of(*n).as_ref() != Some(&order) {
                wrong.push(format!("instance {} of {order} was given event {n} of another", change.id));
            }
            if !self.applied.insert(*n) {
                wrong.push(format!("event {n} was applied to a saga twice"));
            }
        }
        let other = self.instances.iter().find(|(id, told)| **id != change.id && !told.ended && told.order == order);
        if let Some((other, _)) = other {
            wrong.push(format!("instances {other} and {} of {order} live at once", change.id));
        }
        self.instances.insert(change.id, Told { order, applied: state, ended: false });
        wrong
    }

    /// What an instance asked for has come.
    pub(crate) fn fired(&mut self, n: u64) -> Option<String> {
        let asked = n - DUE;
        let of = self.instances.values().find(|told| told.applied.contains(&asked));
        let wrong = match of {
            None => Some(format!("event {asked} is heard of later, and was applied to no saga")),
            Some(told) if told.ended => Some(format!("event {asked} is heard of later, and its saga has ended")),
            Some(_) => None,
        };
        if self.fired.insert(asked) { wrong } else { Some(format!("event {asked} is heard of later twice")) }
    }

    pub(crate) fn has_applied(&self, n: u64) -> bool {
        self.applied.contains(&n)
    }

    /// What is wrong in the end, when no timer waits and these instances live.
    pub(crate) fn judge_the_end(&self, live: &[SagaInstance]) -> Vec<String> {
        let mut wrong = Vec::new();
        let told: BTreeMap<&SagaId, &Told> = self.instances.iter().filter(|(_, told)| !told.ended).collect();
        for instance in live {
            let state: Vec<u64> = serde_json::from_slice(&instance.state).unwrap();
            if told.get(&instance.id).is_none_or(|told| told.applied != state) {
                wrong.push(format!("instance {} lives with {state:?}, which nobody stored", instance.id));
            }
        }
        if live.len() != told.len() {
            wrong.push(format!("{} instances live, {} were stored", live.len(), told.len()));
        }
        for told in told.values() {
            let asked = told.applied.iter().filter(|n| Component::schedules(**n));
            for n in asked.filter(|n| !self.fired.contains(n)) {
                wrong.push(format!("event {n} was to be heard of later, and is not"));
            }
        }
        wrong
    }
}
