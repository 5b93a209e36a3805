//! The bundle, and the binary beside it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::operated::{Healed, Paid, Placed, bundle};
use evento_runtime::store::{Sqlite, StoreConfig};
use evento_runtime::{Expected, NewEvent, Position, Running};
use evento_tests::eventually;
use serde_json::Value;
use tempfile::TempDir;

/// What a call of the binary came to.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Called {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Where the binary is pointed at, by environment and arguments.
#[derive(Clone)]
pub(crate) struct Cli {
    pub(crate) program: &'static str,
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) before: Vec<String>,
}

impl Cli {
    pub(crate) fn new() -> Self {
        let program = env!("CARGO_BIN_EXE_evento");
        Self { program, environment: vec![("EVENTO_BY", "ada".to_owned())], before: Vec::new() }
    }

    /// At a database, by the environment.
    pub(crate) fn at(database: String) -> Self {
        Self::new().env("EVENTO_DATABASE", database).env("EVENTO_BUNDLE", "orders")
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    pub(crate) fn with(mut self, argument: impl Into<String>) -> Self {
        self.before.push(argument.into());
        self
    }

    pub(crate) fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(self.program);
        command.env_clear().envs(self.environment.iter().cloned()).args(&self.before).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Words are separated by spaces.
    pub(crate) async fn call(&self, words: &str) -> Called {
        self.call_with(words.split_whitespace()).await
    }

    pub(crate) async fn call_with(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Called {
        let mut command = self.command(arguments);
        // The bundle beside it goes on.
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Called { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The JSON of a call that is done.
    pub(crate) async fn document(&self, words: &str) -> Value {
        self.call(&format!("{words} --json")).await.ended(0).json()
    }
}

/// A file, and the binary pointed at it.
pub(crate) struct File {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl File {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.db");
        Self { folder, path }
    }

    pub(crate) fn store(&self) -> Sqlite {
        Sqlite::file(&self.path)
    }

    pub(crate) fn cli(&self) -> Cli {
        Cli::at(format!("sqlite:{}", self.path.display()))
    }
}

pub(crate) async fn started(store: impl StoreConfig, healed: &Healed) -> Running {
    bundle(store, healed).start().await.unwrap()
}

pub(crate) async fn append(running: &Running, events: Vec<NewEvent>) -> Position {
    running.store().append(None::<String>, Expected::Any, events).await.unwrap().last
}

pub(crate) fn placed(order: &str, bad: bool) -> NewEvent {
    Placed { order: order.to_owned(), bad }.into()
}

pub(crate) fn paid(card: u64) -> NewEvent {
    NewEvent::from(Paid { order: 7, card })
}

/// Waits until everything is settled, and its checkpoint stored.
pub(crate) async fn settled(running: &Running, last: &Position) {
    eventually("everything is settled", || {
        running.status().iter().all(|status| status.watermark.as_ref() >= Some(last) && status.exposure == 0)
    })
    .await;
}

pub(crate) async fn stop(running: Running) {
    running.stop(Duration::from_secs(20)).await.unwrap();
}
