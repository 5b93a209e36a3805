//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use evento_runtime::CheckpointMode;
use evento_runtime::cli::Operations;

/// Appends orders to an embedded log and projects them in parallel.
#[derive(Debug, Parser)]
#[command(name = "orders")]
pub(crate) struct Arguments {
    /// How many generated events the log is to have.
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub(crate) events: u64,
    /// Reads events from a file instead, one JSON object a line: {"type": "OrderPlaced", "order_id": …}
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) input: Option<PathBuf>,
    /// The database file [default: a new one in the temporary folder]
    #[arg(long, value_name = "PATH")]
    pub(crate) db: Option<PathBuf>,
    /// What the handlers of `OrderTotals` run on.
    #[arg(long, value_enum, default_value_t = Executor::Partitioned)]
    pub(crate) executor: Executor,
    /// When an event that runs there is covered by the checkpoint.
    #[arg(long, value_enum, default_value_t = Mode::Watermark)]
    pub(crate) mode: Mode,
    /// Serves the admin pages and appends without end.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8080")]
    pub(crate) serve: Option<SocketAddr>,
    /// Registers the executor under a wrong name, to see the launch refused.
    #[arg(long)]
    pub(crate) misspell: bool,
    /// `orders --db orders.db status`, `… plan`, `… dead list`: looks at the database instead, also while others run on it.
    #[command(flatten)]
    pub(crate) operations: Operations,
}

/// Kinds of executor.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Executor {
    /// 32 tasks, in any order.
    Tasks,
    /// 32 threads, in any order.
    Pooled,
    /// 32 lanes, in order per order id.
    Partitioned,
}

/// Checkpoint modes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Mode {
    /// Once started: a kill loses at most what was running.
    OnStart,
    /// Once settled: a kill loses nothing.
    Watermark,
}

impl From<Mode> for CheckpointMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::OnStart => Self::OnStart,
            Mode::Watermark => Self::Watermark,
        }
    }
}
