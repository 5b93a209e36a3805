//! [`Server`] for MySQL and MariaDB.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::config::MySql;
use super::errors::{failed, is_lock_wait};
use super::session::MySqlSession;
use super::statements::{APPENDING, SERVER, SQL};
use crate::clock::{Clock as _, SystemClock};
use crate::error::{AppendError, StoreError, StoreErrorKind};
use crate::event::StoredEvent;
use crate::source::sql::append::{Appending, append};
use crate::source::sql::mysql::{Page, PageSql, read_exact};
use crate::source::{Append, Appended, Batch, EventFilter, FetchLimits};
use crate::store::sql::names::Names;
use crate::store::sql::server::{CONNECTING, Inner, Server, ServerStatements, Wrap, rendered};
use crate::store::sql::session::Session;
use crate::store::sql::statements::{Chunked, Statements};

/// Of every connection of ours. A wait for a lock ends before a lease does.
const SETTINGS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET SESSION innodb_lock_wait_timeout = 8; SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')";

/// MariaDB ends a transaction of ours if this process stops in the middle, so that a takeover need not wait for ever.
const OF_MARIADB: &str = "SET SESSION idle_transaction_timeout = 10";

/// Who may hold the counter: whoever has locked rows, the oldest first.
const HOLDERS: &str = "SELECT CAST(trx_mysql_thread_id AS SIGNED), CAST(TIMESTAMPDIFF(SECOND, trx_started, NOW()) AS SIGNED) \
     FROM information_schema.innodb_trx WHERE trx_rows_locked > 0 ORDER BY trx_started LIMIT 3";

/// One database, through one URL.
pub(crate) struct MySqlServer {
    options: MySqlConnectOptions,
    name: Arc<str>,
    pub(super) names: Names,
    sql: &'static Statements,
    server_sql: &'static ServerStatements,
    appending: &'static Appending,
    page_sql: PageSql,
}

impl MySqlServer {
    pub(super) fn new(config: &MySql, options: &MySqlConnectOptions) -> Self {
        let names = Names::with_prefix(&config.prefix);
        Self {
            options: options.clone().disable_statement_logging(),
            name: config.name().into(),
            sql: rendered(&SQL, &names),
            server_sql: SERVER.rendered(&names),
            appending: appending(&names),
            page_sql: PageSql::rendered(&names),
            names,
        }
    }

    /// Within a transaction.
    pub(super) async fn append_on(
        &self,
        connection: &mut MySqlConnection,
        batch: &Append,
    ) -> Result<Appended, AppendError> {
        let mut session = MySqlSession::new(connection, &self.name);
        append(&mut session, self.sql, self.appending, batch, SystemClock.now()).await
    }
}

fn appending(names: &Names) -> &'static Appending {
    let several = |chunked: &Chunked| chunked.map(|(rows, template)| (rows, names.render(template)));
    Box::leak(Box::new(Appending {
        last_position: names.render(APPENDING.last_position),
        advance: APPENDING.advance.map(|sql| names.render(sql)),
        versions: several(&APPENDING.versions),
        insert_events: several(&APPENDING.insert_events),
        at_once: |_| None,
    }))
}

#[async_trait]
impl Server for MySqlServer {
    type Connection = MySqlConnection;

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn sql(&self) -> &'static Statements {
        self.sql
    }

    fn server_sql(&self) -> &'static ServerStatements {
        self.server_sql
    }

    async fn connect(&self) -> Result<MySqlConnection, StoreError> {
        let connect = async {
            let connected = self.options.connect().await;
            let mut connection = connected.map_err(|error| failed(&self.name, error))?;
            let mut session = MySqlSession::new(&mut connection, &self.name);
            session.run(SETTINGS).await?;
            // MySQL has no such setting.
            session.run(OF_MARIADB).await.ok();
            Ok(connection)
        };
        tokio::select! {
            connected = connect => connected,
            () = tokio::time::sleep(CONNECTING) => {
                Err(StoreError::new(StoreErrorKind::Unreachable, &*self.name).detail("no answer within 10 s"))
            }
        }
    }

    async fn close(connection: MySqlConnection) {
        connection.close().await.ok();
    }

    fn session<'c>(&'c self, connection: &'c mut MySqlConnection) -> Box<dyn Session + 'c> {
        Box::new(MySqlSession::new(connection, &self.name))
    }

    async fn begin(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        MySqlSession::new(connection, &self.name).run("START TRANSACTION").await
    }

    async fn commit(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        MySqlSession::new(connection, &self.name).run("COMMIT").await
    }

    async fn roll_back(&self, connection: &mut MySqlConnection) -> Result<(), StoreError> {
        MySqlSession::new(connection, &self.name).run("ROLLBACK").await
    }

    async fn append_within(&self, connection: &mut MySqlConnection, batch: &Append) -> Result<Appended, AppendError> {
        self.append_on(connection, batch).await
    }

    async fn append(inner: &Arc<Inner<Self>>, batch: Append) -> Result<Appended, AppendError> {
        let work = inner.writers.run_here(Wrap::Transaction, move |server, connection| {
            Box::pin(async move { server.append_on(connection, &batch).await })
        });
        let appended = match work.await {
            Err(AppendError::Store(error)) if is_lock_wait(&error) => return Err(blocked(inner).await),
            appended => appended?,
        };
        if !appended.known {
            inner.announce_append();
        }
        Ok(appended)
    }

    async fn fetch(
        inner: &Arc<Inner<Self>>,
        after: i64,
        limits: FetchLimits,
        filter: &EventFilter,
    ) -> Result<Batch, StoreError> {
        let page = Page { after, limits, filter: filter.clone() };
        let read = inner.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let (batch, cut) = page.read(connection, &server.name, &server.page_sql).await?;
                if cut {
                    // What was not read of a page of large events is not worth reading.
                    let fresh = server.connect().await?;
                    drop(std::mem::replace(connection, fresh));
                }
                Ok::<_, StoreError>(batch)
            })
        });
        read.await
    }

    /// Positions are given out in the order of commits: what is there is all there will be below it.
    async fn head(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError> {
        Self::last(inner).await
    }

    async fn last(inner: &Arc<Inner<Self>>) -> Result<i64, StoreError> {
        let ask = inner.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(async move {
                let rows = server.session(connection).fetch(server.page_sql.head, &[]).await?;
                rows.first().map_or(Ok(0), |row| row.int(0))
            })
        });
        ask.await
    }

    async fn read_exact(inner: &Arc<Inner<Self>>, positions: Vec<i64>) -> Result<Vec<StoredEvent>, StoreError> {
        let read = inner.readers.run(Wrap::Bare, move |server, connection| {
            Box::pin(read_exact(connection, &server.name, &server.page_sql, positions))
        });
        read.await
    }

    /// Nobody can be told here; others look by themselves.
    async fn notify(_: &Arc<Inner<Self>>) {}
}

async fn blocked(inner: &Arc<Inner<MySqlServer>>) -> AppendError {
    let ask = inner.readers.run(Wrap::Bare, move |server, connection| {
        Box::pin(async move {
            let rows = server.session(connection).fetch(HOLDERS, &[]).await?;
            let holder = |row: &crate::store::sql::session::Row| {
                Ok(format!("connection {}, in its transaction since {} s", row.int(0)?, row.int(1)?))
            };
            rows.iter().map(holder).collect::<Result<Vec<_>, StoreError>>()
        })
    });
    let by = match ask.await {
        Ok(holders) if holders.is_empty() => "it has ended by now".to_owned(),
        Ok(holders) => holders.join("; "),
        Err(_) => "with the right PROCESS, this would say whose".to_owned(),
    };
    AppendError::Blocked { store: inner.server.name.to_string(), by }
}
