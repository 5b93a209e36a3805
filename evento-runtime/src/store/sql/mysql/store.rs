//! An open store of MySQL or MariaDB.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;

use super::config::{MySql, supplies};
use super::connect;
use super::server::MySqlServer;
use super::session::MySqlSession;
use crate::deps::{Deps, Need};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::NewEvent;
use crate::source::{Append, Appended, Expected, StreamKey};
use crate::store::sql::server::{Inner, Parts, Server as _};
use crate::store::{Store, StoreConfig};

/// An open MySQL or MariaDB store: log, checkpoints, ownership, dead letters in one database. Cheap to clone; every
/// clone is the same owner. A handler takes it as `Dep<MySqlStore>`.
///
/// Positions are given out in the order of commits, by one row: appends follow one another, each until its commit.
#[derive(Clone)]
pub struct MySqlStore {
    inner: Arc<Inner<MySqlServer>>,
}

impl MySqlStore {
    pub(super) async fn open(config: MySql) -> Result<Self, StoreError> {
        let Some(options) = &config.options else {
            return Err(StoreError::new(StoreErrorKind::Config, config.name()));
        };
        let server = MySqlServer::new(&config, options);
        connect::prepare(&server, &config.prefix, &config.settings).await?;
        Ok(Self { inner: Inner::open(Parts { server, settings: config.settings }) })
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
    /// stays in it and it can go on, unless the error was a deadlock, which ends it. Every other append waits until it
    /// ends: append last. Call [`wake`](Self::wake) after the commit, or consumers notice by their next look.
    ///
    /// # Errors
    /// See [`AppendError`]. Outside of a transaction nothing is appended.
    ///
    /// # Cancel safety
    /// As cancel-safe as sqlx is: after dropping the future, roll the transaction back.
    pub async fn append_in(
        &self,
        connection: &mut MySqlConnection,
        key: impl Into<StreamKey>,
        expected: Expected,
        events: impl IntoIterator<Item = impl Into<NewEvent>>,
    ) -> Result<Appended, AppendError> {
        let batch = Append::prepare(key, expected, events)?;
        let name = self.inner.server.name();
        let mut session = MySqlSession::new(connection, name);
        session.run("SAVEPOINT evento_append").await?;
        // Outside of a transaction it is gone with its statement, and every statement would commit by itself.
        if session.run("ROLLBACK TO SAVEPOINT evento_append").await.is_err() {
            let error = StoreError::new(StoreErrorKind::Config, &**name);
            return Err(error.detail("`append_in` needs a transaction on the connection it is given").into());
        }
        let appended = self.inner.server.append_on(connection, &batch).await;
        let mut session = MySqlSession::new(connection, name);
        if appended.is_err() {
            session.run("ROLLBACK TO SAVEPOINT evento_append").await.ok();
        }
        let released = session.run("RELEASE SAVEPOINT evento_append").await;
        let appended = appended?;
        released?;
        Ok(appended)
    }

    /// Tells the consumers of this process that something was appended through [`append_in`](Self::append_in).
    pub fn wake(&self) {
        self.inner.announce_append();
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
impl StoreConfig for MySqlStore {
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
        Some(Need::of::<MySql>())
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        self.inner.check_open()?;
        Ok(self.store(false))
    }
}

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySqlStore({})", self.inner.server.name())
    }
}
