//! The table of this module, held against the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Numbers of a table, each with the tests named beside it. `letter` is what the numbers begin with.
pub(crate) fn rows(text: &str, letter: char) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    let begin = format!("//! | {letter}");
    let numbered = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    for line in text.lines().filter_map(|line| line.strip_prefix(&begin)).filter(numbered) {
        let cells: Vec<&str> = line.trim_end_matches('|').split(" | ").map(str::trim).collect();
        let [number, scenario, answer, tests] = cells[..] else { panic!("not four cells: {line}") };
        assert!(!scenario.is_empty() && answer.ends_with('.'), "{line}");
        let named = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let before = rows.insert(number.to_owned(), named);
        assert!(before.is_none(), "{letter}{number} is there twice");
    }
    rows
}

/// Whether `path::name` is a test, of the runtime's own where the path begins with `runtime`, or a case of the
/// conformance suite.
pub(crate) fn is_test(named: &str) -> bool {
    let Some((path, name)) = named.rsplit_once("::") else { return false };
    let own = match path.strip_prefix("runtime/") {
        Some(path) => format!("{}/../evento-runtime/src/{path}.rs", env!("CARGO_MANIFEST_DIR")),
        None => format!("{}/tests/{path}.rs", env!("CARGO_MANIFEST_DIR")),
    };
    if let Ok(text) = fs::read_to_string(own) {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let function = format!("fn {name}(");
        return lines.iter().enumerate().any(|(at, line)| {
            let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with('#'));
            line.contains(&function) && attributes.into_iter().any(|line| line.contains("test"))
        });
    }
    let Some(spi) = path.strip_prefix("conformance/") else { return false };
    evento_runtime::conformance::cases().iter().any(|case| case.spi == spi && case.name == name)
}

#[test]
fn every_reported_fault_has_its_tests() {
    let rows = rows(include_str!("mod.rs"), 'F');
    let numbers = (1..=48).filter(|number| !(37..=40).contains(number)).map(|number| number.to_string());
    let expected: BTreeSet<String> = numbers.chain(["16b".to_owned()]).collect();
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (number, tests) in &rows {
        assert!(number == "43" || !tests.is_empty(), "F{number} names no test");
        for test in tests {
            assert!(is_test(test), "F{number} names {test}, which is no test");
        }
    }
}

#[test]
fn every_test_with_a_number_is_in_its_row() {
    assert!(numbered_tests("reported", &rows(include_str!("mod.rs"), 'F'), 'f') > 30);
}

/// How many tests of a folder begin with `letter` and a number; each has to be in the row of that number.
pub(crate) fn numbered_tests(folder: &str, rows: &BTreeMap<String, Vec<String>>, letter: char) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine").join(folder);
    let begin = format!("async fn {letter}");
    let mut found = 0;
    for file in fs::read_dir(path).unwrap() {
        let path = file.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Some(name) = line.strip_prefix(&begin).and_then(|rest| rest.split('(').next()) else { continue };
            let Some(number) = name.split('_').next().filter(|number| number.starts_with(|c: char| c.is_ascii_digit()))
            else {
                continue;
            };
            let row = rows.iter().find(|(of, _)| of.trim_start_matches('0') == number.trim_start_matches('0'));
            let (_, tests) = row.unwrap_or_else(|| panic!("no row for {letter}{name}"));
            let named = format!("engine/{folder}/{module}::{letter}{name}");
            assert!(tests.contains(&named), "{letter}{name} is not in its row");
            found += 1;
        }
    }
    found
}

#[test]
fn a_test_that_is_not_there_is_found_out() {
    assert!(is_test("engine/head::an_empty_log_is_no_reason_to_wait"));
    assert!(is_test("conformance/lock::epochs_grow"));
    assert!(is_test("runtime/policy::backoff_never_overflows_and_keeps_its_bounds"));
    assert!(!is_test("runtime/policy::backoff"), "a function is no test");
    assert!(!is_test("engine/head::an_empty_log_is_no_reason"));
    assert!(!is_test("engine/nowhere::an_empty_log_is_no_reason_to_wait"));
    assert!(!is_test("engine/scripted::bundle"), "a helper is no test");
    assert!(!is_test("conformance/lock::nothing"));
}
