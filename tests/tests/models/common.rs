//! What the models of both tools share.

use std::sync::Arc;
use std::time::Duration;

use evento_runtime::identity::{ConsumerId, ContextPattern};
use futures_util::FutureExt as _;

use crate::executor::{Admission, Permit, Pool};

pub(crate) fn consumer(name: &str) -> Arc<ConsumerId> {
    Arc::new(ConsumerId { bundle: "b".into(), component: name.into(), version: 1, context: ContextPattern::All })
}

pub(crate) fn admission(name: &str) -> Admission {
    Admission { consumer: consumer(name), key: None, wait: Duration::from_secs(3_600) }
}

/// Asks for a permit and does not wait: it takes one that is free, or leaves the queue again.
pub(crate) fn ask_and_leave(pool: &Pool, name: &str) -> Option<Permit> {
    pool.admit(admission(name)).now_or_never().flatten()
}

/// Waiting with a time needs a timer; nobody drives this one, so a time-out never comes. Entered outside of the model,
/// whose threads all run on the thread of the test.
pub(crate) fn timer() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}
