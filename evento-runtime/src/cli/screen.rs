//! What is printed, and where. All stored text is hostile until it is escaped.

use std::fmt::Write as _;
use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::command::Answer;
use super::fault::{Exit, Fault};

/// How much of a text fits into a cell of a table.
const CELL: usize = 60;

/// Where answers go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    /// For scripts.
    pub(super) json: bool,
}

impl Screen {
    pub(super) fn answer(self, answer: &Answer) -> ExitCode {
        let text = if self.json { document(&answer.document) } else { answer.text.clone() };
        print(&text);
        answer.exit.into()
    }

    pub(super) fn fault(self, fault: &Fault) -> ExitCode {
        let text = if self.json {
            document(&json!({ "error": fault.code, "message": masked(&fault.message) }))
        } else {
            format!("error: {}\n", plain(&masked(&fault.message)))
        };
        complain(&text);
        fault.exit.into()
    }
}

/// What the parser of the arguments has to say: help, or what is wrong with them.
pub(super) fn parse_failed(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() {
        complain(&lines(&masked(&text)));
        Exit::Usage.into()
    } else {
        print(&text);
        Exit::Done.into()
    }
}

/// Whoever reads may have gone: that is no fault, and changes nothing of what was done.
fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn complain(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

/// JSON, indented, in which nothing but the line breaks between its parts is a control character.
fn document(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut safe = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if c != '\n' && is_hostile(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a `String` cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe.push('\n');
    safe
}

/// What a terminal would take for an order, or for another direction of text.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{fff9}'..='\u{fffb}')
}

/// Text on one line: what is hostile is written as an escape.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_hostile(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Text on as many lines as it has.
pub(super) fn lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Text for a table: one line, and not too long.
pub(super) fn cell(text: &str) -> String {
    // What is cut off is not escaped first: it may be megabytes.
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(CELL).collect();
    let cut = if chars.next().is_some() { "…" } else { "" };
    format!("{}{cut}", plain(&head))
}

/// Without passwords in URLs, whoever has put them there.
pub(super) fn masked(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        safe.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/?#'\"`<>".contains(c)).unwrap_or(after.len());
        // A password may hold what it should have encoded: everything up to the last `@` of the word is taken for one.
        let word = after.find(char::is_whitespace).unwrap_or(after.len());
        let user = after[..end].rfind('@').or_else(|| after[..word].rfind('@'));
        if user.is_some() {
            safe.push_str("•••");
        }
        rest = &after[user.unwrap_or(0)..];
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn orders_to_a_terminal_are_written_out() {
        assert_eq!(plain("a\n\u{1b}[31m\u{9b}2J\u{7}"), "a\\n\\u{1b}[31m\\u{9b}2J\\u{7}");
        assert_eq!(plain("über 日本 🎉"), "über 日本 🎉");
        assert_eq!(plain("\u{202e}evil\u{2066}"), "\\u{202e}evil\\u{2066}");
        assert_eq!(lines("a\n\tb"), "a\n\\tb");
        assert_eq!(cell(&"x".repeat(500)).chars().count(), CELL + 1);
    }

    #[test]
    fn passwords_are_masked() {
        for (text, expected) in [
            ("postgres://app:secret@db/shop", "postgres://•••@db/shop"),
            ("two: http://u:p@a, mysql://x:s/e@c@b/", "two: http://•••@a, mysql://•••@b/"),
            ("http://127.0.0.1:80/a@b", "http://•••@b"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    proptest! {
        #[test]
        fn json_stays_what_it_was_without_control_characters(text in ".*") {
            let value = json!({ "text": text, "c1": "\u{9b}\u{85}\u{7f}\u{e0041}" });
            let written = document(&value);
            prop_assert!(!written.chars().any(|c| c != '\n' && is_hostile(c)));
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }

        #[test]
        fn nothing_hostile_is_left(text in "\\PC*|.*") {
            prop_assert!(!plain(&text).chars().any(is_hostile));
            let _ = masked(&text);
        }
    }
}
