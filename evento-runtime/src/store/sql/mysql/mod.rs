//! The MySQL and MariaDB store: a counter row gives out positions in the order of commits, leases in rows.

mod config;
mod connect;
mod errors;
mod server;
mod session;
mod statements;
mod store;

pub use config::MySql;
pub(super) use errors::class;
pub(crate) use errors::failed;
pub use store::MySqlStore;
