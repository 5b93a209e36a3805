//! Transactions for handlers, each on a connection that nobody else has meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx_core::sql_str::SqlSafeStr as _;
use sqlx_core::transaction::TransactionManager as _;

use super::pool::Taken;
use super::spi::Spi;
use super::{Inner, Server, Wrap};
use crate::clock::{Clock as _, SystemClock, monotonic};
use crate::deps::Need;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;
use crate::identity::ConsumerId;
use crate::source::sql::known::emitting;
use crate::source::{Append, Expected};
use crate::store::sql::completion::{self, Standing};
use crate::store::sql::consumer;
use crate::store::sql::state::{self, Alone};
use crate::store::{Database, Lease, OpenTransaction, Settlement, TransactionStore};

/// How long undoing a transaction is waited for; a statement that was given up may still run. Then the connection is
/// closed, and the server undoes it.
const UNDOING: Duration = Duration::from_secs(5);

/// The servers end a transaction that does nothing for so long, so that a process that has stopped holds nobody up.
const IDLE: Duration = Duration::from_secs(10);

/// What sqlx begins and ends transactions with: it has to know of them, or a `begin` of the handler's would not be a
/// savepoint within.
type Manager<S> = <<S as Transacting>::Driver as sqlx::Database>::TransactionManager;

/// A server with transactions for handlers.
#[async_trait]
pub(crate) trait Transacting: Server {
    /// The driver.
    type Driver: sqlx::Database<Connection = Self::Connection>;
    /// What handlers name.
    type Database: Database<Transaction = Self::Transaction>;
    /// What handlers have.
    type Transaction: OpenTransaction + From<ServerTransaction<Self>>;

    /// Begins a transaction that sees what was committed before each of its statements, and leaves a mark in it that
    /// ends with it.
    const BEGIN: &'static str;

    /// The typed error.
    fn failed(&self, error: sqlx::Error) -> StoreError;

    /// Whether the transaction with the mark is open, and can go on; the mark may be used up. An error that a statement
    /// has failed before is [`Aborted`](StoreErrorKind::Aborted).
    async fn is_marked(&self, connection: &mut Self::Connection) -> Result<bool, StoreError>;

    /// Whether an error says that two statements of the transaction were not run on one connection: it has ended.
    fn is_elsewhere(&self, _error: &StoreError) -> bool {
        false
    }
}

/// A transaction, and the connection it is on. Dropping it closes the connection, and so ends it.
pub(crate) struct ServerTransaction<S: Server> {
    inner: Arc<Inner<S>>,
    taken: Taken<S>,
    stage: Stage,
    began: Instant,
    /// A consumer that was not known before, to be remembered after the commit.
    found: Option<(ConsumerId, i64)>,
    emits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In the hands of the handler.
    Open,
    /// A settlement has begun; unless it ends well, nothing may be committed.
    Settling,
    Settled,
}

impl<S: Transacting> ServerTransaction<S> {
    async fn begin(inner: &Arc<Inner<S>>) -> Result<Self, StoreError> {
        let taken = inner.transactions.take(|server, connection| {
            Box::pin(async move {
                let begun = Manager::<S>::begin(connection, Some(S::BEGIN.into_sql_str())).await;
                begun.map_err(|error| server.failed(error))
            })
        });
        let taken = taken.await?;
        Ok(Self { inner: Arc::clone(inner), taken, stage: Stage::Open, began: monotonic(), found: None, emits: false })
    }

    pub(crate) const fn connection(&self) -> &S::Connection {
        &self.taken.connection
    }

    pub(crate) const fn connection_mut(&mut self) -> &mut S::Connection {
        &mut self.taken.connection
    }

    fn aborted(&self, detail: &str) -> StoreError {
        StoreError::new(StoreErrorKind::Aborted, &**self.inner.server.name()).detail(detail)
    }

    /// Refuses to go on in anything but the transaction that was begun.
    async fn check(&mut self) -> Result<(), StoreError> {
        self.check_depth()?;
        let marked = self.inner.server.is_marked(&mut self.taken.connection).await;
        self.judge(marked)
    }

    fn check_depth(&self) -> Result<(), StoreError> {
        match Manager::<S>::get_transaction_depth(&self.taken.connection) {
            1 => Ok(()),
            _ => Err(self.aborted("a transaction within it was neither committed nor rolled back")),
        }
    }

    fn judge(&self, marked: Result<bool, StoreError>) -> Result<(), StoreError> {
        let ended = "it has ended already: by a statement of the handler, or by the server";
        match marked {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.aborted(ended)),
            Err(error) if self.inner.server.is_elsewhere(&error) => Err(self.aborted(ended)),
            // Perhaps a network that failed; but a handler that idles does so every time, and would be run for ever.
            // Without its cause, which would say that it passes.
            Err(error) if error.kind() == StoreErrorKind::Connection && self.began.elapsed() >= IDLE => {
                Err(self.aborted("the server ends it after 10 s without a statement; do other work before or after it"))
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn settle(&mut self, lease: &Lease, settlement: &Settlement) -> Result<(), StoreError> {
        let first = self.stage == Stage::Open;
        self.stage = Stage::Settling;
        if first && self.settle_at_once(lease, settlement).await? {
            self.stage = Stage::Settled;
            return Ok(());
        }
        if first {
            self.check().await?;
        }
        let server = &*self.inner.server;
        let connection = &mut self.taken.connection;
        let mut session = server.session(connection);
        let number = match self.inner.number(&lease.consumer) {
            Some(number) => number,
            None => {
                let number = consumer::ensure_id(&mut *session, server.sql(), &lease.consumer).await?;
                self.found = Some((lease.consumer.clone(), number));
                number
            }
        };
        let now = SystemClock.now();
        let fresh = state::settle(&mut *session, server.sql(), number, lease, settlement, now).await?;
        drop(session);
        if !fresh.is_empty() {
            let batch = Append { expected: Expected::Any, events: fresh };
            let appended = server.append_within(connection, &batch).await;
            appended.map_err(|error| emitting(error, server.name()))?;
            self.emits = true;
        }
        self.stage = Stage::Settled;
        Ok(())
    }

    /// In one statement, where one is enough. `false`: nothing was stored.
    async fn settle_at_once(&mut self, lease: &Lease, settlement: &Settlement) -> Result<bool, StoreError> {
        let (server, number) = (&self.inner.server, self.inner.number(&lease.consumer));
        let (Some(statement), Some(number), Some(Alone::Completed(completed))) =
            (server.sql().completions.settle, number, state::alone(settlement))
        else {
            return Ok(false);
        };
        self.check_depth()?;
        let mut session = server.session(&mut self.taken.connection);
        let standing = completion::settle(&mut *session, statement, number, lease, completed).await;
        drop(session);
        match standing {
            Ok(Standing::Stored) => Ok(true),
            Ok(Standing::NotHeld) => Ok(false),
            Ok(Standing::NotMarked) => self.judge(Ok(false)).map(|()| false),
            Err(error) if error.kind() == StoreErrorKind::Conflict => Err(error),
            Err(error) => self.judge(Err(error)).map(|()| false),
        }
    }

    /// In a task of its own: whoever stops waiting does not keep readers from being told.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let tasks = self.inner.transactions.tasks.clone();
        tasks.run(self.commit_now()).await
    }

    async fn commit_now(mut self) -> Result<(), StoreError> {
        let checked = match self.stage {
            // The servers answer a commit after a failure with success, and write nothing.
            Stage::Open => self.check().await,
            Stage::Settling => Err(self.aborted("its settlement has failed")),
            Stage::Settled => Ok(()),
        };
        if let Err(error) = checked {
            self.undo().await;
            return Err(error);
        }
        if let Err(error) = Manager::<S>::commit(&mut self.taken.connection).await {
            let error = self.inner.server.failed(error);
            self.taken.note(&error);
            return Err(error);
        }
        if let Some((id, number)) = &self.found {
            self.inner.remember(id, *number);
        }
        if self.emits {
            self.inner.announce_append();
        }
        self.taken.give_back();
        Ok(())
    }

    pub(crate) async fn roll_back(self) {
        let tasks = self.inner.transactions.tasks.clone();
        tasks.run(self.undo()).await;
    }

    async fn undo(mut self) {
        let connection = &mut self.taken.connection;
        let undo = async {
            while Manager::<S>::get_transaction_depth(connection) > 0 {
                Manager::<S>::rollback(connection).await?;
            }
            Ok::<_, sqlx::Error>(())
        };
        let undone = tokio::select! {
            undone = undo => undone.is_ok(),
            () = tokio::time::sleep(UNDOING) => false,
        };
        if undone {
            self.taken.give_back();
        }
    }
}

#[async_trait]
impl<S: Transacting> TransactionStore for Spi<S> {
    fn database(&self) -> Need {
        Need::of::<S::Database>()
    }

    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError> {
        self.0.check_open()?;
        let open = ServerTransaction::begin(&self.0).await?;
        Ok(Box::new(S::Transaction::from(open)))
    }

    async fn completed(&self, consumer: &ConsumerId) -> Result<Vec<Position>, StoreError> {
        self.0.check_open()?;
        let consumer = consumer.clone();
        let list = self.0.writers.run(Wrap::Transaction, move |server, connection| {
            Box::pin(async move {
                let mut session = server.session(connection);
                let Some(number) = consumer::find_id(&mut *session, server.sql(), &consumer).await? else {
                    return Ok(Vec::new());
                };
                // A commit whose outcome is unknown may be under way still: it has the fence until it has ended.
                session.fetch(server.server_sql().lock_fence, &[number.into()]).await?;
                completion::list(&mut *session, server.sql(), &consumer).await
            })
        });
        list.await
    }
}
