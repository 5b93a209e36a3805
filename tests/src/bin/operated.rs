//! An application with arguments of its own beside the commands.
#![allow(clippy::unwrap_used, reason = "a test program")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use evento_runtime::cli::{self, Operations};
use evento_runtime::store::{Memory, Sqlite};

use crate::operated::{Healed, bundle};

#[path = "../../tests/cli/operated.rs"]
mod operated;

#[derive(Parser)]
struct Arguments {
    /// The database; memory without it
    #[arg(long)]
    db: Option<PathBuf>,
    #[command(flatten)]
    operations: Operations,
}

#[tokio::main]
async fn main() -> evento_runtime::Result<ExitCode> {
    if std::env::var_os("OPERATED_DB").is_some() {
        let db = std::env::var_os("OPERATED_DB").map(PathBuf::from).unwrap_or_default();
        return cli::run(bundle(Sqlite::file(db), &Healed::default())).await;
    }
    let Arguments { db, operations, .. } = Arguments::parse();
    let bundle = match db {
        Some(db) => bundle(Sqlite::file(db), &Healed::default()),
        None => bundle(Memory::new(), &Healed::default()),
    };
    if operations.is_asked() {
        return Ok(operations.run(bundle).await);
    }
    Ok(ExitCode::SUCCESS)
}
