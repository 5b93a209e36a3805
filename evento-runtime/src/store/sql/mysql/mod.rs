//! The MySQL and MariaDB store: a counter row gives out positions in the order of commits, leases in rows.

mod config;
mod connect;
mod errors;
mod guard;
mod server;
mod session;
mod statements;
mod store;
mod transaction;

pub use config::MySql;
pub(super) use errors::class;
pub(crate) use errors::failed;
pub use guard::guarded_mysql;
pub use store::MySqlStore;
pub use transaction::MySqlTransaction;
