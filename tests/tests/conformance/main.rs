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

/// Runs a statement in an open transaction of a database.
macro_rules! statement {
    ($database:ty) => {
        |open, sql| {
            use evento_runtime::store::{Database, OpenTransaction};
            use sqlx::Row as _;
            Box::pin(async move {
                let mut open = open.into_any().downcast::<<$database as Database>::Transaction>().unwrap();
                let connection = <$database as Database>::connection_mut(&mut open);
                let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).fetch_all(connection).await;
                let number = rows.map(|rows| rows.first().map_or(0, |row| row.try_get(0).unwrap()));
                (open as Box<dyn OpenTransaction>, number.map_err(Into::into))
            })
        }
    };
}

mod embedded;
mod servers;

use std::process::ExitCode;

use evento_runtime::conformance::{Case, Fixture, cases, transaction_cases};
use futures_util::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};

/// A case that waits for ever is a failure of its own.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(60);

/// Makes a new, empty store, or says why there is none.
struct Backend {
    name: &'static str,
    transactions: bool,
    open: Result<fn() -> BoxFuture<'static, Fixture>, String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for backend in embedded::backends().into_iter().chain(servers::backends()) {
        if let Err(reason) = &backend.open {
            evento_tests::ignored(&format!("{}: {reason}", backend.name));
        }
        let more = if backend.transactions { transaction_cases() } else { Vec::new() };
        trials.extend(cases().into_iter().chain(more).map(|case| trial(&backend, case)));
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
