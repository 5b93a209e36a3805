//! The launch: one test per rule, whole reports, the plan, and from a plan to a process.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a test may")]

mod fake;
mod faults;
mod plan;
mod reports;
mod run;
mod shop;
mod warnings;

use evento_runtime::bundle::{Bundle, BundleBuilder, Problem};

use fake::Fake;

/// With a store and nothing else.
#[track_caller]
fn orders() -> BundleBuilder {
    Bundle::builder("orders").store(Fake::default())
}

/// The one problem of a wiring that is wrong in one way.
#[track_caller]
fn only(builder: BundleBuilder, code: &str) -> Problem {
    let mut problems = builder.build().expect_err("refused").problems;
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let problem = problems.remove(0);
    assert_eq!(problem.code, code);
    problem
}

/// The one warning with this code.
#[track_caller]
fn warning(builder: BundleBuilder, code: &str) -> Problem {
    let bundle = builder.build().expect("launches");
    let mut found = bundle.warnings().iter().filter(|warning| warning.code == code);
    let warning = found.next().unwrap_or_else(|| panic!("no {code} in {:#?}", bundle.warnings()));
    assert_eq!(found.next(), None);
    warning.clone()
}

#[track_caller]
fn place(problem: &Problem) -> String {
    problem.location.expect("a place").to_string()
}

#[track_caller]
fn help(problem: &Problem) -> &str {
    problem.help.as_deref().expect("help")
}
