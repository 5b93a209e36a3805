//! Every mistake is told once, in our sentence, on the user's own token.
//!
//! A file of `tests/ui` is a crate full of mistakes. Below a line stands what the compiler must say about it: carets
//! under the token (`@1+8` where a caret has no room), then the whole first line of the message. Nothing else may be said. Where the sentence is not
//! ours, `rustc` stands in its place. `EVENTO_BLESS=1` writes the annotations anew.
//!
//! So no message of a compiler is compared (trap 17), and nothing is said twice or besides (B109, B117, traps 3 and 8).
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use evento_tests::fixture::{Fixture, Said, said, workspace};

const FILES: [&str; 18] = [
    "options",
    "block",
    "function",
    "event",
    "types",
    "stray",
    "link",
    "habits",
    "unknown",
    "shapes",
    "accepted",
    "warnings",
    "saga",
    "observer",
    "reset",
    "transaction",
    "accepted_transactions",
    "batch",
];

/// What the traits of evento make the compiler say.
const OURS: [&str; 10] = [
    "is not an event",
    "cannot be extracted",
    "cannot return",
    "cannot join",
    "cannot be the key",
    "cannot be a provided value",
    "is not a component",
    "cannot be the association",
    "cannot be the state",
    "is not a database",
];

/// Sentences without a code that are not ours all the same.
const THEIRS: [&str; 6] = [
    "expected a trait impl",
    "in this context need a name",
    "in this scope",
    "cannot be both",
    "expected derive macro",
    "expected attribute",
];

const MARK: &str = "//~";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    line: u64,
    column: u64,
    length: u64,
    message: String,
}

#[test]
fn every_mistake_is_one_sentence_on_its_own_token() {
    let folder = workspace().join("tests/ui");
    let mut manifest = "edition = \"2024\"\nautoexamples = false\n".to_owned();
    for name in FILES {
        writeln!(manifest, "[[example]]\nname = {name:?}\npath = {:?}", folder.join(format!("{name}.rs"))).unwrap();
    }
    manifest.push_str(
        "[dependencies]\nevento-runtime = { RUNTIME, features = [\"macros\"] }\nasync-trait = \"0.1\"\n\
         serde = { version = \"1\", features = [\"derive\"] }\ntracing = { version = \"0.1\", features = [\"attributes\"] }\n",
    );
    let fixture = Fixture::new(env!("CARGO_TARGET_TMPDIR"), "ui", &manifest, &[("src/lib.rs", "")]).unwrap();
    let output = fixture.cargo(&["check", "--examples", "--keep-going", "--message-format=json"], &[]).unwrap();
    let mut by_file: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    let counts =
        |message: &Said| message.level == "error" || ["warnings.rs", "accepted.rs"].contains(&message.file.as_str());
    for message in said(&output).into_iter().filter(counts) {
        by_file.entry(message.file.clone()).or_default().push(message);
    }
    assert!(!by_file.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));

    let mut cases = 0;
    let mut wrong = String::new();
    for name in FILES {
        let path = folder.join(format!("{name}.rs"));
        let text = fs::read_to_string(&path).unwrap();
        let mut actual = by_file.remove(&format!("{name}.rs")).unwrap_or_default();
        actual.sort();
        if std::env::var_os("EVENTO_BLESS").is_some() {
            fs::write(&path, annotated(&text, &actual)).unwrap();
            continue;
        }
        for said in actual.iter().filter(|said| said.message.contains("future cannot be sent")) {
            assert!(said.rendered.contains("ready(()).await"), "no note at the user's await: {}", said.rendered);
        }
        let expected = expected(&text);
        cases += expected.len();
        compare(name, expected, actual, &mut wrong);
    }
    assert!(by_file.is_empty(), "messages in files without cases: {by_file:#?}");
    assert!(wrong.is_empty(), "\n{wrong}");
    println!("{cases} mistakes, each told once");
}

fn compare(name: &str, mut expected: Vec<Expected>, actual: Vec<Said>, wrong: &mut String) {
    for said in actual {
        let here = |expected: &Expected| expected.line == said.line;
        let ours = |expected: &Expected| {
            here(expected)
                && expected.message == said.message
                && expected.column == said.column
                // How far the compiler underlines is its own affair; and of its own sentences also where on the line.
                && (said.own || said.length.is_none_or(|length| expected.length == length))
        };
        let theirs = |expected: &Expected| here(expected) && expected.message == "rustc";
        match expected.iter().position(ours).or_else(|| expected.iter().position(theirs)) {
            Some(index) => {
                expected.remove(index);
            }
            None => {
                writeln!(wrong, "{name}.rs:{}:{} not expected:\n{}", said.line, said.column, said.rendered).unwrap();
            }
        }
    }
    for Expected { line, column, length, message } in expected {
        writeln!(wrong, "{name}.rs:{line}:{column} (+{length}) not said: {message}").unwrap();
    }
}

fn expected(text: &str) -> Vec<Expected> {
    let mut line_above = 0;
    let mut expected = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(annotation) = line.trim_start().strip_prefix(MARK) else {
            line_above = number;
            continue;
        };
        let (place, message) = annotation.trim_start().split_once(' ').unwrap();
        let (column, length) = match place.strip_prefix('@').and_then(|place| place.split_once('+')) {
            Some((column, length)) => (column.parse().unwrap(), length.parse().unwrap()),
            None => {
                let indent = line.chars().position(|c| c == '^').unwrap_or_else(|| panic!("no caret in line {number}"));
                (u64::try_from(indent).unwrap() + 1, u64::try_from(place.len()).unwrap())
            }
        };
        expected.push(Expected { line: line_above, column, length, message: message.to_owned() });
    }
    expected
}

/// `text` with the annotations that `actual` asks for.
fn annotated(text: &str, actual: &[Said]) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with(MARK) {
            continue;
        }
        writeln!(out, "{line}").unwrap();
        for said in actual.iter().filter(|said| said.line == number) {
            let rest = u64::try_from(line.chars().count()).unwrap() + 1 - said.column;
            let length = said.length.unwrap_or(rest).max(1);
            let column = usize::try_from(said.column).unwrap();
            let (indent, carets) = match column.checked_sub(MARK.len() + 1) {
                Some(indent) => (" ".repeat(indent), "^".repeat(usize::try_from(length).unwrap())),
                None => (String::new(), format!("@{column}+{length}")),
            };
            let has = |phrases: &[&str]| phrases.iter().any(|phrase| said.message.contains(phrase));
            let ours = if said.own { has(&OURS) } else { !has(&THEIRS) };
            writeln!(out, "{MARK}{indent}{carets} {}", if ours { &said.message } else { "rustc" }).unwrap();
        }
    }
    out
}
