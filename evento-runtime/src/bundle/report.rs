//! Everything wrong with a bundle, at once.

use std::fmt;

use serde_json::json;

use super::style::Style;
use super::text;
use crate::component::Location;

/// One thing that is wrong, or that one should know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Stable, for machines: `unknown-executor`. Each is explained in the documentation of [`bundle`](crate::bundle).
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The user's own line: of the handler, the component, or the call on the builder.
    pub location: Option<Location>,
    /// What would be right.
    pub help: Option<String>,
}

impl Problem {
    /// As JSON: `code`, `message`, `file`, `line`, `help`; `null` where there is none.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "code": self.code,
            "message": self.message,
            "file": self.location.map(|at| at.file),
            "line": self.location.map(|at| at.line),
            "help": self.help,
        })
    }

    pub(super) fn write(&self, f: &mut dyn fmt::Write, number: usize, style: Style) -> fmt::Result {
        let (code, help) = (style.strong(&format!("[{}]", self.code)), style.strong("help:"));
        text::wrapped(f, &format!("  {number}. {code} "), 5, &self.message, style.width)?;
        if let Some(location) = self.location {
            write!(f, "\n     --> {location}")?;
        }
        if let Some(text) = &self.help {
            f.write_str("\n")?;
            text::wrapped(f, &format!("     {help} "), 11, text, style.width)?;
        }
        Ok(())
    }
}

/// `[code] message (file:line); help`, on one line: as the log has it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.message)?;
        if let Some(location) = self.location {
            write!(f, " ({location})")?;
        }
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// A launch that was refused. `Debug` and `Display` print the report.
///
/// Lines are broken before column 100; `{:72}` breaks them before column 72, `{:#}` not at all. It ends without a line
/// break, as every message does. Inside of [`Error`](crate::Error), which `main` returns, a terminal gets it in bold
/// where that helps, and as wide as it says it is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchError {
    /// Name of the bundle.
    pub bundle: String,
    /// At least one, sorted by place.
    pub problems: Vec<Problem>,
}

impl LaunchError {
    /// As JSON: `bundle` and `problems`, see [`Problem::to_json`].
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "bundle": self.bundle,
            "problems": self.problems.iter().map(Problem::to_json).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn write(&self, f: &mut dyn fmt::Write, style: Style) -> fmt::Result {
        let problems = text::count(self.problems.len(), "problem");
        write!(f, "bundle `{}` cannot start: {problems}", text::harmless(&self.bundle))?;
        for (i, problem) in self.problems.iter().enumerate() {
            f.write_str("\n\n")?;
            problem.write(f, i + 1, style)?;
        }
        Ok(())
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style::of(f);
        self.write(f, style)
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LaunchError {}

/// Collects what the rules find.
#[derive(Debug, Default)]
pub(super) struct Report {
    code: &'static str,
    warning: bool,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Report {
    /// What is added from now on belongs to this rule.
    pub(super) const fn rule(&mut self, code: &'static str, warning: bool) {
        self.code = code;
        self.warning = warning;
    }

    /// Adds a finding of the current rule.
    pub(super) fn add(&mut self, location: Location, message: impl Into<String>) -> Finding<'_> {
        let list = if self.warning { &mut self.warnings } else { &mut self.problems };
        let message = text::one_line(message.into());
        list.push(Problem { code: self.code, message, location: Some(location), help: None });
        Finding(list)
    }

    /// The warnings, or everything that is wrong; both sorted by place.
    pub(super) fn finish(mut self, bundle: &str) -> Result<Vec<Problem>, LaunchError> {
        for list in [&mut self.problems, &mut self.warnings] {
            list.sort_by(|a, b| (a.location, a.code, &a.message).cmp(&(b.location, b.code, &b.message)));
            list.dedup();
        }
        if self.problems.is_empty() {
            Ok(self.warnings)
        } else {
            Err(LaunchError { bundle: bundle.to_owned(), problems: self.problems })
        }
    }
}

/// The finding that was just added.
pub(super) struct Finding<'a>(&'a mut Vec<Problem>);

impl Finding<'_> {
    /// Says what would be right.
    pub(super) fn help(self, help: impl Into<String>) {
        if let Some(problem) = self.0.last_mut() {
            problem.help = Some(text::one_line(help.into()));
        }
    }
}
