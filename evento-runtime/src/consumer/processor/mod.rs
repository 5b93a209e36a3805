//! The task that owns one consumer during one ownership.

mod assembly;
mod claim;
mod command;
mod delivery;
mod grouping;
mod intake;
mod lingering;
mod ordering;
mod outage;
mod outcome;
mod parking;
mod redrive;
mod series;
mod show;
mod stall;
mod start;
mod stop;
mod suspecting;
mod timeout;
mod timers;
mod writing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use self::delivery::{Delivery, Inline, InlineEnd, Stage};
use self::grouping::Groups;
use self::lingering::Lingering;
use self::outage::Outage;
use self::parking::Parking;
use self::series::SeriesSizes;
use self::timeout::Limit;
use self::timers::Timers;
use super::attempt::{AttemptEnd, Caller};
use super::command::{Command, Commands, Reply, SeekTo, WishesReceiver};
use super::delivery::{DeliveryLog, DeliveryNo};
use super::dispatch::{Dispatch, Lane};
use super::engine::Claiming;
use super::events::EngineEvents;
use super::feed::{Feed, FeedEvent};
use super::numbered::Numbered;
use super::plan::ConsumerPlan;
use super::routes::Routes;
use super::settle::{Settled, Settler};
use super::status::{ConsumerCounters, StatusCell, StopPhase};
use super::suspects::{Suspects, Unended};
use super::work::Report;
use crate::clock::SharedClock;
use crate::cluster::HeldLease;
use crate::context::ConsumerScope;
use crate::deps::Deps;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::executor::{ConsumerExecutor, Permit};
use crate::outcome::Classifier;
use crate::source::EventSource;
use crate::store::{Checkpoint, ConsumerStateStore, DeadEventQueue, ErrorHistory, ParkedRow, StoredDeadLetter, Timer};
use crate::task::Tasks;

/// A write without an answer for so long is a reason to stand.
const SILENT: Duration = Duration::from_secs(5);

/// Reports taken at once before anything else gets its turn.
const REPORTS_AT_ONCE: usize = 256;

/// Turns in a row that do not wait for anything, where there are reports: whoever commands waits so long at most.
const TURNS_AT_ONCE: u32 = 16;

/// What a processor works with; the same for every ownership of a consumer.
#[derive(Clone)]
pub struct ProcessorConfig {
    /// The consumer.
    pub plan: Arc<ConsumerPlan>,
    /// Where events come from.
    pub source: Arc<dyn EventSource>,
    /// Where settlements go.
    pub state: Arc<dyn ConsumerStateStore>,
    /// Whether that is where events come from as well.
    pub(crate) one_store: bool,
    /// Provided values.
    pub deps: Deps,
    /// The time.
    pub clock: SharedClock,
    /// Who knows the errors of which driver.
    pub classifiers: Arc<[Classifier]>,
    /// Where its tasks are counted.
    pub tasks: Tasks,
    /// Where its running handlers are counted: a loop that dies leaves them behind.
    pub(crate) handlers: TaskTracker,
    /// Where it shows itself.
    pub status: StatusCell,
    /// Where it tells what happens.
    pub events: EngineEvents,
    /// Whether it is to stop.
    pub stop: watch::Receiver<StopPhase>,
    /// Where dead letters are read that are to be tried again.
    pub dead_letters: Arc<dyn DeadEventQueue>,
    /// What is wanted.
    pub(crate) wishes: WishesReceiver,
}

/// What an ownership finds beside the stored state.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The end of the log.
    pub(crate) head: Option<Position>,
    /// What transactions have completed and the checkpoint does not cover.
    pub(crate) completed: BTreeSet<Position>,
    /// What later events queue behind.
    pub(crate) parked: Vec<ParkedRow>,
    /// `None`: the ownership before ended, or there was none.
    pub(crate) unended: Option<Unended>,
}

/// How an ownership ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By the stop. The lease may be released if nothing still runs.
    Stopped {
        /// `handler at position` of what still runs.
        stragglers: Vec<String>,
    },
    /// It was lost: another ownership exists or may exist.
    Lost {
        /// What was not settled, whatever the stored checkpoint says.
        left: Vec<Position>,
    },
    /// It is to go on elsewhere, under a new ownership.
    Seek { to: SeekTo, keep: bool, watermark: Option<Position>, reply: Reply },
}

/// Moves the events of one consumer, as long as it is owned.
pub struct ConsumerProcessor {
    plan: Arc<ConsumerPlan>,
    clock: SharedClock,
    tasks: Tasks,
    handlers: TaskTracker,
    status: StatusCell,
    events: EngineEvents,
    /// Whether a listener was told that it stalls.
    stalled: bool,
    stop: watch::Receiver<StopPhase>,
    lease: HeldLease,
    scope: Arc<ConsumerScope>,
    /// Tells running handlers to end early.
    handlers_stop: watch::Sender<bool>,

    callers: Vec<Arc<Caller>>,
    /// Lane of each handler.
    lanes: Vec<Lane>,
    /// Executor of each lane.
    executors: Vec<Arc<dyn ConsumerExecutor>>,
    routes: Routes,

    feed: Feed,
    log: DeliveryLog,
    dispatch: Dispatch,
    deliveries: Numbered<Delivery>,
    settler: Settler,

    admissions: FuturesUnordered<BoxFuture<'static, (usize, Option<Permit>)>>,
    /// How many permits each lane waits for.
    asked: Vec<usize>,
    reports: mpsc::Receiver<Vec<Report>>,
    report_to: mpsc::Sender<Vec<Report>>,
    inline: Option<Inline>,
    groups: Groups,
    series: SeriesSizes,
    lingering: Lingering,
    retries: BTreeSet<(Instant, DeliveryNo)>,
    /// Running attempts whose time is limited.
    limits: BTreeMap<DeliveryNo, Limit>,

    /// Deliveries that have not started, and their bytes.
    pending: usize,
    pending_bytes: usize,
    /// Deliveries that have begun and not ended.
    in_flight: usize,
    /// Handlers that run: of those that were begun together, one.
    calls: usize,
    /// Turns in a row that only took reports.
    turns: u32,
    errors: Arc<ErrorHistory>,
    /// Whether the stored failures are not these.
    errors_changed: bool,
    transient_streak: u32,
    outage: Outage,
    counters: ConsumerCounters,
    commands: Commands,
    wishes: WishesReceiver,
    paused: bool,
    dead_letters: Arc<dyn DeadEventQueue>,
    letters: Option<JoinHandle<Result<Vec<StoredDeadLetter>, StoreError>>>,
    timers: Option<Timers>,
    /// How events are claimed, where they are; how many wait for that; and when it is done again for those that run.
    claiming: Option<Claiming>,
    claimed_not_begun: usize,
    claims_due: Instant,
    wants_redrive: bool,
    /// Letters read to be tried again, in order.
    backlog: VecDeque<StoredDeadLetter>,
    /// When transient ones are marked without being asked for, if they are at all.
    mark_at: Option<Instant>,
    /// The parked keys, where later events queue behind what was given up.
    parking: Option<Parking>,
    /// Redriven letters that are open, and how many there were.
    redriven: usize,
    next_redriven: u64,
    /// Where to go on once nothing runs any more.
    seek: Option<(SeekTo, bool, Reply)>,
    phase: StopPhase,
    lost: bool,
    store_error: Option<String>,
    /// Attempts in a row that could not be made, because the store failed.
    unready: u32,
    /// The end of the log when this ownership began.
    head: Option<Position>,
    /// Open for the stored checkpoint, but completed in transactions.
    completed: BTreeSet<Position>,
    pinned: stall::Pinned,
    told: outcome::DeadLettersTold,
    standing: stall::Standing,
    /// What may have ended the process.
    suspects: Suspects,
    /// Whether the end of this ownership is still to be stored.
    end_due: bool,
    /// Whether the write under way stores nothing else.
    only_end: bool,
}

/// What the loop woke up for.
enum Happened {
    /// To stop.
    Told,
    /// Something else is wanted than before.
    Wishes,
    Command(Command),
    Letters(Result<Vec<StoredDeadLetter>, StoreError>),
    Timers(Result<Vec<Timer>, StoreError>),
    Parked(Result<Vec<ParkedRow>, StoreError>),
    LeaseLost,
    Reports(Vec<Report>),
    Inline(InlineEnd),
    Settled(Settled),
    Admitted(usize, Option<Permit>),
    Feed(FeedEvent),
    Tick,
}

impl ConsumerProcessor {
    /// Runs until the stop, or until the ownership is lost and its handlers have ended.
    ///
    /// # Cancel safety
    /// Not to be dropped: it runs in a task of its own and is joined.
    pub(crate) async fn run(mut self) -> Ended {
        loop {
            let now = Instant::now();
            let phase = *self.stop.borrow_and_update();
            self.note_phase(phase);
            self.note_wishes();
            self.take_what_is_there();
            self.groups.gate.set_open(self.may_begin());
            self.read_letters(now);
            self.read_timers(now);
            self.read_parked(now);
            self.renew_claims(now);
            self.enforce_limits(now);
            self.resume_due_retries(now);
            let busy = self.run_inline().await;
            self.start_admitted();
            self.ask_for_permits();
            self.read_ahead();
            self.write_if_due(now);
            self.show();
            if let Some(ended) = self.ended().await {
                self.refuse_seek();
                return ended;
            }
            match self.wait(now, busy).await {
                Happened::Told | Happened::Tick => {}
                Happened::Wishes => self.note_redrive(),
                Happened::Command(command) => self.carry_out(command),
                Happened::Letters(letters) => self.take_letters(letters),
                Happened::Timers(timers) => self.take_timers(timers),
                Happened::Parked(rows) => self.take_parked(rows),
                Happened::LeaseLost => self.lose("it could not be renewed in time"),
                Happened::Reports(reports) => self.take_reports(reports),
                Happened::Inline(end) => self.inline_ended(end),
                Happened::Settled(settled) => self.note_settled(settled),
                Happened::Admitted(lane, permit) => self.note_admission(lane, permit),
                Happened::Feed(event) => self.note_feed(event),
            }
        }
    }

    /// Waits for the next thing. Every arm leaves what it waits for in its place if another comes first.
    async fn wait(&mut self, now: Instant, busy: bool) -> Happened {
        if self.turns < TURNS_AT_ONCE
            && let Ok(reports) = self.reports.try_recv()
        {
            // Asking all the others takes longer than many a handler.
            self.turns += 1;
            return Happened::Reports(reports);
        }
        self.turns = 0;
        let tick = self.next_tick(now);
        let Self {
            stop,
            lease,
            reports,
            inline,
            settler,
            admissions,
            feed,
            lost,
            commands,
            wishes,
            letters,
            timers,
            parking,
            ..
        } = self;
        tokio::select! {
            biased;
            // The sender lives as long as the supervisor; without it only the lease ends the work.
            Ok(()) = stop.changed() => Happened::Told,
            Ok(()) = wishes.changed() => Happened::Wishes,
            Some(command) = commands.recv() => Happened::Command(command),
            () = lease.lost(), if !*lost => Happened::LeaseLost,
            Some(reports) = reports.recv() => Happened::Reports(reports),
            end = Inline::poll(inline) => Happened::Inline(end),
            settled = settler.finished() => Happened::Settled(settled),
            Some((lane, permit)) = admissions.next() => Happened::Admitted(lane, permit),
            event = feed.next() => Happened::Feed(event),
            read = read_letters(letters) => Happened::Letters(read),
            read = Timers::read(timers) => Happened::Timers(read),
            read = Parking::read(parking) => Happened::Parked(read),
            () = std::future::ready(()), if busy => Happened::Tick,
            () = tokio::time::sleep_until(tick.unwrap_or(now)), if tick.is_some() => Happened::Tick,
        }
    }

    /// When something is to be done although nothing happens.
    fn next_tick(&self, now: Instant) -> Option<Instant> {
        let retry = self.retries.first().map(|(due, _)| *due);
        let retry = if self.may_begin() { retry } else { None };
        let outage = self.outage.due().filter(|due| *due > now && self.may_begin());
        let silent = self.settler.is_writing().then(|| {
            let due = self.settler.last_write() + SILENT;
            // Shown once when it is due, and by the second from then on.
            if due > now { due } else { now + Duration::from_secs(1) }
        });
        let claims = (self.claiming.is_some() && !self.deliveries.is_empty()).then_some(self.claims_due);
        [
            retry,
            outage,
            self.next_write(now),
            silent,
            self.next_look(),
            claims,
            self.next_limit(),
            self.next_marking(),
            self.next_parked_look(),
            self.standing.due(),
            self.next_window_warning(),
            self.next_batch(now),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Reports come first, and may come without end: what they wait for in turn is not to wait for them.
    fn take_what_is_there(&mut self) {
        if self.settler.is_writing()
            && let Some(settled) = self.settler.finished().now_or_never()
        {
            self.note_settled(settled);
        }
        if self.feed.is_reading()
            && let Some(event) = self.feed.next().now_or_never()
        {
            self.note_feed(event);
        }
        while let Some(Some((lane, permit))) = self.admissions.next().now_or_never() {
            self.note_admission(lane, permit);
        }
    }

    fn take_reports(&mut self, first: Vec<Report>) {
        let mut next = Some(first);
        let mut taken = 0;
        while let Some(reports) = next {
            taken += reports.len();
            reports.into_iter().for_each(|report| self.note_report(report));
            next = if taken < REPORTS_AT_ONCE { self.reports.try_recv().ok() } else { None };
        }
    }

    fn stored_checkpoint(&self) -> &Checkpoint {
        self.settler.stored()
    }
}

/// The letters that are being read; never, if none are. Cancel-safe: the read goes on in its own task.
async fn read_letters(
    letters: &mut Option<JoinHandle<Result<Vec<StoredDeadLetter>, StoreError>>>,
) -> Result<Vec<StoredDeadLetter>, StoreError> {
    match letters {
        Some(reading) => reading
            .await
            .unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Other, "dead letters").caused_by(error))),
        None => std::future::pending().await,
    }
}
