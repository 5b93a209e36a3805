//! Stores in SQL databases. The store code is written once, over a small private session; a dialect brings its
//! statements, its errors, and its way to its connections.

pub(crate) mod admin;
pub(crate) mod attempt;
pub(crate) mod browse;
pub(crate) mod claim;
pub(crate) mod completion;
pub(crate) mod consumer;
pub(crate) mod dead_letter;
mod driver;
mod history;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod joining;
pub(crate) mod lock;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod names;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod prune;
pub(crate) mod saga;
mod schema;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod server;
pub(crate) mod session;
#[cfg(feature = "sqlite")]
mod sqlite;
pub(crate) mod state;
pub(crate) mod statements;
pub(crate) mod timer;

pub use driver::classify;
#[cfg(feature = "mysql")]
pub use mysql::{MySql, MySqlStore, MySqlTransaction, guarded_mysql};
#[cfg(feature = "postgres")]
pub use postgres::{Gap, Pooler, Postgres, PostgresStore, PostgresTransaction, guarded_postgres};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteStore, SqliteTransaction, SqliteWriter, SqliteWriterGuard, Synchronous};
#[cfg(feature = "sqlite")]
pub(crate) use sqlite::{SqliteSession, failed};
