//! What has happened, held against the laws as it happens. The numbers of the laws are those of the guarantees.

use std::collections::BTreeMap;
use std::time::Duration;

use evento_runtime::event::{EventId, StoredEvent};
use evento_runtime::store::{Checkpoint, LetterKind, Settlement};
use tokio::time::Instant;

use crate::claims::Claims;
use crate::consumers::{Component, Place};
use crate::driver::Outcome;
use crate::fate::Shape;
use crate::ownership::{Ownership, Standing};
use crate::sagas::Sagas;
use crate::world::Figures;

/// Capacity of each executor.
pub(crate) const CAPACITY: usize = 2;

/// An event at one consumer that handles it.
pub(crate) struct Fact {
    pub(crate) n: u64,
    pub(crate) place: Place,
    pub(crate) id: EventId,
    pub(crate) key: Option<String>,
    /// What a saga finds its instance by.
    pub(crate) order: String,
    /// It may be settled without a call.
    pub(crate) may_pass: bool,
    pub(crate) succeeded: bool,
    /// An attempt has failed: it may have been given up.
    pub(crate) failed: bool,
    /// Its dead letter was stored at some time.
    pub(crate) letter: bool,
    pub(crate) resolved: bool,
    pub(crate) emits: bool,
    /// How many of what its handler emits are in the log.
    pub(crate) emitted: u32,
    /// The ownership it began in last.
    pub(crate) last_epoch: Option<u64>,
}

impl Fact {
    /// Nothing more has to be stored for it but the checkpoint.
    fn is_settled(&self) -> bool {
        self.may_pass || self.letter || (self.succeeded && (!self.emits || self.emitted > 0))
    }

    /// It was handled, also after it was given up.
    fn is_handled(&self) -> bool {
        if self.letter { self.resolved } else { self.is_settled() }
    }

    /// Whether they have the same key, which has an order.
    fn shares_key(&self, other: &Self) -> bool {
        self.key.is_some() && self.key == other.key
    }

    /// Whether a later event may not begin before this one is settled.
    fn blocks(&self, later: &Self) -> bool {
        match (self.place, later.place) {
            (Place::Loop, _) | (_, Place::Loop) => true,
            (Place::Lanes, Place::Lanes) => self.shares_key(later),
            _ => false,
        }
    }
}

/// One consumer.
#[derive(Default)]
pub(crate) struct Consumer {
    pub(crate) facts: BTreeMap<u64, Fact>,
    pub(crate) ownerships: BTreeMap<u64, Ownership>,
    pub(crate) stored: Checkpoint,
    /// The highest epoch of a settlement that was taken.
    settled_epoch: u64,
    /// Left out by request.
    pub(crate) passed_to: u64,
    seeks: Vec<u64>,
}

/// A handler's run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    component: Component,
    epoch: u64,
    at: u64,
    instance: usize,
}

pub(crate) struct History {
    window: usize,
    began: Instant,
    pub(crate) consumers: BTreeMap<Component, Consumer>,
    ids: BTreeMap<EventId, u64>,
    seen: u64,
    granted: BTreeMap<(usize, Component), u64>,
    running: BTreeMap<(usize, Place), usize>,
    pub(crate) sagas: Sagas,
    claims: Claims,
    pub(crate) figures: Figures,
    pub(crate) broken: Vec<String>,
    story: Option<Vec<String>>,
}

impl History {
    pub(crate) fn new(shape: &Shape, began: Instant, tell: bool) -> Self {
        Self {
            window: shape.window,
            began,
            consumers: Component::ALL.into_iter().map(|component| (component, Consumer::default())).collect(),
            ids: BTreeMap::new(),
            seen: 0,
            granted: BTreeMap::new(),
            running: BTreeMap::new(),
            sagas: Sagas::default(),
            claims: Claims::default(),
            figures: Figures::default(),
            broken: Vec::new(),
            story: tell.then(Vec::new),
        }
    }

    pub(crate) fn tell(&mut self, what: impl FnOnce() -> String) {
        let at = self.began.elapsed();
        if let Some(story) = &mut self.story {
            story.push(format!("{:>10.3} {}", at.as_secs_f64(), what()));
        }
    }

    /// What it comes to; nothing more is told.
    pub(crate) fn outcome(&mut self) -> Outcome {
        let story = self.story.take().unwrap_or_default();
        Outcome { broken: std::mem::take(&mut self.broken), figures: self.figures.clone(), story }
    }

    pub(crate) fn blame(&mut self, law: &str, what: impl FnOnce() -> String) {
        let what = format!("{law} broken after {:.3} s: {}", self.began.elapsed().as_secs_f64(), what());
        self.tell(|| format!("!! {what}"));
        self.broken.push(what);
    }

    fn consumer(&mut self, component: Component) -> &mut Consumer {
        self.consumers.get_mut(&component).unwrap()
    }

    /// The last position known.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// An event is in the log.
    pub(crate) fn appended(&mut self, event: &StoredEvent) {
        let at = event.position.as_u64().unwrap();
        self.seen = at;
        self.ids.insert(event.id, at);
        let payload: serde_json::Value = serde_json::from_slice(&event.payload).unwrap();
        let n = payload["n"].as_u64().unwrap();
        if &*event.name == "Echo" {
            let of = Component::named(payload["of"].as_str().unwrap());
            let fact = self.consumer(of).facts.values_mut().find(|fact| fact.n == n).unwrap();
            fact.emitted += 1;
            let twice = fact.emitted > 1;
            self.tell(|| format!("   log {at}: echo of {n} by {of:?}"));
            if twice {
                self.blame("G9", || format!("{of:?} has emitted for event {n} twice"));
            }
            return;
        }
        self.figures.events += 1;
        self.tell(|| format!("   log {at}: {} {n} key {:?}", event.name, event.key));
        if &*event.name == "Due"
            && let Some(wrong) = self.sagas.fired(n)
        {
            self.blame("G18", || wrong);
        }
        let order = payload["order"].as_str().unwrap();
        for component in Component::ALL {
            let Some(place) = component.place(&event.name) else { continue };
            let fact = Fact {
                n,
                place,
                id: event.id,
                order: order.to_owned(),
                may_pass: component.may_pass(&event.name, order),
                key: event.key.as_deref().map(str::to_owned),
                succeeded: false,
                failed: false,
                letter: false,
                resolved: false,
                emits: component.emits(&event.name, n),
                emitted: 0,
                last_epoch: None,
            };
            self.consumer(component).facts.insert(at, fact);
        }
    }

    /// A lock gave a consumer away, whether or not anybody hears of it.
    pub(crate) fn taken(&mut self, component: Component, epoch: u64) {
        let consumer = self.consumer(component);
        let last = consumer.ownerships.last_key_value().map_or(0, |(epoch, _)| *epoch);
        let lost = consumer.ownerships.values_mut().filter_map(|ownership| ownership.lose().then_some(())).count();
        consumer.ownerships.insert(epoch, Ownership::new());
        self.figures.ownerships += 1;
        self.figures.lost += lost as u64;
        if epoch <= last {
            self.blame("G7", || format!("{component:?} was taken under epoch {epoch} after {last}"));
        }
    }

    /// An instance knows that it owns a consumer.
    pub(crate) fn granted(&mut self, instance: usize, component: Component, epoch: u64, until: Instant) {
        self.tell(|| format!("#{instance} owns {component:?} under epoch {epoch}"));
        self.granted.insert((instance, component), epoch);
        if let Some(ownership) = self.consumer(component).ownerships.get_mut(&epoch) {
            ownership.instance = Some(instance);
            ownership.believed_until = Some(until);
        }
    }

    pub(crate) fn renewed(&mut self, component: Component, epoch: u64, until: Option<Instant>) {
        let Some(ownership) = self.consumer(component).ownerships.get_mut(&epoch) else { return };
        // A renewal that came too late: its owner may have given up believing, and rightly.
        let late = ownership.believed_until.is_some_and(|until| until <= Instant::now());
        // What was begun before the answer, in the same instant, may still be called.
        ownership.believed_until = until.or_else(|| Some(Instant::now() + Duration::from_micros(1)));
        if (until.is_none() || late) && ownership.lose() {
            self.figures.lost += 1;
        }
    }

    /// An instance gives a consumer back.
    pub(crate) fn released(&mut self, instance: usize, component: Component, epoch: u64) {
        let now = Instant::now();
        self.tell(|| format!("#{instance} releases {component:?} of epoch {epoch}"));
        let Some(ownership) = self.consumer(component).ownerships.get_mut(&epoch) else { return };
        let running = ownership.running.clone();
        let over = ownership.believed_until.is_some_and(|until| now >= until);
        if ownership.standing == Standing::Held {
            ownership.standing = if over { Standing::Lost } else { Standing::Released };
        }
        if !running.is_empty() {
            self.blame("G7", || format!("{component:?} of epoch {epoch} was given up while {running:?} ran"));
        }
    }

    pub(crate) fn died(&mut self, instance: usize, why: &str) {
        self.tell(|| format!("#{instance} is dead: {why}"));
        let mut lost = 0;
        for consumer in self.consumers.values_mut() {
            for ownership in consumer.ownerships.values_mut().filter(|own| own.instance == Some(instance)) {
                lost += u64::from(ownership.lose());
            }
        }
        self.figures.lost += lost;
    }

    pub(crate) fn wants_to_seek(&mut self, component: Component, to: u64) {
        self.tell(|| format!("{component:?} is asked to go on after {to}"));
        self.consumer(component).seeks.push(to);
    }

    /// An engine calls a handler.
    pub(crate) fn called(&mut self, instance: usize, component: Component, at: u64) {
        let epoch = self.granted.get(&(instance, component)).copied().unwrap_or(0);
        let own = self.consumer(component).ownerships.get(&epoch);
        if own.and_then(|own| own.believed_until).is_none_or(|until| until <= Instant::now()) {
            self.blame("G7", || format!("{component:?} begins {at} although the time of its ownership is over"));
        }
    }

    /// A handler begins.
    pub(crate) fn began(&mut self, instance: usize, component: Component, at: u64) -> Run {
        let epoch = self.granted.get(&(instance, component)).copied().unwrap_or(0);
        let run = Run { component, epoch, at, instance };
        self.tell(|| format!("#{instance} {component:?} begins {at} (epoch {epoch})"));
        self.figures.handled += 1;
        let window = self.window;
        let mut wrong: Vec<(&str, String)> = Vec::new();
        let Self { consumers, claims, .. } = self;
        let consumer = consumers.get_mut(&component).unwrap();
        let is_current = consumer.ownerships.last_key_value().is_some_and(|(last, _)| *last == epoch);
        let Consumer { facts, ownerships, stored, passed_to, .. } = consumer;
        let lost: Vec<u64> =
            ownerships.iter().filter(|(_, own)| own.standing == Standing::Lost).map(|(epoch, _)| *epoch).collect();
        let (Some(fact), Some(own)) = (facts.get(&at), ownerships.get_mut(&epoch)) else {
            self.blame("G7", || format!("{component:?} handles {at} under epoch {epoch}, which it was never given"));
            return run;
        };
        let redriven = fact.letter;
        let beside = |other: &&u64| match (**other).cmp(&at) {
            std::cmp::Ordering::Less => facts[*other].blocks(fact),
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => fact.blocks(&facts[*other]),
        };
        if let Some(other) = own.running.iter().find(beside) {
            wrong.push(("G4", format!("{component:?} begins {at} while {other} runs")));
        }
        if !redriven && is_current {
            let is_open = |(earlier, other): &(&u64, &Fact)| {
                let started = component.is_on_start() && other.last_epoch.is_some_and(|epoch| lost.contains(&epoch));
                // Within one transaction what has succeeded before it is as good as settled.
                let passed = component.is_transacted() && own.passed.contains(earlier);
                // It queues behind another, and is no barrier then.
                let parked = component.parks() && !other.shares_key(fact) && stands(facts, **earlier, other);
                other.blocks(fact) && !other.is_settled() && **earlier > *passed_to && !started && !passed && !parked
            };
            if let Some((earlier, _)) = facts.range(..at).find(is_open) {
                wrong.push(("G4", format!("{component:?} begins {at} before {earlier} is settled")));
            }
            // What was undone together with this one has begun for nothing.
            let begun = if component.is_transacted() { &own.done } else { &own.begun };
            if let Some(later) = begun.range(at + 1..).find(|later| fact.blocks(&facts[later])) {
                wrong.push(("G4", format!("{component:?} begins {at} after {later}, under one ownership")));
            }
            if own.done.contains(&at) {
                wrong.push(("G3", format!("{component:?} begins {at} again, which was handled under this ownership")));
            }
        }
        // Whoever was overtaken and cannot know may begin what was claimed in time.
        if component == Component::Watch
            && !redriven
            && is_current
            && let Some(unclaimed) = claims.began(instance, fact.id)
        {
            wrong.push(("G19", format!("{unclaimed}: {at}")));
        }
        if component.parks() && is_current {
            let stands = |(earlier, other): &(&u64, &Fact)| {
                other.shares_key(fact) && !other.is_handled() && (**earlier > *passed_to || other.letter)
            };
            if let Some((earlier, _)) = facts.range(..at).find(stands) {
                wrong.push(("G4", format!("{component:?} begins {at} before {earlier} of its key is handled")));
            }
            let mut begun = own.begun.range(at + 1..).chain(own.tried.range(at + 1..));
            if let Some(later) = begun.find(|later| fact.shares_key(&facts[later])) {
                wrong.push(("G4", format!("{component:?} begins {at} after {later} of its key, in one ownership")));
            }
            if redriven && own.done.contains(&at) {
                wrong.push(("G12", format!("{component:?} tries {at} again, which was handled under this ownership")));
            }
        }
        own.running.insert(at);
        own.passed.remove(&at);
        if redriven {
            own.tried.insert(at);
        }
        if !redriven {
            own.begun.insert(at);
            let exposed = own.begun.iter().filter(|at| !covers(stored, **at)).count();
            if exposed > window {
                wrong
                    .push(("G3", format!("{exposed} events of {component:?} would run again, the window is {window}")));
            }
        }
        let (place, again) = (fact.place, fact.last_epoch.is_some_and(|last| last != epoch));
        if let Some(fact) = facts.get_mut(&at) {
            fact.last_epoch = Some(epoch);
        }
        self.figures.again += u64::from(again);
        if place != Place::Loop {
            let running = self.running.entry((instance, place)).or_default();
            *running += 1;
            if *running > CAPACITY {
                wrong.push(("G6", format!("{running} handlers run on {place:?}, which has {CAPACITY}")));
            }
        }
        wrong.into_iter().for_each(|(law, what)| self.blame(law, || what));
        run
    }

    /// A handler has ended.
    pub(crate) fn ended(&mut self, run: Run, success: bool) {
        let Run { component, epoch, at, instance } = run;
        self.tell(|| format!("#{instance} {component:?} ends {at}: {}", if success { "well" } else { "not well" }));
        let consumer = self.consumer(component);
        let Some(fact) = consumer.facts.get_mut(&at) else { return };
        fact.succeeded |= success && !component.is_transacted();
        fact.failed |= !success;
        let place = fact.place;
        if let Some(own) = consumer.ownerships.get_mut(&epoch) {
            own.running.remove(&at);
            if success && component.is_transacted() {
                own.passed.insert(at);
            } else if success {
                own.done.insert(at);
            }
        }
        if let Some(running) = self.running.get_mut(&(instance, place)) {
            *running -= 1;
        }
    }

    /// A handler's transaction is committed.
    pub(crate) fn committed(&mut self, component: Component, epoch: u64, n: u64) {
        self.tell(|| format!("   {component:?} has committed {n} (epoch {epoch})"));
        let consumer = self.consumer(component);
        let Some((at, fact)) = consumer.facts.iter_mut().find(|(_, fact)| fact.n == n) else { return };
        let twice = std::mem::replace(&mut fact.succeeded, true);
        if let Some(own) = consumer.ownerships.get_mut(&epoch) {
            own.done.insert(*at);
        }
        if twice {
            self.blame("G9", || format!("{component:?} has committed event {n} twice"));
        }
    }

    /// What is wrong with saga instances and claims that were stored.
    fn kinds_stored(&mut self, component: Component, epoch: u64, settlement: &Settlement) {
        let Self { consumers, sagas, claims, .. } = self;
        let consumer = &consumers[&component];
        let order_of = |n| consumer.facts.values().find(|fact| fact.n == n).map(|fact| fact.order.clone());
        let mut wrong = Vec::new();
        for change in &settlement.sagas {
            wrong.extend(sagas.changed(change, order_of).into_iter().map(|wrong| ("G18", wrong)));
        }
        if let Some(instance) = consumer.ownerships.get(&epoch).and_then(|own| own.instance) {
            wrong.extend(claims.changed(instance, &settlement.claims).into_iter().map(|wrong| ("G19", wrong)));
        }
        for letter in settlement.dead_letters.iter().filter(|_| component.is_transacted()) {
            let at = letter.event.position.as_u64().unwrap();
            if consumer.facts.get(&at).is_some_and(|fact| fact.succeeded) {
                wrong.push(("G9", format!("{component:?} gives up on {at}, whose effect is committed")));
            }
        }
        wrong.into_iter().for_each(|(law, what)| self.blame(law, || what));
    }

    /// An engine begins to write.
    pub(crate) fn settling(&mut self, component: Component, epoch: u64) {
        let Some(own) = self.consumer(component).ownerships.get_mut(&epoch) else { return };
        own.settling += 1;
        if own.settling > 1 {
            self.blame("G8", || format!("{component:?} writes twice at once under epoch {epoch}"));
        }
    }

    /// The engine has heard, or never will.
    pub(crate) fn has_settled(&mut self, component: Component, epoch: u64, fenced: bool) {
        let Some(own) = self.consumer(component).ownerships.get_mut(&epoch) else { return };
        own.settling -= 1;
        if fenced && own.lose() {
            self.figures.lost += 1;
        }
    }

    /// A settlement was taken by the store, which holds `checkpoint` now.
    pub(crate) fn stored(
        &mut self,
        component: Component,
        epoch: u64,
        settlement: &Settlement,
        checkpoint: Option<Checkpoint>,
    ) {
        self.kinds_stored(component, epoch, settlement);
        let resolved: Vec<u64> = settlement.resolved.iter().filter_map(|id| self.ids.get(id).copied()).collect();
        let letters: Vec<u64> =
            settlement.dead_letters.iter().filter_map(|letter| letter.event.position.as_u64()).collect();
        self.figures.letters += letters.len() as u64;
        self.figures.resolved += resolved.len() as u64;
        let parked = settlement.dead_letters.iter().filter(|letter| letter.kind == LetterKind::Parked);
        self.figures.parked += parked.count() as u64;
        let consumer = self.consumer(component);
        let last = consumer.settled_epoch;
        consumer.settled_epoch = last.max(epoch);
        for (at, fact) in &mut consumer.facts {
            if letters.contains(at) {
                (fact.letter, fact.resolved) = (true, false);
            }
            fact.resolved |= resolved.contains(at);
        }
        if epoch < last {
            self.blame("G7", || format!("a settlement of {component:?} of epoch {epoch} was taken after {last}"));
        }
        let checkpoint = checkpoint.unwrap_or_default();
        if checkpoint == self.consumer(component).stored {
            return;
        }
        self.tell(|| {
            let open: Vec<u64> = checkpoint.open.iter().filter_map(evento_runtime::Position::as_u64).collect();
            let (mark, reach) = (number(checkpoint.watermark.as_ref()), number(checkpoint.reach.as_ref()));
            format!(
                "   {component:?} stored by epoch {epoch}: to {mark}, reach {reach}, open {open:?}; letters {letters:?}"
            )
        });
        let consumer = self.consumer(component);
        let sought = number(checkpoint.watermark.as_ref());
        let fresh = consumer.ownerships.get(&epoch).is_some_and(|own| own.begun.is_empty());
        // Forward only: back is refused. What is open beyond the target stays so.
        if fresh && consumer.seeks.contains(&sought) && checkpoint.watermark > consumer.stored.watermark {
            consumer.passed_to = consumer.passed_to.max(sought);
        }
        let back = checkpoint.watermark < consumer.stored.watermark || checkpoint.reach < consumer.stored.reach;
        let before = std::mem::replace(&mut consumer.stored, checkpoint);
        let Consumer { facts, stored, passed_to, .. } = consumer;
        let started = |fact: &Fact| component.is_on_start() && fact.last_epoch.is_some();
        let passed = |(at, fact): &(&u64, &Fact)| {
            covers(stored, **at) && !fact.is_settled() && !started(fact) && **at > *passed_to
        };
        let uncovered = facts.iter().find(passed).map(|(at, _)| *at);
        if back {
            self.blame("G8", || format!("the checkpoint of {component:?} has moved back from {before:?}"));
        }
        if let Some(at) = uncovered {
            self.blame("G1", || format!("the checkpoint of {component:?} passes {at}, which is not settled"));
        }
    }
}

/// Whether an event may queue behind one of its key that was given up.
fn stands(facts: &BTreeMap<u64, Fact>, at: u64, fact: &Fact) -> bool {
    facts.range(..at).any(|(_, other)| other.shares_key(fact) && (other.letter || other.failed) && !other.is_handled())
}

/// A position as a number; 0 before the first.
pub(crate) fn number(position: Option<&evento_runtime::Position>) -> u64 {
    position.map_or(0, |position| position.as_u64().unwrap())
}

/// Whether a restart would not run the event at a position.
pub(crate) fn covers(checkpoint: &Checkpoint, at: u64) -> bool {
    at <= number(checkpoint.reach.as_ref()) && !checkpoint.open.iter().any(|open| open.as_u64() == Some(at))
}
