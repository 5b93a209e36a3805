//! What the macros write, as files: `tests/expansion/NAME.rs` becomes `NAME.expanded.rs`. They are reviewed like code.
//! `EVENTO_BLESS=1` writes them anew.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;

use evento_tests::fixture::{Fixture, workspace};

const CASES: [&str; 8] = ["block", "function", "event", "mistake", "saga", "observer", "transaction", "batch"];

#[test]
fn expansions_are_as_reviewed() {
    let folder = workspace().join("tests/expansion");
    let mut manifest = "edition = \"2024\"\nautoexamples = false\n".to_owned();
    let mut files = vec![("src/lib.rs".to_owned(), String::new())];
    for name in CASES {
        manifest.push_str(&format!("[[example]]\nname = {name:?}\npath = \"{name}.rs\"\ncrate-type = [\"lib\"]\n"));
        // Written anew each time, so that cargo runs the compiler each time.
        files.push((format!("{name}.rs"), fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap()));
    }
    manifest.push_str("[dependencies]\nevento-runtime = { RUNTIME, features = [\"macros\"] }\n");
    manifest.push_str("serde = { version = \"1\", features = [\"derive\"] }\n");
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let fixture = Fixture::new(env!("CARGO_TARGET_TMPDIR"), "expansion", &manifest, &files).unwrap();

    for name in CASES {
        let output = fixture.cargo(&["check", "--example", name], &[("EVENTO_MACROS_DEBUG", "1")]).unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        let expansion = expansions(&printed);
        assert!(!expansion.is_empty(), "{name} printed nothing:\n{printed}");
        let path = folder.join(format!("{name}.expanded.rs"));
        if std::env::var_os("EVENTO_BLESS").is_some() {
            fs::write(path, expansion).unwrap();
            continue;
        }
        let reviewed = fs::read_to_string(&path).unwrap();
        assert!(
            squeezed(&expansion) == squeezed(&reviewed),
            "{} is not what the macros write now:\n{expansion}",
            path.display()
        );
    }
}

/// The budget of a handler: one call, under 20 lines.
#[test]
fn a_handler_is_one_small_row() {
    // A saga's handler says besides what finds its instance.
    for (name, handlers, budget) in [("block", 3, 20), ("saga", 3, 28)] {
        let text = fs::read_to_string(workspace().join(format!("tests/expansion/{name}.expanded.rs"))).unwrap();
        let rows: Vec<&str> = text.split("::handler::").skip(1).collect();
        assert_eq!(rows.len(), handlers);
        // What is split off the next row is no line of this one.
        let lines = rows[0].lines().count() - 1;
        assert!(lines < budget, "{lines} lines:\n{}", rows[0]);
    }
}

fn expansions(printed: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in printed.lines() {
        inside |= line.starts_with("// #[") && line.ends_with("writes:");
        if inside {
            out.push_str(line);
            out.push('\n');
        }
        inside &= line != "// end";
    }
    out
}

/// Without what one rustfmt does and another does not.
fn squeezed(code: &str) -> String {
    let mut code: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    for closing in [")", "]", "}"] {
        code = code.replace(&format!(",{closing}"), closing);
    }
    code
}
