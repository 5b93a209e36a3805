//! The launch: one test per rule, whole reports, the plan, and from a plan to a process.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a test may")]

mod config;
mod fake;
mod faults;
mod kinds;
mod plan;
mod reports;
mod run;
mod shop;
mod transactions;
mod warnings;

use evento_runtime::bundle::{Bundle, BundleBuilder, Problem};

use fake::Fake;

/// With a store and nothing else.
#[track_caller]
fn orders() -> BundleBuilder {
    Bundle::builder("orders").store(Fake::default())
}

/// Everything that is wrong with a wiring.
#[track_caller]
fn problems(builder: BundleBuilder) -> Vec<Problem> {
    let problems = builder.build().expect_err("refused").problems;
    problems.iter().for_each(note);
    problems
}

fn note(problem: &Problem) {
    evento_tests::note_message(problem.code, &problem.message, problem.help.as_deref().unwrap_or_default());
}

/// The one problem of a wiring that is wrong in one way.
#[track_caller]
fn only(builder: BundleBuilder, code: &str) -> Problem {
    let mut problems = problems(builder);
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
    note(warning);
    warning.clone()
}

#[track_caller]
fn place(problem: &Problem) -> String {
    problem.location.expect("a place").to_string()
}

/// What a rule says is held by the test that has its name.
#[test]
fn every_rule_has_a_test_of_its_name() {
    let tests = [
        include_str!("config.rs"),
        include_str!("faults.rs"),
        include_str!("kinds.rs"),
        include_str!("warnings.rs"),
        include_str!("run.rs"),
        include_str!("transactions.rs"),
        include_str!("../../../evento-runtime/src/bundle/launch/mod.rs"),
    ]
    .concat();
    let codes: Vec<&str> = include_str!("../../../evento-runtime/src/bundle/problems.md")
        .lines()
        .filter_map(|l| l.strip_prefix("### "))
        .collect();
    assert!(codes.len() > 30);
    for code in codes {
        let name = code.replace('-', "_");
        assert!(tests.lines().any(|line| line.contains("fn ") && line.contains(&name)), "no test is called {name}");
    }
}

#[track_caller]
fn help(problem: &Problem) -> &str {
    problem.help.as_deref().expect("help")
}
