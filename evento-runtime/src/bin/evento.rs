//! `evento`: see [`evento_runtime::cli`].

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    evento_runtime::cli::main().await
}
