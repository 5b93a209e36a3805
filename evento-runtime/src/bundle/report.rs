//! Everything wrong with a bundle, at once.

use std::fmt;

use crate::component::Location;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Stable, for machines: `unknown-executor`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The user's own line.
    pub location: Option<Location>,
    /// What would be right.
    pub help: Option<String>,
}

/// A launch that was refused. `Debug` and `Display` print the report.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchError {
    /// Name of the bundle.
    pub bundle: String,
    /// At least one, sorted by place.
    pub problems: Vec<Problem>,
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.problems.len();
        write!(f, "bundle `{}` cannot start: {n} problem{}", self.bundle, if n == 1 { "" } else { "s" })?;
        for (i, problem) in self.problems.iter().enumerate() {
            write!(f, "\n\n  {}. [{}] {}", i + 1, problem.code, problem.message)?;
            if let Some(location) = problem.location {
                write!(f, "\n     --> {location}")?;
            }
            if let Some(help) = &problem.help {
                write!(f, "\n     help: {help}")?;
            }
        }
        writeln!(f)
    }
}

impl fmt::Debug for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for LaunchError {}
