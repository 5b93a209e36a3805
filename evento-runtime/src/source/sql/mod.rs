//! The log in a SQL database.

pub(crate) mod append;
pub(crate) mod sqlite;
