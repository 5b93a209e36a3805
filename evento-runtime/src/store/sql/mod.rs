//! Stores in SQL databases. The store code is written once, over a small private session; a dialect brings its
//! statements, its errors and its way to the one writer.

pub(crate) mod consumer;
pub(crate) mod dead_letter;
mod history;
pub(crate) mod lock;
pub(crate) mod session;
mod sqlite;
pub(crate) mod state;
pub(crate) mod statements;

pub use sqlite::{Sqlite, SqliteStore, SqliteWriter, SqliteWriterGuard, Synchronous, classify};
pub(crate) use sqlite::{SqliteSession, failed};
