//! Writes of the store itself: each in a task that nobody can cancel, those that wait together in one commit.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::errors::is_broken;
use super::registry::Shared;
use super::session::SqliteSession;
use super::writer::Held;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::session::again;
use crate::sync::{Mutex, lock};

/// Writes that share a commit, at most.
const TOGETHER: usize = 64;
/// Writes that wait, at most; further callers wait before they queue.
const WAITING: usize = 1_024;

/// Writes waiting for the connection.
pub(super) struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    room: Arc<Semaphore>,
}

impl Default for Queue {
    fn default() -> Self {
        Self { jobs: Mutex::default(), room: Arc::new(Semaphore::new(WAITING)) }
    }
}

pub(super) type Run = Box<dyn for<'s> FnOnce(&'s mut SqliteSession<'_>) -> BoxFuture<'s, Ran> + Send>;

struct Job {
    run: Run,
    refuse: Refuse,
    extent: Extent,
    _room: Room,
}

/// A place in the queue.
pub(super) struct Room {
    _place: OwnedSemaphorePermit,
}

/// How much a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Exactly one statement that writes, which changes all it is to change, or nothing: it needs neither a savepoint nor, alone, a
    /// transaction.
    Statement,
    /// Several, which are undone together.
    Several,
}

/// Answers a caller whose write did not run.
pub(super) type Refuse = Arc<dyn Fn(StoreError) + Send + Sync>;

/// A write that ran: whether it is to stay, and how to tell its caller.
pub(super) struct Ran {
    pub(super) keep: bool,
    pub(super) answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

enum Answer<T, E> {
    Done(Result<T, E>),
    Panicked(Box<dyn Any + Send>),
}

/// Runs `work` in a write transaction and answers after its commit. An error of `work` undoes its writes only.
pub(super) async fn write<T, E, F>(shared: &Arc<Shared>, work: F) -> Result<T, E>
where
    F: for<'s> FnOnce(&'s mut SqliteSession<'_>) -> BoxFuture<'s, Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    write_then(shared, Extent::Several, work, |_| true, |_| {}).await
}

/// As [`write`], with something to do once it is committed, whether or not the caller still waits. `wrote`: whether
/// there is anything to commit; what only looked as if (an append that was known) is rolled back and leaves no trace.
pub(super) async fn write_then<T, E, F>(
    shared: &Arc<Shared>,
    extent: Extent,
    work: F,
    wrote: fn(&T) -> bool,
    then: impl FnOnce(&T) + Send + 'static,
) -> Result<T, E>
where
    F: for<'s> FnOnce(&'s mut SqliteSession<'_>) -> BoxFuture<'s, Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let room = room(shared).await?;
    let (sender, receiver) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let refuse: Refuse = {
        let sender = Arc::clone(&sender);
        Arc::new(move |error| send(&sender, Answer::Done(Err(E::from(error)))))
    };
    let run: Run = Box::new(move |session| {
        Box::pin(async move {
            // The caller gets the panic; the connection and the other writes are not its to harm.
            let result = AssertUnwindSafe(async { work(session).await }).catch_unwind().await;
            let keep = matches!(&result, Ok(Ok(value)) if wrote(value));
            let answer = move |committed: Result<(), StoreError>| {
                if let (Ok(Ok(value)), Ok(())) = (&result, &committed) {
                    then(value);
                }
                let answer = match (result, committed) {
                    (Err(panic), _) => Answer::Panicked(panic),
                    (Ok(Ok(_)), Err(error)) => Answer::Done(Err(E::from(error))),
                    (Ok(result), _) => Answer::Done(result),
                };
                send(&sender, answer);
            };
            Ran { keep, answer: Box::new(answer) }
        })
    });
    enqueue(shared, (extent, room), run, refuse);
    match receiver.await {
        Ok(Answer::Done(result)) => result,
        Ok(Answer::Panicked(panic)) => std::panic::resume_unwind(panic),
        // The runtime of the task that had it ended.
        Err(_) => Err(StoreError::new(StoreErrorKind::Connection, &*shared.name).into()),
    }
}

/// Waits for a place in the queue. Refuses a task that would wait for itself.
pub(super) async fn room(shared: &Shared) -> Result<Room, StoreError> {
    shared.writer.check_holder()?;
    let room = Arc::clone(&shared.queue.room).acquire_owned().await;
    room.map(|place| Room { _place: place }).map_err(|_| StoreError::new(StoreErrorKind::Closed, &*shared.name))
}

/// Has work run in its turn.
pub(super) fn enqueue(shared: &Arc<Shared>, (extent, room): (Extent, Room), run: Run, refuse: Refuse) {
    lock(&shared.queue.jobs).push_back(Job { run, refuse, extent, _room: room });
    let worker = Arc::clone(shared);
    shared.tasks.spawn(async move { drain(&worker).await });
}

fn send<A>(sender: &Mutex<Option<oneshot::Sender<A>>>, answer: A) {
    if let Some(sender) = lock(sender).take() {
        // Nobody there: the caller's future was dropped, the write stays.
        sender.send(answer).ok();
    }
}

/// Takes what waits when its turn comes; what comes later brings a task of its own.
async fn drain(shared: &Shared) {
    let turn = shared.writer.turn().await;
    let jobs: Vec<Job> = {
        let mut jobs = lock(&shared.queue.jobs);
        let count = jobs.len().min(TOGETHER);
        jobs.drain(..count).collect()
    };
    if jobs.is_empty() {
        return;
    }
    let mut held = match turn {
        Ok(held) => held,
        Err(error) => return refuse(&jobs, &error),
    };
    if let Err(error) = shared.writer.ready(&mut held).await {
        return refuse(&jobs, &error);
    }
    // A job that asks for the writer would wait for itself.
    let holding = shared.writer.hold();
    commit_together(shared, &mut held, jobs).await;
    drop(holding);
}

async fn commit_together(shared: &Shared, held: &mut Held, mut jobs: Vec<Job>) {
    let mut session = SqliteSession::new(held.connection(), &shared.name);
    let alone = jobs.len() == 1;
    if let Some(job) = jobs.pop_if(|job| alone && job.extent == Extent::Statement) {
        // A transaction by itself.
        let one = (job.run)(&mut session).await;
        match session.last_error() {
            Some(error) if is_broken(&error) => held.found_broken(),
            Some(_) => held.left_open(),
            None => {}
        }
        return (one.answer)(Ok(()));
    }
    if let Err(error) = session.run("BEGIN IMMEDIATE").await {
        if is_broken(&error) {
            held.found_broken();
        }
        return refuse(&jobs, &error);
    }
    let open = shared.writer.opened_here();
    let mut ran = Vec::with_capacity(jobs.len());
    let mut outcome = Ok(());
    for job in jobs {
        if let Err(error) = &outcome {
            (job.refuse)(again(error));
            continue;
        }
        let (one, lost) = match job.extent {
            Extent::Several if !alone => run_several(&mut session, job).await,
            Extent::Several => (Some((job.run)(&mut session).await), None),
            Extent::Statement => run_statement(&mut session, job).await,
        };
        ran.extend(one);
        outcome = lost.map_or(Ok(()), Err);
    }
    drop(open);
    if outcome.is_ok() && ran.iter().any(|one| one.keep) {
        outcome = session.run("COMMIT").await;
    } else {
        session.run("ROLLBACK").await.ok();
    }
    match &outcome {
        Err(error) if is_broken(error) => held.found_broken(),
        // A commit that failed, on a full disk for one, may leave the transaction open.
        Err(_) => held.left_open(),
        Ok(()) => {}
    }
    for one in ran {
        (one.answer)(outcome.as_ref().copied().map_err(again));
    }
}

/// One write of several statements within the common transaction. With an error, that transaction is lost.
async fn run_several(session: &mut SqliteSession<'_>, job: Job) -> (Option<Ran>, Option<StoreError>) {
    if let Err(error) = session.run("SAVEPOINT evento_job").await {
        (job.refuse)(again(&error));
        return (None, Some(error));
    }
    let one = (job.run)(session).await;
    let cause = session.last_error();
    let end = if one.keep { "RELEASE evento_job" } else { "ROLLBACK TO evento_job; RELEASE evento_job" };
    let ended = session.run(end).await;
    (Some(one), ended.err().map(|error| cause.unwrap_or_else(|| error.detail(LOST))))
}

/// One write of a single statement within the common transaction. With an error, that transaction is lost.
async fn run_statement(session: &mut SqliteSession<'_>, job: Job) -> (Option<Ran>, Option<StoreError>) {
    let one = (job.run)(session).await;
    let Some(cause) = session.last_error() else { return (Some(one), None) };
    // SQLite has rolled back everything (full, out of memory, input/output), or the statement alone: then none can begin.
    let lost = session.run("BEGIN").await.is_ok();
    session.last_error();
    (Some(one), lost.then_some(cause))
}

const LOST: &str = "the transaction ended within one of the writes that shared it";

fn refuse(jobs: &[Job], error: &StoreError) {
    for job in jobs {
        (job.refuse)(again(error));
    }
}
