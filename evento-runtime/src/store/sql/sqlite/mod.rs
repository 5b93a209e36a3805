//! The SQLite store: one write connection per file and process, a few readers, leases in rows.

mod admin;
mod at_once;
mod config;
mod connect;
mod errors;
mod group;
mod joined;
mod owner;
mod poll;
mod readers;
mod registry;
mod renewal;
mod sagas;
mod session;
mod spi;
mod statements;
mod store;
mod takeover;
mod transaction;
mod write;
mod writer;

pub use config::{Sqlite, Synchronous};
pub(super) use errors::class;
pub(crate) use errors::failed;
pub(crate) use session::SqliteSession;
pub(crate) use statements::{APPENDING, SQL};
pub use store::SqliteStore;
pub use transaction::SqliteTransaction;
pub use writer::{SqliteWriter, SqliteWriterGuard};
