//! The components that run: one of each kind of order and checkpoint mode.

use std::sync::Arc;

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::instance::{Called, Instance};

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) n: u64,
}

#[derive(Debug, Clone, Event, Serialize, Deserialize)]
pub(crate) struct Closed {
    pub(crate) n: u64,
}

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
}

/// Where a handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Loop,
    Lanes,
    Pool,
}

impl Component {
    pub(crate) const ALL: [Self; 5] = [Self::Sequential, Self::Lanes, Self::Free, Self::Fast, Self::Mixed];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|component| component.name() == name).unwrap()
    }

    /// Where it handles events of a name, if it does.
    pub(crate) fn place(self, name: &str) -> Option<Place> {
        match (self, name) {
            (Self::Sequential, "Made") | (Self::Mixed, "Closed") => Some(Place::Loop),
            (Self::Lanes | Self::Fast | Self::Mixed, "Made") => Some(Place::Lanes),
            (Self::Free, "Made" | "Closed") => Some(Place::Pool),
            _ => None,
        }
    }

    /// Whether an event of the name makes its handler emit.
    pub(crate) fn emits(self, name: &str, n: u64) -> bool {
        match self {
            Self::Lanes => n.is_multiple_of(3),
            Self::Mixed => name == "Closed",
            _ => false,
        }
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
