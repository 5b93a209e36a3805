//! One consumer over time: wait for the ownership, work while it lasts, give it back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::error::EngineError;
use super::hooks::Hook;
use super::moving::{Moved, move_to};
use crate::cluster::{HeldLease, Keeper};
use crate::consumer::command::{Desk, Reply};
use crate::consumer::{
    ConsumerProcessor, ConsumerStatus, Ended, Found, Happening, ProcessorConfig, SeekTo, StallReason, StopPhase,
    Unended,
};
use crate::error::{AdminError, BoxError, StoreError, StoreErrorKind};
use crate::event::Position;
use crate::policy::{DeadLetterPolicy, RetryPolicy, StartFrom};
use crate::source::PositionCheck;
use crate::store::{Checkpoint, ConsumerLock, ConsumerState, Lease, OwnershipMark, Settlement};
use crate::sync::{Mutex, lock};
use crate::task::panic_fails;

/// How often a consumer asks whether its owner is gone.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Pauses after a store failed, or an `#[on_start]` hook: 200 ms, doubling, at most 30 s.
const PAUSE: RetryPolicy =
    RetryPolicy { retries: None, delay: Duration::from_millis(200), max_delay: Duration::from_secs(30) };

/// How long a consumer that begins at the head waits for transactions that append below it.
const CLOSING: Duration = Duration::from_secs(30);

/// Everything one consumer needs from ownership to ownership.
pub(super) struct Ownership {
    pub(super) config: ProcessorConfig,
    pub(super) lock: Arc<dyn ConsumerLock>,
    pub(super) keeper: Arc<Keeper>,
    /// Where what is asked of it comes in; with the processor while that works.
    pub(super) desk: Desk,
    /// Not settled when the ownership was lost: covered by the stored checkpoint, perhaps, but not handled.
    pub(super) left: Vec<Position>,
    /// Who waits for the `#[on_reset]` hook.
    pub(super) resetting: Option<Reply>,
    /// The ownership there is, for whoever has to give it back if this loop dies.
    pub(super) owned: Arc<Mutex<Option<Lease>>>,
    /// Told once: it works, it stands by, or its hook refused.
    pub(super) begun: Option<oneshot::Sender<Result<(), EngineError>>>,
}

#[allow(clippy::large_enum_variant, reason = "one for each ownership, taken apart at once")]
enum Acquired {
    Owned(HeldLease, ConsumerState, Found),
    Standby(ConsumerState),
}

/// How an ownership ended.
enum Worked {
    /// By the stop; with who still runs.
    Stopped(Vec<String>),
    /// It was lost.
    Lost,
    /// The hook refused to begin.
    Refused,
    /// It goes on elsewhere, under the next ownership.
    Moving(Moving),
}

/// A consumer on its way to another position.
struct Moving {
    to: SeekTo,
    keep: bool,
    watermark: Option<Position>,
    reply: Reply,
}

impl Ownership {
    /// Until the stop. Answers who still runs.
    pub(super) async fn run(mut self) -> Vec<String> {
        self.config.events.tell(&self.config.plan.id, Happening::Started);
        let stragglers = self.own().await;
        if let Some(reply) = self.resetting.take() {
            // Whoever asked may have gone.
            let _ = reply.send(Err(AdminError::not_owner(&self.config.plan.id)));
        }
        stragglers
    }

    async fn own(&mut self) -> Vec<String> {
        let mut failures = 0;
        while self.phase() == StopPhase::Run {
            let pause = match self.acquire().await {
                Ok(Acquired::Owned(lease, state, found)) => match self.work(lease, state, found).await {
                    Worked::Stopped(stragglers) => return stragglers,
                    // The next owner, or this one again, in its turn.
                    Worked::Lost => {
                        failures = 0;
                        PAUSE.backoff(1, fastrand::f64())
                    }
                    Worked::Refused => {
                        failures += 1;
                        PAUSE.backoff(failures, fastrand::f64())
                    }
                    Worked::Moving(moving) => {
                        self.move_to(moving).await;
                        Duration::ZERO
                    }
                },
                Ok(Acquired::Standby(state)) => {
                    failures = 0;
                    // Who is told that it stands by may append: the owner must have stored where it begins.
                    if state.checkpoint.is_some() || self.config.plan.start == StartFrom::Beginning {
                        self.tell(Ok(()));
                    }
                    self.show_standby(&state);
                    ASK_AGAIN
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(consumer = %self.config.plan.id, error = &error as &dyn std::error::Error, "cannot begin");
                    self.show(StallReason::Store { error: error.to_string() });
                    // At the launch it is refused; later it comes back by itself.
                    self.tell(Err(error.into()));
                    PAUSE.backoff(failures, fastrand::f64())
                }
            };
            if !pause.is_zero() {
                self.pause(pause).await;
            }
        }
        Vec::new()
    }

    fn phase(&self) -> StopPhase {
        *self.config.stop.borrow()
    }

    fn show(&self, reason: StallReason) {
        self.config.status.update(|status| status.reason = Some(reason));
    }

    fn show_standby(&self, state: &ConsumerState) {
        self.config.status.update(|status| {
            let (counters, errors) = (status.counters, Arc::clone(&status.errors));
            *status = ConsumerStatus { counters, errors, ..ConsumerStatus::new(Arc::clone(&status.consumer)) };
            if let Some(checkpoint) = &state.checkpoint {
                status.watermark.clone_from(&checkpoint.watermark);
                status.reach.clone_from(&checkpoint.reach);
            }
        });
    }

    fn tell(&mut self, result: Result<(), EngineError>) {
        if let Some(begun) = self.begun.take() {
            // A supervisor that does not listen any more is stopping.
            let _ = begun.send(result);
        }
    }

    /// Wakes at once on stop. There is no loop to carry out what is asked meanwhile.
    async fn pause(&mut self, pause: Duration) {
        let over = tokio::time::sleep(pause);
        tokio::pin!(over);
        let mut commands = self.desk.take();
        loop {
            tokio::select! {
                biased;
                _ = self.config.stop.wait_for(|phase| *phase != StopPhase::Run) => return,
                () = &mut over => return,
                Some(command) = commands.recv() => {
                    command.refuse(AdminError::not_owner(&self.config.plan.id));
                }
            }
        }
    }

    /// Takes the consumer anew and stores where it goes on: only a later ownership may move a checkpoint back.
    async fn move_to(&mut self, moving: Moving) {
        let Moving { to, keep, watermark, reply } = moving;
        let (config, lock) = (self.config.clone(), Arc::clone(&self.lock));
        let moved =
            self.config.tasks.run(async move { move_to(&config, lock.as_ref(), to, keep, watermark.as_ref()).await });
        let moved = moved.await;
        if let Ok(Moved { to, .. }) = &moved {
            // Who is told that it moved must not see where it was.
            self.config.status.update(|status| {
                status.watermark.clone_from(&to.watermark);
                status.reach.clone_from(&to.reach);
                status.read_to.clone_from(&to.watermark);
                status.oldest_open = to.open.first().cloned();
            });
        }
        match moved {
            // Answered once the hook has run.
            Ok(Moved { resets: true, .. }) => self.resetting = Some(reply),
            // Whoever asked may have gone; it was carried out all the same.
            moved => drop(reply.send(moved.map(|_| ()))),
        }
    }

    async fn acquire(&self) -> Result<Acquired, StoreError> {
        let (config, lock, keeper) = (self.config.clone(), Arc::clone(&self.lock), Arc::clone(&self.keeper));
        // In a task of its own: whoever waits may go away, the statements may not.
        self.config.tasks.run(async move { acquire(&config, lock.as_ref(), &keeper).await }).await
    }

    async fn work(&mut self, lease: HeldLease, state: ConsumerState, found: Found) -> Worked {
        let hooks = Hook::due(&self.config.plan, &state);
        for hook in hooks {
            // It runs in a task of its own: at the deadline of a stop it is left alone, not cancelled.
            let mut stop = self.config.stop.clone();
            let ran = tokio::select! {
                biased;
                ran = hook.run(&self.config, lease.lease().clone()) => ran,
                _ = stop.wait_for(|phase| *phase == StopPhase::Abandon) => {
                    return Worked::Stopped(vec![format!("{}: its hook `{}`", self.config.plan.id, hook.method())]);
                }
            };
            if let Err(source) = ran {
                self.refused(&hook, source, lease).await;
                return Worked::Refused;
            }
        }
        if let Some(reply) = self.resetting.take() {
            // Whoever asked may have gone.
            let _ = reply.send(Ok(()));
        }
        self.tell(Ok(()));
        tracing::info!(consumer = %self.config.plan.id, epoch = %lease.lease().epoch, "owned");
        let given = lease.lease().clone();
        let state = self.with_left(state);
        *lock(&self.owned) = Some(given.clone());
        let id = Arc::clone(&self.config.plan.id);
        self.config.events.tell(&id, Happening::OwnershipGained { epoch: given.epoch });
        match ConsumerProcessor::new(&self.config, lease, state, found, self.desk.take()).run().await {
            Ended::Seek { to, keep, watermark, reply } => {
                self.give_back(given).await;
                Worked::Moving(Moving { to, keep, watermark, reply })
            }
            Ended::Stopped { stragglers } if stragglers.is_empty() => {
                self.give_back(given).await;
                Worked::Stopped(stragglers)
            }
            // Work is in flight: the lease is left to expire.
            Ended::Stopped { stragglers } => {
                let named = |straggler| format!("{}: {straggler}", self.config.plan.id);
                Worked::Stopped(stragglers.into_iter().map(named).collect())
            }
            Ended::Lost { left } => {
                self.left = left;
                self.show(StallReason::LeaseLost);
                self.config.events.tell(&id, Happening::OwnershipLost { epoch: given.epoch });
                // Nothing of it is in flight any more. If only the state store saw a later epoch, the lock is still
                // ours, and in everybody's way.
                self.give_back(given).await;
                Worked::Lost
            }
        }
    }

    /// What this process began and has not settled is open, also where it counted as covered by its start: nobody
    /// else can know of it.
    fn with_left(&mut self, mut state: ConsumerState) -> ConsumerState {
        let left = std::mem::take(&mut self.left);
        let Some(checkpoint) = &mut state.checkpoint else { return state };
        let (open, passed): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|position| Some(position) > checkpoint.watermark.as_ref());
        if !passed.is_empty() {
            tracing::warn!(consumer = %self.config.plan.id, events = passed.len(),
                "events that ran when the ownership was lost were passed by the next owner (on-start)");
        }
        let reach = checkpoint.reach.clone();
        checkpoint.open.extend(open.into_iter().filter(|position| Some(position) <= reach.as_ref()));
        checkpoint.open.sort();
        checkpoint.open.dedup();
        state
    }

    /// The hook failed: nothing begins. It is tried again after a pause.
    async fn refused(&mut self, hook: &Hook, source: BoxError, lease: HeldLease) {
        let consumer = Arc::clone(&self.config.plan.id);
        let source = match self.resetting.take() {
            Some(reply) => {
                let told: BoxError = source.to_string().into();
                // Whoever asked may have gone.
                let _ = reply.send(Err(AdminError::Reset { consumer: consumer.to_string(), source }));
                told
            }
            None => source,
        };
        let error = hook.error(&consumer.component, source);
        tracing::error!(%consumer, error = &error as &dyn std::error::Error, "cannot begin");
        self.show(StallReason::Store { error: error.to_string() });
        self.tell(Err(error));
        self.release(lease).await;
    }

    async fn release(&self, lease: HeldLease) {
        let given = lease.lease().clone();
        drop(lease);
        self.give_back(given).await;
    }

    async fn give_back(&self, lease: Lease) {
        *lock(&self.owned) = None;
        give_back(&self.config, &self.lock, lease).await;
    }
}

/// Nothing is waited for if that fails: the lease expires by itself.
pub(super) async fn give_back(config: &ProcessorConfig, lock: &Arc<dyn ConsumerLock>, lease: Lease) {
    let lock = Arc::clone(lock);
    let released = async move { panic_fails("ownership", async { lock.release(&lease).await }).await };
    if let Err(error) = config.tasks.run(released).await {
        tracing::warn!(consumer = %config.plan.id, error = &error as &dyn std::error::Error,
            "the ownership could not be given back; it will expire");
    }
}

async fn acquire(config: &ProcessorConfig, lock: &dyn ConsumerLock, keeper: &Keeper) -> Result<Acquired, StoreError> {
    let id = &config.plan.id;
    let state = config.state.load(id).await?;
    let asked_at = keeper.now();
    let Some(lease) = lock.acquire(id, state.epoch).await? else { return Ok(Acquired::Standby(state)) };
    let held = keeper.hold(lease.clone(), asked_at);
    match begin(config, &lease).await {
        Ok((state, found)) => Ok(Acquired::Owned(held, state, found)),
        Err(error) => {
            // Nothing has begun under it: kept, it would be in our own way.
            lock.release(&lease).await?;
            Err(error)
        }
    }
}

/// The head, once nothing can appear below `newest` any more: what is there now is not handled, whatever holds it.
async fn closed_head(config: &ProcessorConfig, newest: Option<&Position>) -> Result<Option<Position>, StoreError> {
    let patience = Instant::now() + CLOSING;
    loop {
        let head = config.source.head().await?;
        if head.as_ref() >= newest {
            return Ok(head);
        }
        if Instant::now() >= patience {
            let held = config.source.held().map(|held| format!(": {held}")).unwrap_or_default();
            let id = &config.plan.id;
            let detail = format!("`{id}` begins at the head, and an open transaction holds the log below it{held}");
            return Err(StoreError::new(StoreErrorKind::Busy, config.source.describe()).detail(detail));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn begin(config: &ProcessorConfig, lease: &Lease) -> Result<(ConsumerState, Found), StoreError> {
    let id = &config.plan.id;
    // The epoch reaches the state store before anything is read there: what an earlier owner still writes is
    // either in what is read next, or refused.
    let begins = Settlement { ownership: Some(OwnershipMark::Begins), ..Settlement::default() };
    config.state.settle(lease, begins).await?;
    let mut state = config.state.load(id).await?;
    let head = config.source.newest().await?;
    if state.checkpoint.is_none() && config.plan.start == StartFrom::Head {
        let head = closed_head(config, head.as_ref()).await?;
        // Stored before anything is read: what comes from now on is not missed, whoever runs it.
        let checkpoint = Checkpoint { watermark: head.clone(), reach: head.clone(), open: Vec::new() };
        let settlement = Settlement { checkpoint: Some(checkpoint.clone()), ..Settlement::default() };
        config.state.settle(lease, settlement).await?;
        state.checkpoint = Some(checkpoint);
    }
    if let Some(reach) = state.checkpoint.as_ref().and_then(|checkpoint| checkpoint.reach.as_ref())
        && let PositionCheck::HistoryLost(why) = config.source.validate(reach).await?
    {
        return Err(StoreError::new(StoreErrorKind::Missing, config.source.describe())
            .detail(format!("the checkpoint of `{id}` is not of this log: {why}")));
    }
    // After its row is stored, by which whoever prunes knows of it.
    if let Some(pruned) = config.source.pruned().await? {
        let watermark = state.checkpoint.as_ref().and_then(|checkpoint| checkpoint.watermark.as_ref());
        if watermark < Some(&pruned) {
            return Err(StoreError::new(StoreErrorKind::Pruned, config.source.describe())
                .detail(format!("`{id}` has not settled everything up to position {pruned}")));
        }
    }
    let transactions = config.plan.handlers.iter().find_map(|handler| handler.transactions.as_ref());
    let completed = match transactions {
        Some(store) => store.completed(id).await?.into_iter().collect(),
        None => BTreeSet::new(),
    };
    let parked = match config.plan.dead_letter {
        DeadLetterPolicy::Park => config.dead_letters.parked(id).await?,
        DeadLetterPolicy::Skip => Vec::new(),
    };
    let unended = match state.begun {
        0 | 1 => None,
        _ => Some(Unended { recorded: config.state.attempts(id).await? }),
    };
    Ok((state, Found { head, completed, parked, unended }))
}
