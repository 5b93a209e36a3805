//! Transactions that a handler works in: what it writes, and that it has handled the event, are one commit.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};

use async_trait::async_trait;

use super::{Lease, Settlement};
use crate::deps::Need;
use crate::error::StoreError;
use crate::event::Position;
use crate::identity::ConsumerId;

/// A store whose transactions handlers can work in.
#[async_trait]
pub trait TransactionStore: Send + Sync + 'static {
    /// The [`Database`] it is, as `Need::of::<Sqlite>()`: what a handler's `Tx<..>` names.
    fn database(&self) -> Need;

    /// Begins a transaction, and waits for its turn or a connection.
    ///
    /// # Errors
    /// The store failed; nothing is open.
    async fn begin(&self) -> Result<Box<dyn OpenTransaction>, StoreError>;

    /// Positions that were completed in transactions and are not covered by the stored checkpoint, ascending. Answered once
    /// no transaction that was [settled](OpenTransaction::settle) for this consumer is open any more: a commit without an
    /// answer has ended by then.
    ///
    /// # Errors
    /// The store failed.
    async fn completed(&self, consumer: &ConsumerId) -> Result<Vec<Position>, StoreError>;
}

/// An open transaction. Dropping it rolls it back, at the latest before its connection is used again.
#[async_trait]
pub trait OpenTransaction: Send + 'static {
    /// To be taken apart as the [`Database::Transaction`] of its driver.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;

    /// Writes a settlement within it, as its last statements, under the epoch of the lease: no takeover gets past it
    /// until it has ended.
    ///
    /// # Errors
    /// [`Fenced`](crate::error::StoreErrorKind::Fenced): the ownership is over.
    /// [`Aborted`](crate::error::StoreErrorKind::Aborted): a statement of the handler has failed, and the handler did
    /// not say so. Either way nothing of the transaction may be committed.
    async fn settle(&mut self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError>;

    /// Commits.
    ///
    /// # Errors
    /// [`Connection`](crate::error::StoreErrorKind::Connection): the outcome is unknown;
    /// [`TransactionStore::completed`] tells. Anything else: nothing was written.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// Undoes it. What cannot be undone now is undone before the connection is used again.
    async fn roll_back(self: Box<Self>);
}

/// A database whose transactions a handler can take: [`Sqlite`](super::Sqlite), [`Postgres`](super::Postgres),
/// [`MySql`](super::MySql).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database",
    label = "not `Sqlite`, `Postgres` or `MySql`",
    note = "a handler takes `tx: &mut Tx<Sqlite>`, `&mut Tx<Postgres>` or `&mut Tx<MySql>`"
)]
pub trait Database: Send + Sync + 'static {
    /// The driver's connection.
    type Connection: Send + 'static;
    /// The store's transaction.
    type Transaction: OpenTransaction;

    /// The connection of a transaction.
    fn connection(transaction: &Self::Transaction) -> &Self::Connection;

    /// The same, to be worked with.
    fn connection_mut(transaction: &mut Self::Transaction) -> &mut Self::Connection;
}

/// The transaction of one attempt: `tx: &mut Tx<Sqlite>`.
///
/// It is a connection of the driver (`&mut **tx` for sqlx), inside a transaction that the framework has begun. What
/// the handler writes through it, that the event is handled, and what it puts into its outbox are committed together
/// once it has succeeded, and not at all otherwise: exactly once, whatever crashes. It has no `commit`; a `COMMIT` or
/// `ROLLBACK` of your own breaks that promise.
///
/// Events that wait share it: up to 1,000 of them, or as many as begin within 50 ms, where handlers run in order; up to 100,
/// or 20 ms, on an executor, of several keys if they wait. Handlers run one after the other, and see what those before them
/// have written. If one fails, all is undone; those before it run again and are committed, then it runs alone, and that
/// run is the attempt that counts. A handler may thus be called again for the sake of another event: under the same
/// [`Attempt`](crate::Attempt), and with nothing left of the first call but what it did outside of the transaction. A commit
/// that is refused is halved until the event that cannot be stored is alone; a deadlock is nobody's failure. Handlers of
/// sagas and of observers, and those with a `timeout`, have a transaction for each event, and so have all under
/// `checkpoint_every(1)`.
pub struct Tx<D: Database> {
    transaction: D::Transaction,
}

impl<D: Database> Tx<D> {
    /// The one that is open, if it is one of this database.
    pub(crate) fn of(open: Box<dyn OpenTransaction>) -> Option<Self> {
        Some(Self { transaction: *open.into_any().downcast::<D::Transaction>().ok()? })
    }

    pub(crate) fn into_open(self) -> Box<dyn OpenTransaction> {
        Box::new(self.transaction)
    }
}

impl<D: Database> Deref for Tx<D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        D::connection(&self.transaction)
    }
}

impl<D: Database> DerefMut for Tx<D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        D::connection_mut(&mut self.transaction)
    }
}

impl<D: Database> fmt::Debug for Tx<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tx<{}>", std::any::type_name::<D>())
    }
}
