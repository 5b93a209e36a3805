//! What the macros write is silent under strict lints, in every edition, and under any name of the crate.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::process::Command;

use evento_tests::fixture::{Fixture, said, workspace};

const DEPENDENCIES: &str = "[dependencies]\nNAME = { RUNTIME, features = [\"macros\"] }\nserde = { version = \"1\", features = [\"derive\"] }\n";

/// B110, B121.
#[test]
fn silent_in_every_edition() {
    let tool = linter();
    for edition in ["2018", "2021", "2024"] {
        let manifest = format!(
            "edition = \"{edition}\"\n[lib]\npath = {:?}\n{}",
            workspace().join("tests/clean/lib.rs"),
            DEPENDENCIES.replace("NAME", "evento-runtime")
        );
        check(&format!("clean-{edition}"), &manifest, tool);
    }
}

/// B108.
#[test]
fn under_another_name() {
    let manifest = format!(
        "edition = \"2024\"\n[lib]\npath = {:?}\n{}",
        workspace().join("tests/clean/renamed.rs"),
        DEPENDENCIES.replace("NAME = {", "ev = { package = \"evento-runtime\",")
    );
    check("renamed", &manifest, linter());
}

fn check(name: &str, manifest: &str, tool: &str) {
    let fixture = Fixture::new(env!("CARGO_TARGET_TMPDIR"), name, manifest, &[]).unwrap();
    let output = fixture.cargo(&[tool, "--message-format=json"], &[]).unwrap();
    // Warnings about the runtime itself are its own affair.
    let target = name.replace('-', "_");
    let all: String =
        said(&output).into_iter().filter(|said| said.target == target).map(|said| said.rendered).collect();
    assert!(output.status.success() && all.is_empty(), "{name}:\n{all}{}", String::from_utf8_lossy(&output.stderr));
}

/// Without clippy the compiler's own lints have to do, and the log says so.
fn linter() -> &'static str {
    let clippy = Command::new("cargo").args(["clippy", "--version"]).output();
    if clippy.is_ok_and(|output| output.status.success()) {
        return "clippy";
    }
    assert!(std::env::var_os("CI").is_none(), "clippy is not installed");
    println!("skipped: clippy lints (clippy is not installed)");
    "check"
}
