//! The store as configuration: which server, and how to use it.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgConnectOptions;

use super::store::PostgresStore;
use crate::deps::Need;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::names::{NAME_RULE, is_name};
use crate::store::sql::server::Settings;
use crate::store::{Store, StoreConfig};
use crate::task::Tasks;

/// What stands between this process and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Pooler {
    /// Nothing, or a pooler that keeps a session per connection. The default.
    #[default]
    None,
    /// A pooler that may give each transaction another session, as pgbouncer in transaction mode does. Every
    /// statement then runs in a transaction, unprepared, and notifications need [`Postgres::listen_url`].
    Transaction,
}

/// A PostgreSQL database as log and store, not connected yet. PostgreSQL 14 or newer.
///
/// A process that is alone in its streams remembers the versions it has left, and does not ask for them again: who deletes
/// the last events of a stream by hand while it runs leaves a gap in its versions. Whoever appends to the same stream is
/// noticed, and every new connection begins without memory.
///
/// ```
/// use evento_runtime::store::Postgres;
/// let config = Postgres::url("postgres://app:secret@db.internal/shop").schema("orders");
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct Postgres {
    pub(super) options: Option<PgConnectOptions>,
    pub(super) listen: Option<Result<PgConnectOptions, ()>>,
    pub(super) schema: String,
    pub(super) pooler: Pooler,
    pub(super) settings: Settings,
}

impl Postgres {
    /// The database at `url`: `postgres://user:password@host:port/database`. Nothing is connected before
    /// [`open`](Self::open), or before a bundle starts. What the URL leaves out comes from `PGHOST`, `PGPASSWORD`, …
    #[must_use]
    pub fn url(url: &str) -> Self {
        Self {
            options: PgConnectOptions::from_str(url).ok(),
            listen: None,
            schema: "public".to_owned(),
            pooler: Pooler::default(),
            settings: Settings::default(),
        }
    }

    /// The database that sqlx's own options name, for what a URL cannot say.
    #[must_use]
    pub fn options(options: PgConnectOptions) -> Self {
        Self { options: Some(options), ..Self::url("postgres://localhost") }
    }

    /// The schema of the tables, all of whose names begin with `evento_`. Made if it is not there. Default: `public`.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// What stands in between. Never guessed. Default: [`Pooler::None`].
    #[must_use]
    pub const fn pooler(mut self, pooler: Pooler) -> Self {
        self.pooler = pooler;
        self
    }

    /// Where to listen for appends of other processes: the server itself, where [`url`](Self::url) leads to a pooler.
    /// Without it, such a store looks every 100 ms, and less and less often, down to once a second.
    #[must_use]
    pub fn listen_url(mut self, url: &str) -> Self {
        self.listen = Some(PgConnectOptions::from_str(url).map_err(drop));
        self
    }

    /// How many connections append and settle. Default: 4.
    #[must_use]
    pub const fn writers(mut self, connections: usize) -> Self {
        self.settings.writers = connections;
        self
    }

    /// How many connections read. Default: 2.
    #[must_use]
    pub const fn readers(mut self, connections: usize) -> Self {
        self.settings.readers = connections;
        self
    }

    /// How many handlers work in a transaction of the store at once, each on a connection of its own that is opened when
    /// first needed; further ones wait for their turn. Default: 8. The server ends one in which nothing
    /// happens for ten seconds.
    #[must_use]
    pub const fn transactions(mut self, connections: usize) -> Self {
        self.settings.transactions = connections;
        self
    }

    /// How long an ownership lasts without renewal, by the clock of the database. Default: 10 s.
    #[must_use]
    pub const fn lease(mut self, duration: Duration) -> Self {
        self.settings.lease = duration;
        self
    }

    /// How often ownerships are renewed, on a connection of their own. Default: three tenths of the lease.
    #[must_use]
    pub const fn renew(mut self, interval: Duration) -> Self {
        self.settings.renew = Some(interval);
        self
    }

    /// Whether schema and tables that are not there are made, and older ones brought up to date. Default: yes.
    #[must_use]
    pub const fn create(mut self, create: bool) -> Self {
        self.settings.create = create;
        self
    }

    /// Connects, brings the schema up to date, and checks the rights. To append before a bundle runs, or to give the
    /// store to several bundles. Its user closes it.
    ///
    /// # Errors
    /// A typed reason naming host and database, never a credential; see [`StoreErrorKind`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing open; the schema may have been made.
    pub async fn open(self) -> Result<PostgresStore, StoreError> {
        self.check()?;
        Tasks::default().run(PostgresStore::open(self)).await
    }

    /// Host and database.
    pub(super) fn name(&self) -> String {
        let Some(options) = &self.options else { return "postgres".to_owned() };
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        match options.get_socket() {
            Some(socket) => format!("postgres:{}/{database}", socket.display()),
            None => format!("postgres://{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let error = |detail: String| Err(StoreError::new(StoreErrorKind::Config, self.name()).detail(detail));
        const FORM: &str = "cannot be understood; `postgres://user:password@host:port/database` is its form";
        if self.options.is_none() {
            return error(format!("the URL {FORM}"));
        }
        if matches!(self.listen, Some(Err(()))) {
            return error(format!("the URL to listen on {FORM}"));
        }
        if !is_name(&self.schema) {
            return error(format!("schema `{}`: {NAME_RULE}", self.schema.chars().take(80).collect::<String>()));
        }
        self.settings.check(&self.name())
    }
}

/// Without user, password and options.
impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("database", &self.name())
            .field("schema", &self.schema)
            .field("pooler", &self.pooler)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl StoreConfig for Postgres {
    fn describe(&self) -> String {
        self.name()
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

    fn only_existing(&mut self) {
        self.settings.create = false;
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok((*self).open().await?.store(true))
    }
}

pub(super) fn supplies() -> Vec<Need> {
    vec![Need::of::<PostgresStore>()]
}
