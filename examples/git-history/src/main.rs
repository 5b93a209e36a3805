//! The history of any git repository as events, projected into what it tells: activity per author and week, and
//! files that change together.
//!
//! `cargo run --release -p git-history -- --db history.db [REPOSITORY]`; run again it reads `0 new`.
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod activity;
mod commits;
mod together;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::store::Sqlite;
use evento_runtime::{Bundle, CheckpointMode, Expected, Running, shutdown_signal};

/// Commits appended in one transaction.
const BATCH: usize = 200;

/// Reads the history of a git repository into events and projects it.
#[derive(Debug, Parser)]
#[command(name = "git-history")]
struct Arguments {
    /// The database file; made if it is not there.
    #[arg(long, value_name = "PATH")]
    db: PathBuf,
    /// The repository to read.
    #[arg(default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))]
    repository: PathBuf,
}

#[tokio::main]
async fn main() -> evento_runtime::Result {
    let arguments = Arguments::parse();
    let commits = commits::read(&arguments.repository)?;
    let bundle = Bundle::builder("git-history")
        .discover()
        .store(Sqlite::file(&arguments.db))
        .executor(ConsumerExecutors::partitioned("files", 8))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()?;
    let running = bundle.start().await?;
    let done = tokio::select! {
        done = project(&running, commits) => Some(done),
        () = shutdown_signal() => None,
    };
    if let Some((all, new)) = done.transpose()? {
        println!("{all} commits, {new} new");
        activity::print(&arguments.db).await?;
        together::print(&arguments.db).await?;
    }
    Ok(running.stop(Duration::from_secs(30)).await?)
}

/// Appends what is not known yet and waits until everything is projected. Answers (commits, new ones).
async fn project(running: &Running, commits: Vec<commits::Read>) -> evento_runtime::Result<(usize, usize)> {
    let all = commits.len();
    let (mut new, mut last) = (0, None);
    let mut commits = commits.into_iter().peekable();
    while commits.peek().is_some() {
        let batch: Vec<_> = commits.by_ref().take(BATCH).map(commits::Read::into_event).collect();
        let appended = match running.store().append(None::<String>, Expected::Any, batch.clone()).await {
            Ok(appended) => {
                new += if appended.known { 0 } else { batch.len() };
                appended.last
            }
            // The history has grown since the last time: some of this batch is known.
            Err(evento_runtime::AppendError::PartlyKnown { .. }) => {
                let mut last = None;
                for commit in batch {
                    let appended = running.store().append(None::<String>, Expected::Any, [commit]).await?;
                    new += usize::from(!appended.known);
                    last = last.max(Some(appended.last));
                }
                match last {
                    Some(last) => last,
                    None => continue,
                }
            }
            Err(error) => return Err(error.into()),
        };
        last = last.max(Some(appended));
    }
    while !running.status().iter().all(|consumer| consumer.watermark >= last) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok((all, new))
}
