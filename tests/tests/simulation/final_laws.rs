//! What has to hold once everything is healed and stopped.

use std::collections::BTreeMap;

use evento_runtime::store::SagaInstance;

use crate::consumers::Component;
use crate::history::{CAPACITY, Consumer, History};
use crate::ownership::Standing;

impl History {
    /// Nothing is lost but what `OnStart` may lose.
    pub(crate) fn judge_the_end(&mut self, live: &[SagaInstance]) {
        let mut wrong: Vec<(&str, String)> =
            self.sagas.judge_the_end(live).into_iter().map(|wrong| ("G18", wrong)).collect();
        let mut passed_on_start = 0;
        for (component, consumer) in &self.consumers {
            let last = consumer.ownerships.values().next_back();
            if last.is_some_and(|own| own.instance.is_some() && own.standing == Standing::Held) {
                wrong.push(("G7", format!("{component:?} was not given back")));
            }
            // By the ownership that had begun them.
            let mut lost: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
            for (at, fact) in &consumer.facts {
                let given_up = fact.letter && (!fact.resolved || fact.succeeded);
                if *at <= consumer.passed_to || (given_up && !component.parks()) {
                    continue;
                }
                if *component == Component::Story && fact.succeeded && !self.sagas.has_applied(fact.n) && !fact.may_pass
                {
                    wrong.push(("G18", format!("the event at {at} was handled, and applied to no saga")));
                }
                match (fact.succeeded, fact.emits, fact.emitted, fact.last_epoch) {
                    _ if fact.may_pass => {}
                    (true, false, 0, _) | (true, true, 1, _) => {}
                    (false, _, _, Some(epoch)) if component.is_on_start() => lost.entry(epoch).or_default().push(*at),
                    _ => wrong.push(("G1", format!("{component:?} has lost the event at {at}"))),
                }
            }
            passed_on_start += lost.values().map(|events| events.len() as u64).sum::<u64>();
            for (epoch, events) in lost {
                if let Some(why) = too_much(consumer, epoch, &events) {
                    wrong.push(("G2", format!("{component:?} has lost {events:?} of epoch {epoch}: {why}")));
                }
            }
        }
        self.figures.passed_on_start = passed_on_start;
        wrong.into_iter().for_each(|(law, what)| self.blame(law, || what));
    }
}

fn too_much(consumer: &Consumer, epoch: u64, events: &[u64]) -> Option<String> {
    match consumer.ownerships.get(&epoch).map(|own| own.standing) {
        Some(Standing::Lost) if events.len() > CAPACITY => Some(format!("more than the capacity, {CAPACITY}")),
        Some(Standing::Lost) => None,
        standing => Some(format!("it ended in order: {standing:?}")),
    }
}
