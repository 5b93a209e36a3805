//! Shared pieces of the test package: where data is, how a test says that it found none, how it waits.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "everything in here is for tests")]

pub mod fixture;
pub mod ledger;
pub mod servers;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Notes that a test had nothing to run on. `tests/run` counts it as skipped and prints the reason once.
///
/// # Panics
/// The list of reasons cannot be written.
pub fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    if let Some(list) = std::env::var_os("EVENTO_SKIPS") {
        let mut list = std::fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        writeln!(list, "{reason}").unwrap();
    }
}

/// Notes what a launch said, for the list of all messages (`cargo run -p evento-tests --example messages`).
///
/// # Panics
/// The list cannot be written.
pub fn note_message(code: &str, message: &str, help: &str) {
    if let Some(list) = std::env::var_os("EVENTO_MESSAGES") {
        let mut list = std::fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        // In one write, since tests run beside each other.
        list.write_all(format!("{code}\t{message}\t{help}\n").as_bytes()).unwrap();
    }
}

/// Notes why tests are ignored. `tests/run` prints each reason once.
///
/// # Panics
/// The list of reasons cannot be written.
pub fn ignored(reason: &str) {
    if let Some(list) = std::env::var_os("EVENTO_SKIPS") {
        let mut name = list;
        name.push(".ignored");
        let mut list = std::fs::OpenOptions::new().append(true).create(true).open(name).unwrap();
        writeln!(list, "{reason}").unwrap();
    } else if !std::env::args().any(|argument| argument == "--list") {
        eprintln!("ignored: {reason}");
    }
}

/// Real payloads, where they are: `EVENTO_TEST_DATA`, or `shared/data` beside the checkout.
#[must_use]
pub fn webhooks() -> Option<PathBuf> {
    let folder = std::env::var_os("EVENTO_TEST_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")), PathBuf::from);
    let file = folder.join("github-webhooks.jsonl");
    file.is_file().then_some(file)
}

/// Whether the full counts are to be run.
#[must_use]
pub fn long() -> bool {
    std::env::var_os("EVENTO_LONG").is_some()
}

/// Waits until `done` holds, looking every millisecond.
///
/// # Panics
/// It does not hold within a minute.
pub async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("not within a minute: {what}");
}
