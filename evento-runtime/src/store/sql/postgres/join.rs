//! Appends that wait for a connection at the same time share a statement, and so a commit. Each stays one by itself: if
//! anything is wrong with one of them, nothing is stored, and all are tried one by one.

use std::sync::Arc;

use sqlx::postgres::PgConnection;

use super::server::PostgresServer;
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::source::{Append, Appended};
use crate::store::sql::server::{Inner, Server as _, Wrap};
use crate::store::sql::session::again;

/// Appends such a batch: in its turn, together with all that wait then, or in the turn of one of them. To be run in a
/// task that nobody drops.
pub(super) async fn append(inner: &Arc<Inner<PostgresServer>>, batch: Append) -> Result<Appended, AppendError> {
    let (number, mut answered) = inner.server.joining.push(batch);
    let unanswered = |_| StoreError::new(StoreErrorKind::Connection, &**inner.server.name());
    let turn = tokio::select! {
        biased;
        // Who stops waiting for its turn gives up its place.
        answer = &mut answered => return answer.map_err(unanswered)?,
        turn = inner.writers.turn() => turn,
    };
    let done = match turn {
        Ok(turn) => {
            let worker = Arc::clone(inner);
            let work =
                inner.writers.work(turn, Wrap::Bare, |server, connection| Box::pin(work(worker, server, connection)));
            work.await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = done
        && inner.server.joining.withdraw(number).is_some()
    {
        return Err(error.into());
    }
    answered.await.map_err(unanswered)?
}

/// One turn: everybody who is taken is answered. An error tells what became of the connection.
async fn work(
    inner: Arc<Inner<PostgresServer>>,
    server: &PostgresServer,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    let mut jobs = server.joining.take();
    if jobs.len() > 1 {
        let events: Vec<_> = jobs.iter().flat_map(|job| &job.batch.events).collect();
        match server.append_joined(connection, &events).await {
            Ok(Some(appended)) => {
                inner.announce_append();
                jobs.into_iter().zip(appended).for_each(|(job, appended)| job.tell(Ok(appended)));
            }
            Ok(None) => jobs.into_iter().for_each(|job| {
                let inner = Arc::clone(&inner);
                inner.background.clone().spawn(async move {
                    let appended = inner.server.append_alone(&inner, job.batch.clone()).await;
                    job.tell(appended);
                });
            }),
            Err(error) => {
                jobs.into_iter().for_each(|job| job.tell(Err(again(&error).into())));
                return Err(error);
            }
        }
        return Ok(());
    }
    let Some(job) = jobs.pop() else { return Ok(()) };
    let appended = server.append_on(connection, &job.batch, None, true).await;
    if appended.as_ref().is_ok_and(|appended| !appended.known) {
        inner.announce_append();
    }
    let broken = match &appended {
        Err(AppendError::Store(error)) => Err(again(error)),
        _ => Ok(()),
    };
    job.tell(appended);
    broken
}
