//! The command line as it is installed, where tests find it.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    evento_runtime::cli::main().await
}
