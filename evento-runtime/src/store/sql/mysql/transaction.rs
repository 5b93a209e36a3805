//! Transactions for handlers.

use std::any::Any;
use std::fmt;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnection;

use super::config::MySql;
use super::errors::{failed, is_no_savepoint};
use super::server::MySqlServer;
use super::session::MySqlSession;
use crate::error::StoreError;
use crate::store::sql::server::{Server as _, ServerTransaction, Transacting};
use crate::store::{Database, Lease, OpenTransaction, Settlement};

/// An open transaction of MySQL or MariaDB.
pub struct MySqlTransaction(ServerTransaction<MySqlServer>);

impl Database for MySql {
    type Connection = MySqlConnection;
    type Transaction = MySqlTransaction;

    fn connection(transaction: &MySqlTransaction) -> &MySqlConnection {
        transaction.0.connection()
    }

    fn connection_mut(transaction: &mut MySqlTransaction) -> &mut MySqlConnection {
        transaction.0.connection_mut()
    }
}

impl From<ServerTransaction<MySqlServer>> for MySqlTransaction {
    fn from(open: ServerTransaction<MySqlServer>) -> Self {
        Self(open)
    }
}

#[async_trait]
impl OpenTransaction for MySqlTransaction {
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }

    async fn settle(&mut self, lease: &Lease, settlement: Settlement) -> Result<(), StoreError> {
        self.0.settle(lease, &settlement).await
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        self.0.commit().await
    }

    async fn roll_back(self: Box<Self>) {
        self.0.roll_back().await;
    }
}

impl fmt::Debug for MySqlTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MySqlTransaction")
    }
}

#[async_trait]
impl Transacting for MySqlServer {
    type Driver = sqlx::MySql;
    type Database = MySql;
    type Transaction = MySqlTransaction;

    /// The isolation is that of the session.
    const BEGIN: &'static str = "START TRANSACTION; SAVEPOINT evento_open";

    fn failed(&self, error: sqlx::Error) -> StoreError {
        failed(self.name(), error)
    }

    /// By a savepoint: a commit ends it, one that a definition brings along as well, and so does a deadlock.
    async fn is_marked(&self, connection: &mut MySqlConnection) -> Result<bool, StoreError> {
        match MySqlSession::new(connection, self.name()).run("RELEASE SAVEPOINT evento_open").await {
            Ok(()) => Ok(true),
            Err(error) if is_no_savepoint(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
