//! Servers that tests may use: where they are, and a corner of each for one test.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The URL in an environment variable, if somebody answers there; else why there is none.
///
/// # Errors
/// The reason.
pub fn reach(variable: &str) -> Result<String, String> {
    let url = std::env::var(variable).map_err(|_| format!("{variable} is not set; `tests/services up` starts it"))?;
    let address = url.split_once("://").and_then(|(_, rest)| {
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        host.split(['/', '?']).next()
    });
    let default = if url.starts_with("mysql") { 3306 } else { 5432 };
    let address = address.unwrap_or_default();
    let address = if address.contains(':') { address.to_owned() } else { format!("{address}:{default}") };
    let mut addresses = address.to_socket_addrs().map_err(|error| format!("{variable}: {error}"))?;
    let answers = addresses.any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok());
    if answers { Ok(url) } else { Err(format!("nobody answers at the address in {variable}")) }
}

/// A name that no other test uses.
#[must_use]
pub fn unique(prefix: &str) -> String {
    format!("{prefix}{}", &uuid::Uuid::new_v4().simple().to_string()[..16])
}

/// A schema of PostgreSQL for one test; dropped with everything in it.
#[cfg(feature = "postgres")]
pub struct Schema(String);

#[cfg(feature = "postgres")]
impl Schema {
    /// Not made yet: that is what stores do.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        Self(unique("t_"))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "postgres")]
impl Drop for Schema {
    fn drop(&mut self) {
        use sqlx::Connection as _;
        let sql = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.0);
        let Ok(url) = reach("EVENTO_TEST_POSTGRES_URL") else { return };
        let drop = async move {
            if let Ok(mut connection) = sqlx::PgConnection::connect(&url).await {
                sqlx::raw_sql("SET lock_timeout = 5000").execute(&mut connection).await.ok();
                sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.ok();
            }
        };
        in_a_thread(drop);
    }
}

/// A prefix of tables of MySQL or MariaDB for one test; they are dropped with it.
#[cfg(feature = "mysql")]
pub struct Prefix(String);

#[cfg(feature = "mysql")]
impl Prefix {
    /// No table has it yet.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "no two are the same")]
    pub fn new() -> Self {
        Self(unique("t_") + "_")
    }

    /// Its text.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

#[cfg(feature = "mysql")]
impl Drop for Prefix {
    fn drop(&mut self) {
        use sqlx::Connection as _;
        const TABLES: [&str; 19] = [
            "command",
            "audit",
            "instance",
            "meta",
            "counter",
            "event",
            "consumer",
            "lease",
            "fence",
            "checkpoint",
            "dead_letter",
            "saga",
            "saga_association",
            "saga_timer",
            "claim",
            "completion",
            "ownership",
            "attempt",
            // Of the tests themselves.
            "effects",
        ];
        let tables = TABLES.map(|table| format!("{}evento_{table}", self.0)).join(", ");
        let Ok(url) = reach("EVENTO_TEST_MYSQL_URL") else { return };
        let drop = async move {
            if let Ok(mut connection) = sqlx::MySqlConnection::connect(&url).await {
                sqlx::raw_sql("SET SESSION lock_wait_timeout = 5").execute(&mut connection).await.ok();
                let sql = sqlx::AssertSqlSafe(format!("DROP TABLE IF EXISTS {tables}"));
                sqlx::raw_sql(sql).execute(&mut connection).await.ok();
            }
        };
        in_a_thread(drop);
    }
}

/// Runs to its end, also where a runtime is being left.
#[cfg(feature = "postgres")]
fn in_a_thread(work: impl Future<Output = ()> + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(work);
        }
    });
    thread.join().ok();
}
