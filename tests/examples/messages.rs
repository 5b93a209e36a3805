//! Every message of the macros and of the launch, with the mistake that causes it, as a table.
//!
//! ```text
//! EVENTO_MESSAGES=target/said cargo test -p evento-tests --test launch --test linkage
//! cargo run -p evento-tests --example messages -- target/said
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for those who judge the messages")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use evento_tests::fixture::workspace;

fn main() {
    println!("## While compiling\n\n| mistake | message, on that token |\n|---|---|");
    let mut told = BTreeSet::new();
    for name in ["options", "block", "function", "event", "types", "stray", "link", "habits", "unknown", "shapes"] {
        println!("| **{name}.rs** | |");
        let text = fs::read_to_string(workspace().join("tests/ui").join(name).with_extension("rs")).unwrap();
        compile_time(&text, &mut told);
    }
    println!("\nWhere the compiler's own sentence is the best there is, nothing of ours is said.");
    let Some(said) = std::env::args().nth(1) else { return };
    println!("\n## At the launch\n");
    launch(&fs::read_to_string(Path::new(&said)).unwrap());
}

/// The line above an annotation, with the token marked; one row per sentence.
fn compile_time(text: &str, told: &mut BTreeSet<String>) {
    let mut above = "";
    for line in text.lines() {
        let Some(annotation) = line.trim_start().strip_prefix("//~") else {
            above = line;
            continue;
        };
        let (place, message) = annotation.trim_start().split_once(' ').unwrap();
        let (from, length) = match place.strip_prefix('@').and_then(|place| place.split_once('+')) {
            Some((column, length)) => (column.parse::<usize>().unwrap() - 1, length.parse().unwrap()),
            None => (line.chars().position(|c| c == '^').unwrap(), place.len()),
        };
        // The same sentence about another name is no other message.
        let shape: String = message.split('`').step_by(2).collect();
        if message == "rustc" || !told.insert(shape) {
            continue;
        }
        // Of a long line the option that is meant, from the comma before it.
        let line: Vec<char> = above.chars().collect();
        let begin = line[..from].iter().rposition(|c| matches!(c, ',' | '(')).map_or(from, |comma| comma + 1);
        let option: String = line[begin..(from + length).min(line.len())].iter().collect();
        let mistake = if above.trim().len() > 70 { option.trim().to_owned() } else { above.trim().to_owned() };
        println!("| `{}` | {} |", cell(&mistake), cell(message));
    }
}

/// By code: the paragraph of the documentation, and what was said of it.
fn launch(said: &str) {
    let mut rows: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for line in said.lines() {
        let mut parts = line.splitn(3, '\t');
        rows.insert((parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap()));
    }
    let page = fs::read_to_string(workspace().join("evento-runtime/src/bundle/problems.md")).unwrap();
    for part in page.split("\n# ").filter(|part| !part.trim().is_empty()) {
        let mut sections = part.trim().split("\n### ");
        println!(
            "**{}**\n\n| code, cause | message | help |\n|---|---|---|",
            sections.next().unwrap().trim().trim_start_matches("# ")
        );
        for section in sections {
            let (code, cause) = section.split_once('\n').unwrap();
            println!("| `{code}`: {} | | |", cell(&cause.split_whitespace().collect::<Vec<_>>().join(" ")));
            let mut told = BTreeSet::new();
            for (_, message, help) in rows.iter().filter(|(of, ..)| *of == code) {
                if told.insert(message.split('`').step_by(2).collect::<String>()) {
                    println!("| | {} | {} |", cell(message), cell(help));
                }
            }
        }
        println!();
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
