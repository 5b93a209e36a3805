//! Renewing all leases of an owner in one statement, on a connection of its own.

use std::collections::HashSet;
use std::sync::Arc;

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::Mutex as AsyncMutex;

use super::connect;
use super::errors::is_broken;
use super::session::SqliteSession;
use super::statements::{HELD, RENEW};
use super::writer::Turn;
use crate::error::StoreError;
use crate::identity::OwnerId;
use crate::store::sql::session::{Session as _, Value};
use crate::task::Tasks;

/// The keeper's connection: the only one beside the writer that writes. Opened by the first renewal, in whatever
/// runtime that is called from.
pub(super) struct Renewal {
    connection: Arc<AsyncMutex<Option<SqliteConnection>>>,
    options: SqliteConnectOptions,
    name: Arc<str>,
    tasks: Tasks,
}

impl Renewal {
    pub(super) fn new(options: SqliteConnectOptions, name: Arc<str>) -> Self {
        Self { connection: Arc::default(), options, name, tasks: Tasks::default() }
    }

    /// Those of the (consumer, epoch) pairs whose lease was extended. `turn`: the file's writer, idle meanwhile.
    pub(super) async fn renew(
        &self,
        owner: OwnerId,
        leases: &[(i64, u64)],
        milliseconds: i64,
        turn: Option<Turn>,
    ) -> Result<HashSet<(i64, u64)>, StoreError> {
        self.ask(RENEW, milliseconds, owner, leases, turn).await
    }

    /// Those of the (consumer, epoch) pairs that are held and had not run out `at` milliseconds.
    pub(super) async fn held(
        &self,
        owner: OwnerId,
        leases: &[(i64, u64)],
        at: i64,
    ) -> Result<HashSet<(i64, u64)>, StoreError> {
        self.ask(HELD, at, owner, leases, None).await
    }

    async fn ask(
        &self,
        sql: &'static str,
        milliseconds: i64,
        owner: OwnerId,
        leases: &[(i64, u64)],
        turn: Option<Turn>,
    ) -> Result<HashSet<(i64, u64)>, StoreError> {
        // Pairs of numbers are JSON always.
        let leases = serde_json::to_string(leases).unwrap_or_default();
        let (slot, options, name) = (Arc::clone(&self.connection), self.options.clone(), Arc::clone(&self.name));
        let task = async move {
            let mut turn = turn;
            if let Some(turn) = &mut turn {
                turn.make_ready().await;
            }
            let mut slot = slot.lock().await;
            let mut connection = match slot.take() {
                Some(connection) => connection,
                None => connect::connect(&options, &name).await?,
            };
            let values = [Value::Int(milliseconds), Value::Blob(owner.as_uuid().as_bytes()), Value::Text(&leases)];
            let rows = SqliteSession::new(&mut connection, &name).fetch(sql, &values).await;
            drop(turn);
            if !rows.as_ref().is_err_and(is_broken) {
                *slot = Some(connection);
            }
            rows?.iter().map(|row| Ok((row.int(0)?, row.count(1)?))).collect()
        };
        self.tasks.run(task).await
    }

    pub(super) async fn close(&self) {
        self.tasks.join().await;
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection {
            connection.close().await.ok();
        }
    }
}
