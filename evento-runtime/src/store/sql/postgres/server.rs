//! [`Server`] for PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::config::{Pooler, Postgres};
use super::errors::failed;
use super::head::{self, HeadSql, Tracker};
use super::join;
use super::session::PostgresSession;
use super::statements::{SERVER, SQL};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::StoredEvent;
use crate::source::sql::position_of;
use crate::source::sql::postgres::{
    AppendSql, INNER, Page, PageSql, Savepoint, Versions, append_in, append_joined, read_exact,
};
use crate::source::{Append, Appended, Batch, EventFilter, FetchLimits, Held, PreparedEvent};
use crate::store::sql::joining::{Joining, may_join};
use crate::store::sql::names::Names;
use crate::store::sql::server::{CONNECTING, Inner, Server, ServerStatements, Wrap, rendered};
use crate::store::sql::session::{Session, Value};
use crate::store::sql::statements::Statements;

/// One database, through one URL.
pub(crate) struct PostgresServer {
    options: PgConnectOptions,
    name: Arc<str>,
    pub(super) names: Names,
    sql: &'static Statements,
    server_sql: &'static ServerStatements,
    append_sql: AppendSql,
    page_sql: PageSql,
    pub(super) head_sql: HeadSql,
    pub(super) pooler: Pooler,
    /// What is told, and listened for.
    pub(super) channel: String,
    pub(super) tracker: Tracker,
    pub(super) joining: Joining,
    versions: Versions,
}

impl PostgresServer {
    pub(super) fn new(config: &Postgres, options: &PgConnectOptions) -> Self {
        let names = Names::in_schema(&config.schema);
        let options = options.clone().application_name(options.get_application_name().unwrap_or("evento"));
        let options = match config.pooler {
            // Poolers refuse what they cannot keep apart.
            Pooler::Transaction => options.extra_float_digits(None).statement_cache_capacity(0),
            Pooler::None => options,
        };
        Self {
            options: options.disable_statement_logging(),
            name: config.name().into(),
            sql: rendered(&SQL, &names),
            server_sql: SERVER.rendered(&names),
            append_sql: AppendSql::rendered(&names),
            page_sql: PageSql::rendered(&names),
            head_sql: HeadSql::rendered(&names),
            names,
            pooler: config.pooler,
            channel: format!("evento:{}", config.schema),
            tracker: Tracker::default(),
            joining: Joining::default(),
            versions: Versions::default(),
        }
    }

    pub(super) const fn prepared(&self) -> bool {
        matches!(self.pooler, Pooler::None)
    }

    /// Within the caller's transaction, or a savepoint of it.
    pub(super) async fn append_on(
        &self,
        connection: &mut PgConnection,
        batch: &Append,
        savepoint: Option<&Savepoint>,
        prepared: bool,
    ) -> Result<Appended, AppendError> {
        let sql = (self.sql, &self.append_sql);
        append_in(connection, &self.name, prepared, sql, batch, savepoint, &self.versions).await
    }

    /// In a statement of its own. To be run in a task that nobody drops.
    pub(super) async fn append_alone(&self, inner: &Inner<Self>, batch: Append) -> Result<Appended, AppendError> {
        let work = inner.writers.run_here(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                // Through a pooler there is a transaction already.
                let savepoint = server.always_in_transactions().then_some(&INNER);
                let appended = server.append_on(connection, &batch, savepoint, server.prepared()).await?;
                Ok::<_, AppendError>(appended)
            })
        });
        let appended = work.await?;
        if !appended.known {
            inner.announce_append();
        }
        Ok(appended)
    }

    /// Events that were appended each by itself. `None`: nothing is stored, and each has to be tried by itself.
    pub(super) async fn append_joined(
        &self,
        connection: &mut PgConnection,
        events: &[&PreparedEvent],
    ) -> Result<Option<Vec<Appended>>, StoreError> {
        append_joined(connection, &self.name, &self.append_sql, events, &self.versions).await
    }
}

/// Connects, for at most ten seconds.
pub(super) async fn connect(options: &PgConnectOptions, name: &str) -> Result<PgConnection, StoreError> {
    tokio::select! {
        connected = options.connect() => connected.map_err(|error| failed(name, error)),
        () = tokio::time::sleep(CONNECTING) => {
            Err(StoreError::new(StoreErrorKind::Unreachable, name).detail("no answer within 10 s"))
        }
    }
}

#[async_trait]
impl Server for PostgresServer {
    type Connection = PgConnection;

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn sql(&self) -> &'static Statements {
        self.sql
    }

    fn server_sql(&self) -> &'static ServerStatements {
        self.server_sql
    }

    async fn connect(&self) -> Result<PgConnection, StoreError> {
        // Perhaps another server by now, which has not everything that was committed.
        self.versions.forget();
        connect(&self.options, &self.name).await
    }

    async fn close(connection: PgConnection) {
        connection.close().await.ok();
    }

    fn session<'c>(&'c self, connection: &'c mut PgConnection) -> Box<dyn Session + 'c> {
        Box::new(PostgresSession::new(connection, &self.name, self.prepared()))
    }

    fn always_in_transactions(&self) -> bool {
        !self.prepared()
    }

    /// The server ends it if this process stops in the middle, so that a takeover need not wait for ever. It looks at
    /// the size of a table each time: a plan kept from when there was nothing would read all that was since deleted.
    async fn begin(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; \
             SET LOCAL idle_in_transaction_session_timeout = 10000; SET LOCAL plan_cache_mode = force_custom_plan";
        PostgresSession::new(connection, &self.name, true).run(begin).await
    }

    async fn commit(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        PostgresSession::new(connection, &self.name, true).run("COMMIT").await
    }

    async fn roll_back(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        PostgresSession::new(connection, &self.name, true).run("ROLLBACK").await
    }

    async fn append_within(&self, connection: &mut PgConnection, batch: &Append) -> Result<Appended, AppendError> {
        self.append_on(connection, batch, Some(&INNER), self.prepared()).await
    }

    async fn append(inner: &Arc<Inner<Self>>, batch: Append) -> Result<Appended, AppendError> {
        // Through a pooler there is a transaction around every statement.
        if may_join(&batch) && inner.server.prepared() {
            join::append(inner, batch).await
        } else {
            inner.server.append_alone(inner, batch).await
        }
    }

    async fn fetch(
        inner: &Arc<Inner<Self>>,
        after: i64,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let known = inner.server.tracker.safe();
        let behind = i64::try_from(limits.events).unwrap_or(i64::MAX);
        // Far behind, what is known to be safe is enough. Where it holds less than a page of what is wanted, the next
        // question begins at its end, and looks.
        let far = known.saturating_sub(after) > behind;
        let upto = if far { known } else { head::refresh(inner).await? };
        if upto <= after {
            return Ok(Batch { events: Vec::new(), read_to: position_of(after), more: false });
        }
        let page = Page { after, upto, limits, filter: filter.clone() };
        let read = inner.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let (batch, cut) = page.read(connection, &server.name, server.prepared(), &server.page_sql).await?;
                if cut && !server.always_in_transactions() {
                    // What was not read of a page of large events is not worth reading.
                    let fresh = server.connect().await?;
                    drop(std::mem::replace(connection, fresh));
                }
                Ok::<_, StoreError>(batch)
            })
        });
        let mut batch = read.await?;
        batch.more |= far;
        Ok(batch)
    }

    async fn head(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError> {
        head::refresh(inner).await
    }

    async fn last(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError> {
        head::last(inner).await
    }

    async fn read_exact(inner: &Arc<Inner<Self>>, positions: Vec<i64>) -> Result<Vec<StoredEvent>, StoreError> {
        let read = inner.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(read_exact(connection, &server.name, server.prepared(), &server.page_sql, positions))
        });
        read.await
    }

    async fn notify(inner: &Arc<Inner<Self>>) {
        let tell = inner.writers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let values = [Value::Text(&server.channel)];
                // A hint need not survive a crash: its commit waits for no disk.
                let tell = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')";
                server.session(connection).execute(tell, &values).await?;
                Ok::<_, StoreError>(())
            })
        });
        // Who is not told looks by itself.
        tell.await.ok();
    }

    fn held(&self) -> Option<Held> {
        self.tracker.held()
    }

    fn is_restless(&self) -> bool {
        self.tracker.waits()
    }
}
