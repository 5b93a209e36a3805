//! The log of PostgreSQL: appending without a global lock, and reading below the safe head.

mod append;
mod page;
mod versions;

pub(crate) use append::{AppendSql, INNER, Savepoint, append_in, append_joined};
pub(crate) use page::{Page, PageSql, read_exact};
pub(crate) use versions::Versions;
