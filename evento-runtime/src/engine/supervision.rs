//! One consumer's loop over its deaths: what it left behind is cleared up before it begins again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::oneshot;

use super::error::EngineError;
use super::ownership::Ownership;
use crate::cluster::Keeper;
use crate::consumer::command::{self, Commands};
use crate::consumer::{ProcessorConfig, StopPhase};
use crate::policy::RetryPolicy;
use crate::store::{ConsumerLock, Lease};
use crate::sync::{Mutex, lock};

/// Pauses before a loop that died is begun again: 1 s, doubling, at most 30 s.
const RESTART: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };

/// Waits for the handlers that a loop left behind, then gives its ownership back: nothing may run beside them.
/// `Some`: the deadline of a stop came first.
async fn clear_up(
    config: &ProcessorConfig,
    locks: &dyn ConsumerLock,
    owned: &Mutex<Option<Lease>>,
) -> Option<Vec<String>> {
    let mut stop = config.stop.clone();
    config.handlers.close();
    tokio::select! {
        biased;
        () = config.handlers.wait() => {}
        _ = stop.wait_for(|phase| *phase == StopPhase::Abandon) => {
            let running = config.handlers.len();
            return Some(vec![format!("{}: {running} handlers of a loop that died", config.plan.id)]);
        }
    }
    config.handlers.reopen();
    let lease = lock(owned).take();
    if let Some(lease) = lease
        && let Err(error) = locks.release(&lease).await
    {
        tracing::warn!(consumer = %config.plan.id, error = &error as &dyn std::error::Error,
            "the ownership could not be given back; it will expire");
    }
    None
}

/// Runs a consumer; a loop that dies is begun again after a pause.
pub(super) async fn supervise(
    config: ProcessorConfig,
    locks: Arc<dyn ConsumerLock>,
    keeper: Arc<Keeper>,
    asked: Commands,
    tell: oneshot::Sender<Result<(), EngineError>>,
) -> Vec<String> {
    let mut begun = Some(tell);
    let mut commands = Some(asked);
    let owned = Arc::new(Mutex::new(None));
    let mut deaths = 0;
    loop {
        let ownership = Ownership {
            config: config.clone(),
            lock: Arc::clone(&locks),
            keeper: Arc::clone(&keeper),
            left: Vec::new(),
            resetting: None,
            owned: Arc::clone(&owned),
            // A loop that dies takes its channel with it: the next one cannot be steered, and whoever asks is told.
            commands: commands.take().or_else(|| Some(command::channel().1)),
            begun: begun.take(),
        };
        match AssertUnwindSafe(ownership.run()).catch_unwind().await {
            Ok(stragglers) => return stragglers,
            Err(_) => {
                deaths += 1;
                tracing::error!(consumer = %config.plan.id, deaths, "the consumer's loop died; it begins again");
                if let Some(stragglers) = clear_up(&config, locks.as_ref(), &owned).await {
                    return stragglers;
                }
                let mut stop = config.stop.clone();
                tokio::select! {
                    biased;
                    _ = stop.wait_for(|phase| *phase != StopPhase::Run) => return Vec::new(),
                    () = tokio::time::sleep(RESTART.backoff(deaths, fastrand::f64())) => {}
                }
            }
        }
    }
}
