//! Transactions for handlers.

use std::any::Any;
use std::fmt;

use async_trait::async_trait;
use sqlx::postgres::PgConnection;

use super::config::Postgres;
use super::errors::{failed, is_unknown_statement};
use super::server::PostgresServer;
use super::statements::marked;
use crate::error::StoreError;
use crate::store::sql::server::{Server as _, ServerTransaction, Transacting};
use crate::store::{Database, Lease, OpenTransaction, Settlement};

/// An open transaction of PostgreSQL.
pub struct PostgresTransaction(ServerTransaction<PostgresServer>);

impl Database for Postgres {
    type Connection = PgConnection;
    type Transaction = PostgresTransaction;

    fn connection(transaction: &PostgresTransaction) -> &PgConnection {
        transaction.0.connection()
    }

    fn connection_mut(transaction: &mut PostgresTransaction) -> &mut PgConnection {
        transaction.0.connection_mut()
    }
}

impl From<ServerTransaction<PostgresServer>> for PostgresTransaction {
    fn from(open: ServerTransaction<PostgresServer>) -> Self {
        Self(open)
    }
}

#[async_trait]
impl OpenTransaction for PostgresTransaction {
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

impl fmt::Debug for PostgresTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresTransaction")
    }
}

#[async_trait]
impl Transacting for PostgresServer {
    type Driver = sqlx::Postgres;
    type Database = Postgres;
    type Transaction = PostgresTransaction;

    const BEGIN: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SET LOCAL idle_in_transaction_session_timeout = 10000; SET LOCAL evento.transaction = 'open'";

    fn failed(&self, error: sqlx::Error) -> StoreError {
        failed(self.name(), error)
    }

    /// By a setting that ends with the transaction.
    async fn is_marked(&self, connection: &mut PgConnection) -> Result<bool, StoreError> {
        let rows = self.session(connection).fetch(concat!("SELECT ", marked!()), &[]).await?;
        rows.first().map_or(Ok(false), |row| row.flag(0))
    }

    /// Through a pooler, what was parsed is gone where it was to run: so is the transaction that would have kept both on
    /// one connection.
    fn is_elsewhere(&self, error: &StoreError) -> bool {
        is_unknown_statement(error)
    }
}
