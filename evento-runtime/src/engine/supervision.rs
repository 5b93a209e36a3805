//! One consumer's loop over its deaths: what it left behind is cleared up before it begins again.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::error::EngineError;
use super::ownership::{Ownership, give_back};
use crate::cluster::Keeper;
use crate::consumer::command::Desk;
use crate::consumer::{Happening, ProcessorConfig, StallReason, StopPhase};
use crate::error::AdminError;
use crate::policy::RetryPolicy;
use crate::store::{ConsumerLock, Lease};
use crate::sync::{Mutex, lock};
use crate::task::take_panic;

/// Pauses before a loop that died is begun again: 1 s, doubling, at most 30 s.
const RESTART: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };

/// A loop that has lived so long dies for the first time.
const PEACE: Duration = Duration::from_secs(3_600);

/// Runs a consumer; a loop that dies is begun again after a pause.
pub(super) async fn supervise(
    config: ProcessorConfig,
    locks: Arc<dyn ConsumerLock>,
    keeper: Arc<Keeper>,
    desk: Desk,
    tell: oneshot::Sender<Result<(), EngineError>>,
) -> Vec<String> {
    let mut begun = Some(tell);
    let owned = Arc::new(Mutex::new(None));
    let mut deaths = 0;
    let stragglers = loop {
        let ownership = Ownership {
            config: config.clone(),
            lock: Arc::clone(&locks),
            keeper: Arc::clone(&keeper),
            left: Vec::new(),
            resetting: None,
            owned: Arc::clone(&owned),
            desk: desk.clone(),
            begun: begun.take(),
        };
        let began = Instant::now();
        let panic = match AssertUnwindSafe(ownership.run()).catch_unwind().await {
            Ok(stragglers) => break stragglers,
            Err(panic) => panic,
        };
        deaths = if began.elapsed() < PEACE { deaths + 1 } else { 1 };
        let pause = RESTART.backoff(deaths, fastrand::f64());
        show(&config, panic, deaths, pause);
        if let Some(stragglers) = recover(&config, &locks, &owned, &desk, pause).await {
            break stragglers;
        }
    };
    config.events.tell(&config.plan.id, Happening::Stopped);
    desk.take().close(&config.plan.id);
    stragglers
}

/// Says that the loop died, of what, and when it is back.
fn show(config: &ProcessorConfig, panic: Box<dyn Any + Send>, deaths: u32, pause: Duration) {
    let cause = take_panic(panic);
    tracing::error!(consumer = %config.plan.id, cause, deaths, ?pause, "the consumer's loop died; it begins again");
    let at = config.clock.now().later(pause);
    config.status.update(|status| {
        status.in_flight = config.handlers.len();
        status.reason = Some(StallReason::LoopRestarts { cause: cause.clone(), deaths, at });
    });
    config.events.tell(&config.plan.id, Happening::LoopDied { cause, deaths, pause });
}

/// Waits out the pause and what the loop has left behind, refusing what is asked meanwhile. `Some`: a stop came first,
/// with what still runs.
async fn recover(
    config: &ProcessorConfig,
    locks: &Arc<dyn ConsumerLock>,
    owned: &Mutex<Option<Lease>>,
    desk: &Desk,
    pause: Duration,
) -> Option<Vec<String>> {
    let mut stop = config.stop.clone();
    let pause = async {
        tokio::select! {
            biased;
            _ = stop.wait_for(|phase| *phase != StopPhase::Run) => Some(Vec::new()),
            () = tokio::time::sleep(pause) => None,
        }
    };
    let over = async {
        let (left, stopped) = tokio::join!(clear_up(config, locks, owned), pause);
        left.or(stopped)
    };
    tokio::pin!(over);
    let mut commands = desk.take();
    loop {
        tokio::select! {
            biased;
            over = &mut over => return over,
            Some(command) = commands.recv() => command.refuse(AdminError::loop_died(&config.plan.id)),
        }
    }
}

/// Waits for the handlers that a loop left behind, then gives its ownership back: nothing may run beside them.
/// `Some`: the deadline of a stop came first.
async fn clear_up(
    config: &ProcessorConfig,
    locks: &Arc<dyn ConsumerLock>,
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
    if let Some(lease) = lease {
        give_back(config, locks, lease).await;
    }
    None
}
