//! What stores on database servers share: connections, ownership, the SPIs. A driver brings its statements, its
//! session, and its log.

mod acquire;
mod admin;
mod inner;
pub(crate) mod network;
mod pool;
mod renewal;
mod sagas;
mod settings;
mod settle;
mod spi;
mod statements;
mod transaction;
mod watch;

pub(crate) use inner::{Inner, Parts};
pub(crate) use pool::Wrap;
pub(crate) use settings::Settings;
pub(crate) use statements::{ServerStatements, rendered};
pub(crate) use transaction::{ServerTransaction, Transacting};

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::session::Session;
use super::statements::Statements;
use crate::error::{AppendError, StoreError};
use crate::source::{Append, Appended, Batch, EventFilter, FetchLimits, Held};

/// Connecting to a server takes this long at most.
pub(crate) const CONNECTING: Duration = Duration::from_secs(10);

/// A database server, as one driver sees it.
#[async_trait]
pub(crate) trait Server: Send + Sync + Sized + 'static {
    /// A connection of the driver.
    type Connection: Send + 'static;

    /// For messages; never a credential.
    fn name(&self) -> &Arc<str>;

    /// The statements that every dialect has.
    fn sql(&self) -> &'static Statements;

    /// The statements that servers have.
    fn server_sql(&self) -> &'static ServerStatements;

    /// A new connection, on the runtime that this is called on.
    async fn connect(&self) -> Result<Self::Connection, StoreError>;

    /// Says good-bye.
    async fn close(connection: Self::Connection);

    /// A connection at work.
    fn session<'c>(&'c self, connection: &'c mut Self::Connection) -> Box<dyn Session + 'c>;

    /// Whether even a single statement needs a transaction.
    fn always_in_transactions(&self) -> bool {
        false
    }

    /// Begins a transaction that sees what was committed before each of its statements.
    async fn begin(&self, connection: &mut Self::Connection) -> Result<(), StoreError>;

    /// Ends it.
    async fn commit(&self, connection: &mut Self::Connection) -> Result<(), StoreError>;

    /// Undoes it.
    async fn roll_back(&self, connection: &mut Self::Connection) -> Result<(), StoreError>;

    /// Stores a batch.
    async fn append(inner: &Arc<Inner<Self>>, batch: Append) -> Result<Appended, AppendError>;

    /// Stores a batch within the transaction that is open.
    async fn append_within(&self, connection: &mut Self::Connection, batch: &Append) -> Result<Appended, AppendError>;

    /// A page of the log.
    async fn fetch(
        inner: &Arc<Inner<Self>>,
        after: i64,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError>;

    /// The highest position below which nothing can appear any more; 0 for an empty log.
    async fn head(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError>;

    /// The highest position that is there; 0 for an empty log.
    async fn last(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError>;

    /// The events at these positions, ascending.
    async fn read_exact(
        inner: &Arc<Inner<Self>>,
        positions: Vec<i64>,
    ) -> Result<Vec<crate::event::StoredEvent>, StoreError>;

    /// Tells other processes that something was appended.
    async fn notify(inner: &Arc<Inner<Self>>);

    /// What holds the log, if something does.
    fn held(&self) -> Option<Held> {
        None
    }

    /// Whether something may appear soon without anybody telling: look again at once.
    fn is_restless(&self) -> bool {
        false
    }
}
