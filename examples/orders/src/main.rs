//! Orders projected in parallel over an embedded SQLite log.
//!
//! `cargo run --release -p orders`, and `-- --help` for what else it can do.
#![warn(unused_crate_dependencies)]
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod arguments;
mod feed;
mod progress;
mod serve;
mod summary;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::observe::metrics::HandlerTimes;
use evento_runtime::store::{Sqlite, Store};
use evento_runtime::{AppendError, Bundle, Expected, NewEvent, Position, Running, shutdown_signal};

use crate::arguments::{Arguments, Executor};
use crate::progress::Progress;

// Names the crate of the handlers, so that it is linked and its handlers are there.
evento_runtime::link!(order_views);

/// Events appended in one transaction.
const BATCH: usize = 250;
/// How long running handlers may take at a stop.
const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> evento_runtime::Result<ExitCode> {
    let arguments = Arguments::parse();
    let db = arguments.db.clone().unwrap_or_else(new_file);
    let mut bundle = Bundle::builder("orders")
        .discover()
        .store(Sqlite::file(&db))
        .executor(executor(&arguments))
        .checkpoint_mode(arguments.mode.into());
    if arguments.serve.is_some() {
        bundle = bundle.telemetry(HandlerTimes::new());
    }
    let bundle = bundle.build()?;
    if arguments.operations.is_asked() {
        return Ok(arguments.operations.run(bundle).await);
    }
    // From here on there is a database file.
    println!("database: {}", db.display());
    let running = bundle.start().await?;
    if let Some(address) = arguments.serve {
        // What was begun is ended in order, also where the address is taken.
        let served = serve::until_stopped(&running, address).await;
        running.stop(DEADLINE).await?;
        return served.map(|()| ExitCode::SUCCESS);
    }
    let began = progress::now();
    let worked = tokio::select! {
        worked = work(&arguments, &running) => Some(worked),
        () = shutdown_signal() => None,
    };
    let took = began.elapsed();
    if let Some(total) = worked.transpose()? {
        summary::print(&db, &running, total, took).await?;
    } else {
        println!("stopping: what runs may finish, then the checkpoint is stored");
    }
    running.stop(DEADLINE).await?;
    println!("to continue: cargo run --release -p orders -- --db {}", db.display());
    Ok(ExitCode::SUCCESS)
}

fn executor(arguments: &Arguments) -> Arc<dyn ConsumerExecutor> {
    let name = if arguments.misspell { "read-modle" } else { order_views::order_totals::READ_MODEL };
    match arguments.executor {
        Executor::Tasks => Arc::new(ConsumerExecutors::tasks(name, 32)),
        Executor::Pooled => Arc::new(ConsumerExecutors::pooled(name, 32)),
        Executor::Partitioned => Arc::new(ConsumerExecutors::partitioned(name, 32)),
    }
}

fn new_file() -> PathBuf {
    std::env::temp_dir().join(format!("orders-{}.db", evento_runtime::EventId::generate()))
}

/// Appends everything, while the projectors run, and waits until they have settled it.
async fn work(arguments: &Arguments, running: &Running) -> evento_runtime::Result<u64> {
    let events: Vec<(u64, NewEvent)> = match &arguments.input {
        Some(file) => read(file)?,
        None => (0..arguments.events).map(|n| (n + 1, feed::generated(n))).collect(),
    };
    let total = u64::try_from(events.len())?;
    let mut progress = Progress::new(total);
    let (mut fresh, mut last) = (0, None);
    let mut events = events.into_iter().peekable();
    while events.peek().is_some() {
        let batch: Vec<_> = events.by_ref().take(BATCH).collect();
        let (new, position) = append(running.store(), batch).await?;
        fresh += new;
        last = last.max(position);
        progress.show(projected(running, last.as_ref()).0, "appending");
    }
    progress.show(projected(running, last.as_ref()).0, "appended");
    loop {
        let (done, all) = projected(running, last.as_ref());
        progress.show(done, "projecting");
        if all {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    progress.end();
    println!("{fresh} events appended, {} known from before", total - fresh);
    Ok(fresh)
}

fn read(file: &Path) -> evento_runtime::Result<Vec<(u64, NewEvent)>> {
    let file = std::fs::File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(feed::from_file(std::io::BufReader::new(file), |line, error| println!("line {line} passed over: {error}")))
}

/// Appends a batch; one by one where some of it is known and some is not. Answers how many were new.
async fn append(store: &Store, batch: Vec<(u64, NewEvent)>) -> evento_runtime::Result<(u64, Option<Position>)> {
    let count = u64::try_from(batch.len())?;
    let (lines, events): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    match store.append(None::<String>, Expected::Any, events.clone()).await {
        Ok(appended) => return Ok((if appended.known { 0 } else { count }, Some(appended.last))),
        Err(AppendError::Store(error)) => return Err(error.into()),
        Err(_) => {}
    }
    let (mut fresh, mut last) = (0, None);
    for (line, event) in lines.into_iter().zip(events) {
        match store.append(None::<String>, Expected::Any, [event]).await {
            Ok(appended) => {
                fresh += u64::from(!appended.known);
                last = last.max(Some(appended.last));
            }
            Err(AppendError::Store(error)) => return Err(error.into()),
            Err(error) => println!("line {line} passed over: {error}"),
        }
    }
    Ok((fresh, last))
}

/// How many events the slower projector has settled in this run, and whether both have settled `last`.
fn projected(running: &Running, last: Option<&Position>) -> (u64, bool) {
    let status = running.status();
    let done = status.iter().map(|consumer| consumer.counters.settled).max().unwrap_or_default();
    (done, status.iter().all(|consumer| consumer.watermark.as_ref() >= last))
}
