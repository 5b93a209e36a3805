//! The table of this module, held against the sources.

use std::collections::BTreeSet;

use crate::reported::table::{is_test, numbered_tests, rows};

/// Numbers up to 68 that the list has.
const NUMBERS: [u32; 50] = [
    1, 2, 4, 5, 7, 8, 9, 10, 11, 13, 14, 16, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 30, 31, 32, 34, 35, 37, 39, 40,
    41, 42, 43, 45, 46, 47, 49, 50, 51, 53, 54, 56, 57, 59, 61, 62, 63, 65, 67, 68,
];

#[test]
fn every_fault_that_others_met_has_its_tests() {
    let rows = rows(include_str!("mod.rs"), 'B');
    let expected: BTreeSet<String> = NUMBERS.iter().map(|number| format!("{number:02}")).collect();
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (number, tests) in &rows {
        assert!(!tests.is_empty(), "B{number} names no test");
        for test in tests {
            assert!(is_test(test), "B{number} names {test}, which is no test");
        }
    }
    assert!(numbered_tests("met", &rows, 'b') >= 5);
}
