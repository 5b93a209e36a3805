//! What only SQLite has: files, processes, the one writer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are tests, their helpers included"
)]

mod child;
mod errors;
mod files;
mod joined;
mod log;
mod ownership;
mod processes;
mod transactions;
mod writer;

use std::path::Path;

use evento_runtime::NewEvent;
use evento_runtime::identity::{ConsumerId, ContextPattern};
use evento_runtime::store::{Sqlite, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};

async fn open(path: &Path) -> SqliteStore {
    Sqlite::file(path).open().await.unwrap()
}

/// A connection of somebody else, who does not wait for locks.
async fn stranger(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    options.busy_timeout(std::time::Duration::ZERO).connect().await.unwrap()
}

fn event(payload: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent::raw("E", "application/octet-stream", payload.into())
}

fn consumer(component: &str) -> ConsumerId {
    ConsumerId { bundle: "b".into(), component: component.into(), version: 1, context: ContextPattern::All }
}
