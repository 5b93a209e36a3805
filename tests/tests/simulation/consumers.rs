//! The components that run: one of each kind of order and checkpoint mode.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_tests::ledger::Ledger;
use serde::{Deserialize, Serialize};

use crate::instance::{Called, Instance};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) n: u64,
    /// What a saga finds its instance by; empty: none.
    pub(crate) order: String,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub(crate) n: u64,
    pub(crate) order: String,
}

/// What a saga has asked to hear of later.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) n: u64,
    pub(crate) order: String,
}

/// What is added to the number of an event for the one that comes later because of it.
pub(crate) const DUE: u64 = 1_000_000;

/// What handlers emit; nobody handles it.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Echo {
    pub(crate) n: u64,
    pub(crate) of: String,
}

/// The consumers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Component {
    /// One event after the other.
    Sequential,
    /// One at a time per key; emits.
    Lanes,
    /// In any order.
    Free,
    /// One at a time per key, covered when started.
    Fast,
    /// `Made` per key; `Closed` alone in the loop, and emits.
    Mixed,
    /// A saga: `Made` begins an instance or joins it, `Closed` ends it, `Due` comes later.
    Story,
    /// An observer, which claims what it handles.
    Watch,
    /// Within the framework's transaction: `Made` per key; `Closed` in the loop, and emits.
    Book,
    /// `Made` per key, `Closed` alone in the loop; what is given up parks its key.
    Stand,
}

/// Where a handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Loop,
    Lanes,
    Pool,
}

impl Component {
    pub(crate) const ALL: [Self; 9] = [
        Self::Sequential,
        Self::Lanes,
        Self::Free,
        Self::Fast,
        Self::Mixed,
        Self::Story,
        Self::Watch,
        Self::Book,
        Self::Stand,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|component| component.name() == name).unwrap()
    }

    /// Where it handles events of a name, if it does.
    pub(crate) fn place(self, name: &str) -> Option<Place> {
        match (self, name) {
            (Self::Sequential, "Made") | (Self::Mixed | Self::Book | Self::Stand, "Closed") => Some(Place::Loop),
            (Self::Story, "Made" | "Closed" | "Due") => Some(Place::Loop),
            (Self::Lanes | Self::Fast | Self::Mixed | Self::Book | Self::Stand, "Made") => Some(Place::Lanes),
            (Self::Free | Self::Watch, "Made" | "Closed") => Some(Place::Pool),
            _ => None,
        }
    }

    /// Whether an event of the name makes its handler emit.
    pub(crate) fn emits(self, name: &str, n: u64) -> bool {
        match self {
            Self::Lanes => n.is_multiple_of(3),
            Self::Mixed | Self::Book => name == "Closed",
            _ => false,
        }
    }

    /// Whether a handler's success counts once its transaction is committed.
    pub(crate) fn is_transacted(self) -> bool {
        self == Self::Book
    }

    /// Whether an event may be settled without a call: no instance of the saga is found by it.
    pub(crate) fn may_pass(self, name: &str, order: &str) -> bool {
        self == Self::Story && (name != "Made" || order.is_empty())
    }

    /// Whether a saga wants to hear later of an event.
    pub(crate) fn schedules(n: u64) -> bool {
        n < DUE && n.is_multiple_of(4)
    }

    /// Whether the events of a key wait for one that was given up.
    pub(crate) fn parks(self) -> bool {
        self == Self::Stand
    }

    pub(crate) fn is_on_start(self) -> bool {
        self == Self::Fast
    }
}

pub(crate) struct Sequential(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Sequential {
    #[event_handler(retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Sequential, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Lanes(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Lanes {
    #[event_handler(executor = "lanes", retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(
        &self,
        event: Made,
        at: Position,
        attempt: Attempt,
        stop: Stop,
        outbox: Outbox,
    ) -> Result<Flow, BoxError> {
        if Component::Lanes.emits("Made", event.n) {
            outbox.emit(Echo { n: event.n, of: Component::Lanes.name() });
        }
        self.0.handle(Called { component: Component::Lanes, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Free(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Free {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Free, n: event.n, at, attempt, stop }).await
    }

    #[event_handler(executor = "pool", retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(&self, event: Closed, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Free, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Fast(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Fast {
    #[event_handler(executor = "lanes", retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Fast, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Mixed(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Mixed {
    #[event_handler(executor = "lanes", retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Mixed, n: event.n, at, attempt, stop }).await
    }

    #[event_handler(retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(
        &self,
        event: Closed,
        at: Position,
        attempt: Attempt,
        stop: Stop,
        outbox: Outbox,
    ) -> Result<Flow, BoxError> {
        outbox.emit(Echo { n: event.n, of: Component::Mixed.name() });
        self.0.handle(Called { component: Component::Mixed, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Story(pub(crate) Arc<Instance>);

#[saga(version = 1, start = "beginning")]
impl Story {
    #[saga_event_handler(init, association = order, retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(
        &self,
        event: Made,
        state: &mut Vec<u64>,
        at: Position,
        attempt: Attempt,
        stop: Stop,
        outbox: Outbox,
    ) -> Result<Flow, BoxError> {
        // Before it is known how the attempt ends: of one that fails nothing may be left.
        state.push(event.n);
        if Component::schedules(event.n) {
            outbox.schedule(Duration::from_secs(2), Due { n: event.n + DUE, order: event.order });
        }
        self.0.handle(Called { component: Component::Story, n: event.n, at, attempt, stop }).await
    }

    #[saga_event_handler(association = order, retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(
        &self,
        event: Closed,
        state: &mut Vec<u64>,
        at: Position,
        attempt: Attempt,
        stop: Stop,
    ) -> Result<Flow, BoxError> {
        state.push(event.n);
        let flow = self.0.handle(Called { component: Component::Story, n: event.n, at, attempt, stop }).await?;
        Ok(if flow == Flow::Continue { Flow::Complete } else { flow })
    }

    #[saga_event_handler(association = order, retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn due(
        &self,
        event: Due,
        state: &mut Vec<u64>,
        at: Position,
        attempt: Attempt,
        stop: Stop,
    ) -> Result<Flow, BoxError> {
        state.push(event.n);
        self.0.handle(Called { component: Component::Story, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Watch(pub(crate) Arc<Instance>);

#[observer(version = 1, start = "beginning")]
impl Watch {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Watch, n: event.n, at, attempt, stop }).await
    }

    #[event_handler(executor = "pool", retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(&self, event: Closed, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Watch, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Book(pub(crate) Arc<Instance>);

#[projector(version = 1)]
impl Book {
    #[event_handler(executor = "lanes", retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(
        &self,
        event: Made,
        tx: &mut Tx<Ledger>,
        at: Position,
        attempt: Attempt,
        stop: Stop,
    ) -> Result<Flow, BoxError> {
        tx.push(event.n.to_string());
        self.0.handle(Called { component: Component::Book, n: event.n, at, attempt, stop }).await
    }

    #[event_handler(retry = 2, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(
        &self,
        event: Closed,
        tx: &mut Tx<Ledger>,
        at: Position,
        attempt: Attempt,
        stop: Stop,
        outbox: Outbox,
    ) -> Result<Flow, BoxError> {
        tx.push(event.n.to_string());
        outbox.emit(Echo { n: event.n, of: Component::Book.name() });
        self.0.handle(Called { component: Component::Book, n: event.n, at, attempt, stop }).await
    }
}

pub(crate) struct Stand(pub(crate) Arc<Instance>);

#[projector(version = 1, dead_letter = "park")]
impl Stand {
    #[event_handler(executor = "lanes", retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn made(&self, event: Made, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Stand, n: event.n, at, attempt, stop }).await
    }

    #[event_handler(retry = 1, retry_delay = "50ms", max_delay = "400ms")]
    async fn closed(&self, event: Closed, at: Position, attempt: Attempt, stop: Stop) -> Result<Flow, BoxError> {
        self.0.handle(Called { component: Component::Stand, n: event.n, at, attempt, stop }).await
    }
}
