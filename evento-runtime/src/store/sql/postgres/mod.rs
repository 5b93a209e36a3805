//! The PostgreSQL store: appends of any number of processes at once, holes judged by transaction ids, leases in rows.

mod config;
mod connect;
mod errors;
mod gap;
mod guard;
mod head;
mod join;
mod listen;
mod server;
mod session;
mod statements;
mod store;
mod transaction;

pub use config::{Pooler, Postgres};
pub(super) use errors::class;
pub(crate) use errors::{failed, is_duplicate};
pub use gap::Gap;
pub use guard::guarded_postgres;
pub(crate) use session::PostgresSession;
pub(crate) use statements::now;
pub use store::PostgresStore;
pub use transaction::PostgresTransaction;
