//! Every store passes the same cases, by the same names: one test per case and backend. A backend that cannot be
//! reached is ignored, and the reason is said.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "these are tests, their helpers included"
)]

mod embedded;
mod servers;

use std::process::ExitCode;

use evento_runtime::conformance::{Case, Fixture, cases};
use futures_util::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};

/// A case that waits for ever is a failure of its own.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(60);

/// Makes a new, empty store, or says why there is none.
struct Backend {
    name: &'static str,
    open: Result<fn() -> BoxFuture<'static, Fixture>, String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for backend in embedded::backends().into_iter().chain(servers::backends()) {
        if let Err(reason) = &backend.open {
            evento_tests::ignored(&format!("{}: {reason}", backend.name));
        }
        trials.extend(cases().into_iter().map(|case| trial(&backend, case)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(backend: &Backend, case: Case) -> Trial {
    let open = backend.open.clone();
    let ignored = open.is_err();
    let name = format!("{}::{}::{}", backend.name, case.spi, case.name);
    let run = move || {
        let open = open?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let case = async { (case.run)(open().await).await };
        runtime
            .block_on(async { tokio::time::timeout(LONGEST, case).await })
            .map_err(|_| "not done within a minute")?;
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(ignored)
}
