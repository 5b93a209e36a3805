//! Transactions for handlers, each while it has the one write connection.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::sqlite::SqliteConnection;
use sqlx_core::sql_str::SqlSafeStr as _;
use sqlx_core::transaction::TransactionManager as _;

use super::config::Sqlite;
use super::session::SqliteSession;
use super::store::{Inner, SqliteStore};
use super::writer::SqliteWriterGuard;
use super::{APPENDING, SQL, failed, group};
use crate::clock::{Clock as _, SystemClock};
use crate::deps::Need;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::source::sql::append::append;
use crate::source::sql::known::emitting;
use crate::source::sql::number_of;
use crate::source::{Append, Expected};
use crate::store::sql::{completion, consumer, state};
use crate::store::{Database, Lease, OpenTransaction, Settlement, TransactionStore};

/// What sqlx begins and ends transactions with: it has to know of them, or a `begin` of the handler's would not be a
/// savepoint within.
type Manager = <sqlx::Sqlite as sqlx::Database>::TransactionManager;

/// The savepoint tells whether it is still this transaction that is open.
const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT evento_open";

/// An open transaction of SQLite: it has the file's one write connection.
pub struct SqliteTransaction {
    guard: SqliteWriterGuard,
    inner: Arc<Inner>,
    stage: Stage,
    emitted: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In the hands of the handler.
    Open,
    /// A settlement has begun; unless it ends well, nothing may be committed.
    Settling,
    Settled,
}

impl Database for Sqlite {
    type Connection = SqliteConnection;
    type Transaction = SqliteTransaction;

    fn connection(transaction: &SqliteTransaction) -> &SqliteConnection {
        &transaction.guard
    }

    fn connection_mut(transaction: &mut SqliteTransaction) -> &mut SqliteConnection {
        // The engine may have begun it in another task than the handler runs in.
        transaction.guard.held_here();
        &mut transaction.guard
    }
}

impl SqliteTransaction {
    fn aborted(&self, detail: &str) -> StoreError {
        StoreError::new(StoreErrorKind::Aborted, &*self.inner.shared.name).detail(detail)
    }

    /// Refuses to go on in anything but the transaction that was begun.
    async fn check(&mut self) -> Result<(), StoreError> {
        if Manager::get_transaction_depth(&self.guard) != 1 {
            return Err(self.aborted("a transaction within it was neither committed nor rolled back"));
        }
        let mut session = SqliteSession::new(&mut self.guard, &self.inner.shared.name);
        match session.run("RELEASE evento_open").await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == StoreErrorKind::Other => {
                let detail =
                    "it has ended already: by a statement of the handler, or by a failure that undid everything";
                Err(self.aborted(detail).caused_by(error))
            }
            Err(error) => Err(error),
        }
    }

    async fn commit_now(mut self) -> Result<(), StoreError> {
        let checked = match self.stage {
            Stage::Open => self.check().await,
            Stage::Settling => Err(self.aborted("its settlement has failed")),
            Stage::Settled => Ok(()),
        };
        let committed = match checked {
            Ok(()) => {
                self.guard.closing();
                let committed = Manager::commit(&mut self.guard).await;
                committed.map_err(|error| failed(&self.inner.shared.name, error))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = committed {
            // A commit that failed may leave it open.
            self.undo().await;
            return Err(error);
        }
        self.guard.is_clean();
        if let Some(last) = &self.emitted {
            self.inner.shared.announce(number_of(last));
        }
        Ok(())
    }

    async fn undo(mut self) {
        self.guard.closing();
        while Manager::get_transaction_depth(&self.guard) > 0 {
            if Manager::rollback(&mut self.guard).await.is_err() {
                // The next in turn looks after it.
                return;
            }
        }
        self.guard.is_clean();
    }
}

#[async_trait]
impl OpenTransaction for SqliteTransaction {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }

    async fn settle(&mut self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        let first = self.stage == Stage::Open;
        self.stage = Stage::Settling;
        if first {
            self.check().await?;
        }
        let now = SystemClock.now();
        let mut session = SqliteSession::new(&mut self.guard, &self.inner.shared.name);
        let number = match self.inner.number(&lease.consumer) {
            Some(number) => number,
            None => consumer::ensure_id(&mut session, &SQL, &lease.consumer).await?,
        };
        let fresh = state::settle(&mut session, &SQL, number, lease, &settlement, now).await?;
        if !fresh.is_empty() {
            let batch = Append { expected: Expected::Any, events: fresh };
            let appended = append(&mut session, &SQL, &APPENDING, &batch, now).await;
            self.emitted = Some(appended.map_err(|error| emitting(error, &self.inner.shared.name))?.last);
        }
        self.stage = Stage::Settled;
        Ok(())
    }

    /// In a task of its own: whoever stops waiting does not keep readers from being told, and sqlx takes an end that
    /// nobody waited for as one to be ignored later.
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.guard.held_by_none();
        let tasks = self.inner.shared.tasks.clone();
        tasks.run(self.commit_now()).await
    }

    async fn roll_back(self: Box<Self>) {
        self.guard.held_by_none();
        let tasks = self.inner.shared.tasks.clone();
        tasks.run(self.undo()).await;
    }
}

impl fmt::Debug for SqliteTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteTransaction({})", self.inner.shared.name)
    }
}

#[async_trait]
impl TransactionStore for SqliteStore {
    fn database(&self) -> Need {
        Need::of::<Sqlite>()
    }

    /// Needs no task of its own: dropping the future drops the guard, and whoever is next in turn undoes what the
    /// connection has begun by then.
    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError> {
        self.inner.check_open()?;
        let mut guard = self.writer().acquire().await?;
        let begun = Manager::begin(&mut guard, Some(BEGIN.into_sql_str())).await;
        begun.map_err(|error| failed(&self.inner.shared.name, error))?;
        guard.opened();
        Ok(Box::new(SqliteTransaction { guard, inner: Arc::clone(&self.inner), stage: Stage::Open, emitted: None }))
    }

    /// In turn with the writers: a commit that nobody waits for any more has ended by then.
    async fn completed(&self, consumer: &ConsumerId) -> Result<Vec<Position>, StoreError> {
        self.inner.check_open()?;
        let consumer = consumer.clone();
        let work = group::write_then(
            &self.inner.shared,
            group::Extent::Several,
            move |session| Box::pin(async move { completion::list(session, &SQL, &consumer).await }),
            |_| false,
            |_| {},
        );
        work.await
    }
}
