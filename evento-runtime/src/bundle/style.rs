//! How a report looks where it is read: its width, and whether something stands out.

use std::ffi::OsStr;
use std::fmt;
use std::io::IsTerminal as _;

/// Where lines are broken when nobody says.
const WIDTH: usize = 100;
/// Narrower than this, every line would be a word.
const NARROW: usize = 40;

/// The look of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Lines are broken before this column; `None`: not at all.
    pub(super) width: Option<usize>,
    bold: bool,
}

impl Style {
    /// What a formatter asks for: plain text, since it does not say where the text goes.
    pub(super) fn of(f: &fmt::Formatter<'_>) -> Self {
        Self { width: if f.alternate() { None } else { Some(f.width().unwrap_or(WIDTH)) }, bold: false }
    }

    /// For what `main` prints.
    pub(crate) fn of_stderr() -> Self {
        Self::for_terminal(std::io::stderr().is_terminal(), |name| std::env::var_os(name))
    }

    fn for_terminal<T: AsRef<OsStr>>(terminal: bool, variable: impl Fn(&str) -> Option<T>) -> Self {
        let plain = Self { width: Some(WIDTH), bold: false };
        if !terminal {
            return plain;
        }
        // A shell exports it only where it was told to.
        let columns = variable("COLUMNS").and_then(|columns| columns.as_ref().to_str()?.parse().ok());
        let unwanted = variable("NO_COLOR").is_some_and(|value| !value.as_ref().is_empty());
        let dumb = variable("TERM").is_some_and(|value| value.as_ref() == "dumb");
        Self { width: Some(columns.unwrap_or(WIDTH).clamp(NARROW, WIDTH)), bold: !unwanted && !dumb }
    }

    /// `text` so that it stands out. Bold, not a colour of ours: every terminal's own colours stay readable.
    pub(super) fn strong(self, text: &str) -> String {
        if self.bold { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{LaunchError, Problem};

    fn styled(terminal: bool, variables: &[(&str, &'static str)]) -> Style {
        Style::for_terminal(terminal, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    #[test]
    fn only_a_terminal_that_wants_it_gets_more_than_text() {
        assert_eq!(styled(false, &[("COLUMNS", "60")]), Style { width: Some(100), bold: false });
        assert_eq!(styled(true, &[("NO_COLOR", ""), ("TERM", "xterm")]), Style { width: Some(100), bold: true });
        assert!(!styled(true, &[("NO_COLOR", "1")]).bold);
        assert!(!styled(true, &[("TERM", "dumb")]).bold);
        let widths = ["60", "7", "500", "wide"].map(|columns| styled(true, &[("COLUMNS", columns)]).width);
        assert_eq!(widths, [Some(60), Some(40), Some(100), Some(100)]);
    }

    #[test]
    fn a_terminal_sees_the_code_and_the_help_first() {
        let problem = Problem {
            code: "unknown-executor",
            message: "one two three four five six seven".to_owned(),
            location: None,
            help: Some("eight".to_owned()),
        };
        let error = LaunchError { bundle: "orders".to_owned(), problems: vec![problem] };
        let print = |style| {
            let mut text = String::new();
            error.write(&mut text, style).unwrap();
            text
        };
        let bold = print(styled(true, &[("COLUMNS", "44")]));
        assert!(bold.contains("  1. \u{1b}[1m[unknown-executor]\u{1b}[0m one"), "{bold:?}");
        assert!(bold.contains("\n     \u{1b}[1mhelp:\u{1b}[0m eight"), "{bold:?}");
        // What makes it stand out takes no room on the line.
        let plain = print(Style { width: Some(44), bold: false });
        assert_eq!(bold.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), plain);
    }
}
