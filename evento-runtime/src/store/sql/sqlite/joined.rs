//! Appends of single events that wait for the writer at the same time share a statement. If anything is wrong with one of
//! them nothing is stored, and each is tried by itself.

use std::sync::Arc;

use super::at_once::joined;
use super::group::{Extent, Ran, Refuse, Run, enqueue, room};
use super::registry::Shared;
use super::session::SqliteSession;
use super::write::append_alone;
use crate::clock::{Clock as _, SystemClock};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::source::sql::append::append_joined;
use crate::source::sql::number_of;
use crate::source::{Append, Appended};
use crate::store::sql::joining::Job;
use crate::store::sql::session::again;

/// Appends such a batch, in its turn or in that of another one that waits. Dropping the future does not stop it.
pub(super) async fn append(shared: &Arc<Shared>, batch: Append) -> Result<Appended, AppendError> {
    let room = room(shared).await?;
    let (number, answered) = shared.joining.push(batch);
    let refuse: Refuse = {
        let shared = Arc::clone(shared);
        Arc::new(move |error| {
            if let Some(job) = shared.joining.withdraw(number) {
                job.tell(Err(error.into()));
            }
        })
    };
    let run: Run = {
        let shared = Arc::clone(shared);
        Box::new(move |session| Box::pin(store(shared, session)))
    };
    enqueue(shared, (Extent::Statement, room), run, refuse);
    // The runtime of the task that had it ended.
    answered.await.map_err(|_| StoreError::new(StoreErrorKind::Connection, &*shared.name))?
}

/// One turn: whoever waits by now is stored, and answered once that is committed.
async fn store(shared: Arc<Shared>, session: &mut SqliteSession<'_>) -> Ran {
    let jobs = shared.joining.take();
    let events: Vec<_> = jobs.iter().flat_map(|job| &job.batch.events).collect();
    let Some(sql) = joined(events.len()) else { return Ran { keep: false, answer: Box::new(drop) } };
    match append_joined(session, sql, &events, SystemClock.now()).await {
        Ok(Some(appended)) => Ran { keep: true, answer: Box::new(move |done| tell_all(&shared, jobs, appended, done)) },
        Ok(None) => Ran { keep: false, answer: Box::new(move |_| one_by_one(&shared, jobs)) },
        Err(error) => Ran { keep: false, answer: Box::new(move |_| fail_all(jobs, &error)) },
    }
}

fn tell_all(shared: &Shared, jobs: Vec<Job>, appended: Vec<Appended>, committed: Result<(), StoreError>) {
    if let Err(error) = committed {
        return fail_all(jobs, &error);
    }
    if let Some(last) = appended.last() {
        shared.announce(number_of(&last.last));
    }
    jobs.into_iter().zip(appended).for_each(|(job, appended)| job.tell(Ok(appended)));
}

fn fail_all(jobs: Vec<Job>, error: &StoreError) {
    jobs.into_iter().for_each(|job| job.tell(Err(again(error).into())));
}

fn one_by_one(shared: &Arc<Shared>, jobs: Vec<Job>) {
    for job in jobs {
        let worker = Arc::clone(shared);
        shared.tasks.spawn(async move {
            let appended = append_alone(&worker, job.batch.clone()).await;
            job.tell(appended);
        });
    }
}
