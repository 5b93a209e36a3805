//! An open store of PostgreSQL.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::postgres::PgConnection;

use super::config::{Pooler, Postgres, supplies};
use super::gap::Gap;
use super::server::PostgresServer;
use super::{connect, head, listen};
use crate::deps::{Deps, Need};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::NewEvent;
use crate::source::sql::postgres::INNER;
use crate::source::{Append, Appended, Expected, StreamKey};
use crate::store::sql::server::{Inner, Parts, Server as _};
use crate::store::{Store, StoreConfig};

/// An open PostgreSQL store: log, checkpoints, ownership, dead letters in one schema. Cheap to clone; every clone is
/// the same owner. A handler takes it as `Dep<PostgresStore>`.
///
/// Append through it, or through [`append_in`](Self::append_in), and in no other way: what keeps readers from passing
/// an event that is not committed yet is the order in which these take a transaction id and a position.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner<PostgresServer>>,
}

impl PostgresStore {
    pub(super) async fn open(config: Postgres) -> Result<Self, StoreError> {
        let Some(options) = &config.options else {
            return Err(StoreError::new(StoreErrorKind::Config, config.name()));
        };
        let server = PostgresServer::new(&config, options);
        let listens = config.listen.is_none() && config.pooler == Pooler::None;
        connect::check_room(&server, &config.settings, listens).await?;
        connect::prepare(&server, &config.schema, config.settings.create).await?;
        let listen = match (config.listen, config.pooler) {
            (Some(Ok(options)), _) => Some(options),
            (_, Pooler::None) => Some(options.clone()),
            (_, Pooler::Transaction) => {
                tracing::info!(store = %server.name(),
                    "without `listen_url`, appends of other processes are looked for, at least once a second");
                None
            }
        };
        let inner = Inner::open(Parts { server, settings: config.settings });
        if let Some(options) = listen {
            let options = options.application_name("evento listener");
            inner.background.spawn(listen::run(Arc::downgrade(&inner), options, inner.stop.clone()));
        }
        Ok(Self { inner })
    }

    /// Appends typed events to a stream. `key: None` leaves the key to the events.
    ///
    /// # Errors
    /// See [`AppendError`].
    ///
    /// # Cancel safety
    /// Dropping the future does not stop an append that has begun; append again with the same ids to know.
    pub async fn append(
        &self,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        self.store(false).append(key, expected, events).await
    }

    /// Appends within the caller's transaction on a connection to the same database. On an error nothing of the batch
    /// stays in it and it can go on. Until it ends, consumers do not read past the events of later transactions: keep
    /// it short. Call [`wake`](Self::wake) after the commit, or consumers notice by their next look.
    ///
    /// # Errors
    /// See [`AppendError`]. Outside of a transaction nothing is appended.
    ///
    /// # Cancel safety
    /// As cancel-safe as sqlx is: after dropping the future, roll the transaction back.
    pub async fn append_in(
        &self,
        connection: &mut PgConnection,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        let batch = Append::prepare(key, expected, events)?;
        let server = &self.inner.server;
        server.append_on(connection, &batch, Some(&INNER), server.prepared()).await
    }

    /// Tells consumers, here and elsewhere, that something was appended through [`append_in`](Self::append_in).
    pub fn wake(&self) {
        self.inner.announce_append();
    }

    /// The place in the log that a running transaction holds, and the sessions that may be its; `None` if all that was
    /// appended can be read.
    ///
    /// # Errors
    /// The store failed.
    pub async fn gap(&self) -> Result<Option<Gap>, StoreError> {
        let inner = Arc::clone(&self.inner);
        self.inner.background.run(async move { head::gap(&inner).await }).await
    }

    /// Waits for what is under way and closes every connection. Any number of times; everything called afterwards is
    /// refused with [`StoreErrorKind::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future does not stop it.
    pub async fn close(&self) {
        self.inner.close().await;
    }

    /// Log and SPIs for a bundle, which closes it at its stop if `own`.
    pub(super) fn store(&self, own: bool) -> Store {
        let mut supplied = Deps::default();
        supplied.insert(self.clone());
        self.inner.store(supplied, own)
    }
}

#[async_trait]
impl StoreConfig for PostgresStore {
    fn describe(&self) -> String {
        self.inner.server.name().to_string()
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn supplies(&self) -> Vec<Need> {
        supplies()
    }

    fn database(&self) -> Option<Need> {
        Some(Need::of::<Postgres>())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        self.inner.check_open()?;
        Ok(self.store(false))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({})", self.inner.server.name())
    }
}
