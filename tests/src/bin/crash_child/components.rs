//! Components outside of transactions, the same on every store. How they behave is said by the [`Effects`].

use evento_runtime::prelude::*;

use crate::effects::Effects;

/// One event after the other.
pub(crate) struct Loop(pub(crate) Effects);

#[projector(version = 1)]
impl Loop {
    #[event_handler]
    async fn any(&self, event: RawEvent, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle("loop", &event, attempt).await
    }
}

/// On the executor. The next attempt is half a minute away: whoever fails keeps waiting.
pub(crate) struct Pool(pub(crate) Effects);

#[projector(version = 1)]
impl Pool {
    #[event_handler(executor = "pool", retry = 1, retry_delay = "30s")]
    async fn any(&self, event: RawEvent, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle("pool", &event, attempt).await
    }
}

/// The same in function style.
#[projector(version = 1)]
pub(crate) struct Functions;

#[event_handler(projector = Functions, executor = "pool", retry = 3)]
async fn any(event: RawEvent, attempt: Attempt, Dep(effects): Dep<Effects>) -> Result<(), BoxError> {
    effects.handle("functions", &event, attempt).await
}

#[derive(Event, serde::Serialize, serde::Deserialize)]
pub(crate) struct Counted {
    pub(crate) order: String,
}

/// Counts the events of each order in its state, and in nothing else.
pub(crate) struct Counts;

#[saga(version = 1)]
impl Counts {
    #[saga_event_handler(init, association = order)]
    async fn counted(&self, event: Counted, state: &mut u64) {
        let _ = event;
        *state += 1;
        tokio::task::yield_now().await;
    }
}

pub(crate) struct Watching(pub(crate) Effects);

#[observer(version = 1)]
impl Watching {
    #[event_handler(executor = "pool", retry = 0)]
    async fn any(&self, event: RawEvent, attempt: Attempt) -> Result<(), BoxError> {
        self.0.handle("observer", &event, attempt).await
    }
}
