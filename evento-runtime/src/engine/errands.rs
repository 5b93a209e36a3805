//! The owner's end of what operators ask for in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;

use super::errand::Errand;
use super::handle::ConsumerHandle;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::command::Command;
use crate::error::AdminError;
use crate::identity::ConsumerId;
use crate::store::{CommandAnswer, CommandRow};
use crate::task::panic_fails;

/// What nobody has carried out for so long is refused: whoever asked has gone on.
const STALE: Duration = Duration::from_secs(600);

/// Pause before an answer that could not be stored is stored again.
const AGAIN: Duration = Duration::from_secs(1);

/// Carries out, one at a time for each consumer, what is asked of those that this instance owns.
pub(super) struct Errands {
    handles: BTreeMap<Arc<ConsumerId>, ConsumerHandle>,
    busy: BTreeSet<Arc<ConsumerId>>,
    running: FuturesUnordered<BoxFuture<'static, Arc<ConsumerId>>>,
}

impl Errands {
    pub(super) fn of(handles: impl IntoIterator<Item = ConsumerHandle>) -> Self {
        let handles = handles.into_iter().map(|handle| (Arc::clone(&handle.id), handle)).collect();
        Self { handles, busy: BTreeSet::new(), running: FuturesUnordered::new() }
    }

    /// Begins with what can be begun. The rest is found again.
    pub(super) fn begin(&mut self, commands: Vec<CommandRow>) {
        for command in commands {
            let handle = self.handles.get(&command.consumer).filter(|handle| handle.status.get().epoch.0 > 0);
            if let Some(handle) = handle.filter(|handle| self.busy.insert(Arc::clone(&handle.id))) {
                self.running.push(Box::pin(carry_out(handle.clone(), command)));
            }
        }
    }

    /// Waits until one has ended; there may be more for its consumer. For ever if none runs. Cancel-safe.
    pub(super) async fn ended(&mut self) {
        match self.running.next().await {
            Some(consumer) => {
                self.busy.remove(&consumer);
            }
            None => std::future::pending().await,
        }
    }
}

async fn carry_out(handle: ConsumerHandle, command: CommandRow) -> Arc<ConsumerId> {
    let done = if SystemClock.now().since(command.asked_at) > STALE {
        Err("nobody carried it out within ten minutes".to_owned())
    } else {
        match Errand::of_json(&command.body) {
            None => Err("the instance that owns the consumer does not know this command; update it".to_owned()),
            Some(errand) => match ask(&handle, errand).await {
                // Whoever owns it now finds it.
                Err(AdminError::NotOwner { .. }) => return handle.id,
                done => done.map_err(|error| error.to_string()),
            },
        }
    };
    tracing::info!(consumer = %handle.id, command = command.body, refused = done.as_ref().err(), "command carried out");
    let answer = CommandAnswer { done: done.is_ok(), text: done.err().unwrap_or_default(), at: SystemClock.now() };
    let store = &handle.stores.admin;
    while let Err(error) = panic_fails("commands", store.answer(command.id, &answer)).await {
        tracing::warn!(consumer = %handle.id, error = &error as &dyn std::error::Error, "an answer could not be stored");
        tokio::time::sleep(AGAIN).await;
    }
    handle.id
}

/// As long as it takes: handlers that run may keep it waiting.
async fn ask(handle: &ConsumerHandle, errand: Errand) -> Result<(), AdminError> {
    let (reply, answer) = oneshot::channel();
    let command = match errand {
        Errand::Skip { position } => Command::Skip { position, reply },
        Errand::Seek { to, keep } => Command::Seek { to, keep, reply },
        Errand::Confirm { paused } => return handle.confirm(paused).await,
    };
    handle.commands.send(command).await.map_err(|_| AdminError::not_owner(&handle.id))?;
    // A loop that died with it does not get it again: it may have died of it.
    answer.await.map_err(|_| AdminError::loop_died(&handle.id))?
}
