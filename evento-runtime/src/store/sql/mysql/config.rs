//! The store as configuration: which server, and how to use it.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::mysql::MySqlConnectOptions;

use super::store::MySqlStore;
use crate::deps::Need;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::names::{NAME_RULE, is_name};
use crate::store::sql::server::Settings;
use crate::store::{Store, StoreConfig};
use crate::task::Tasks;

/// A MySQL or MariaDB database as log and store, not connected yet. MySQL 8 or MariaDB 10.6 or newer.
///
/// ```
/// use evento_runtime::store::MySql;
/// let config = MySql::url("mysql://app:secret@db.internal/shop").prefix("shop_");
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct MySql {
    pub(super) options: Option<MySqlConnectOptions>,
    pub(super) prefix: String,
    pub(super) settings: Settings,
}

impl MySql {
    /// The database at `url`: `mysql://user:password@host:port/database`. Nothing is connected before
    /// [`open`](Self::open), or before a bundle starts.
    #[must_use]
    pub fn url(url: &str) -> Self {
        Self { options: MySqlConnectOptions::from_str(url).ok(), prefix: String::new(), settings: Settings::default() }
    }

    /// The database that sqlx's own options name, for what a URL cannot say.
    #[must_use]
    pub fn options(options: MySqlConnectOptions) -> Self {
        Self { options: Some(options), ..Self::url("mysql://localhost") }
    }

    /// What the names of the tables begin with, before `evento_`. Default: nothing.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
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
    /// first needed; further ones wait for their turn. Default: 8. MariaDB ends one in which
    /// nothing happens for ten seconds.
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

    /// Whether tables that are not there are made, and older ones brought up to date. Default: yes.
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
    pub async fn open(self) -> Result<MySqlStore, StoreError> {
        self.check()?;
        Tasks::default().run(MySqlStore::open(self)).await
    }

    /// Host and database.
    pub(super) fn name(&self) -> String {
        let Some(options) = &self.options else { return "mysql".to_owned() };
        let database = options.get_database().unwrap_or_default();
        match options.get_socket() {
            Some(socket) => format!("mysql:{}/{database}", socket.display()),
            None => format!("mysql://{}:{}/{database}", options.get_host(), options.get_port()),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        let error = |detail: String| Err(StoreError::new(StoreErrorKind::Config, self.name()).detail(detail));
        const FORM: &str = "cannot be understood; `mysql://user:password@host:port/database` is its form";
        if self.options.is_none() {
            return error(format!("the URL {FORM}"));
        }
        if options_without_database(self.options.as_ref()) {
            return error("the URL names no database".to_owned());
        }
        if !self.prefix.is_empty() && !is_name(&self.prefix) {
            return error(format!("prefix `{}`: {NAME_RULE}", self.prefix.chars().take(80).collect::<String>()));
        }
        self.settings.check(&self.name())
    }
}

fn options_without_database(options: Option<&MySqlConnectOptions>) -> bool {
    options.is_some_and(|options| options.get_database().is_none())
}

/// Without user, password and options.
impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySql")
            .field("database", &self.name())
            .field("prefix", &self.prefix)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl StoreConfig for MySql {
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
        Some(Need::of::<MySql>())
    }

    fn only_existing(&mut self) {
        self.settings.create = false;
    }

    async fn open(self: Box<Self>) -> Result<Store, StoreError> {
        Ok((*self).open().await?.store(true))
    }
}

pub(super) fn supplies() -> Vec<Need> {
    vec![Need::of::<MySqlStore>()]
}
