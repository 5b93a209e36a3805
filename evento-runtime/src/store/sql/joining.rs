//! Appends of single events that wait for their turn at the same time, to be stored in one statement.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use crate::error::AppendError;
use crate::source::{Append, Appended, Expected};
use crate::sync::{Mutex, lock};

/// Events of one statement at most, and the bytes after which no further one joins.
const TOGETHER: (usize, usize) = (64, 1024 * 1024);

/// Appends that wait.
#[derive(Default)]
pub(crate) struct Joining(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    next: u64,
}

/// One append, and how its caller is told.
pub(crate) struct Job {
    number: u64,
    pub(crate) batch: Append,
    answer: oneshot::Sender<Result<Appended, AppendError>>,
}

pub(crate) type Answer = oneshot::Receiver<Result<Appended, AppendError>>;

impl Joining {
    /// With its number, and where its answer comes.
    pub(crate) fn push(&self, batch: Append) -> (u64, Answer) {
        let (answer, answered) = oneshot::channel();
        let mut waiting = lock(&self.0);
        waiting.next += 1;
        let number = waiting.next;
        waiting.jobs.push_back(Job { number, batch, answer });
        (number, answered)
    }

    /// Those that wait, as many as fit into a statement.
    pub(crate) fn take(&self) -> Vec<Job> {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        let mut waiting = lock(&self.0);
        while jobs.len() < TOGETHER.0
            && bytes < TOGETHER.1
            && let Some(job) = waiting.jobs.pop_front()
        {
            bytes += job.batch.events.iter().map(|event| event.payload.len() + event.metadata.len()).sum::<usize>();
            jobs.push(job);
        }
        jobs
    }

    /// The one of this number, if it still waits: it does not any more.
    pub(crate) fn withdraw(&self, number: u64) -> Option<Job> {
        let mut waiting = lock(&self.0);
        let at = waiting.jobs.iter().position(|job| job.number == number)?;
        waiting.jobs.remove(at)
    }
}

/// Whether a batch may share a statement: a single event, whatever the version of its stream.
pub(crate) fn may_join(batch: &Append) -> bool {
    batch.events.len() == 1 && batch.expected == Expected::Any
}

impl Job {
    /// Nobody there: the append stays as it is.
    pub(crate) fn tell(self, appended: Result<Appended, AppendError>) {
        self.answer.send(appended).ok();
    }
}
