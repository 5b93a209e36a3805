//! `git log` into events.

use std::path::Path;
use std::process::Command;

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

/// Somebody recorded a change.
#[derive(Debug, Clone, Event, Serialize, Deserialize)]
#[event(name = "git.commit-recorded", key = author)]
pub(crate) struct CommitRecorded {
    /// Full hash.
    pub(crate) hash: String,
    /// Name of its author.
    pub(crate) author: String,
    /// Seconds since 1970.
    pub(crate) authored_at: i64,
    /// First line of the message.
    pub(crate) subject: String,
    /// Paths that changed against the first parent.
    pub(crate) files: Vec<String>,
}

/// A commit as git tells it.
pub(crate) struct Read(CommitRecorded);

impl Read {
    /// The same commit always gives the same event id.
    pub(crate) fn into_event(self) -> NewEvent {
        let id = EventId::foreign("git", &self.0.hash);
        NewEvent::from(self.0).id(id)
    }
}

/// Every commit that `HEAD` reaches, oldest first.
pub(crate) fn read(repository: &Path) -> evento_runtime::Result<Vec<Read>> {
    // Fields end with NUL, which no field can hold; a commit begins with a byte no path begins with.
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["log", "--reverse", "--topo-order", "-z", "--name-only", "--diff-merges=first-parent"])
        .args(["--format=%x01%H%x00%an%x00%at%x00%s%x00", "HEAD", "--"])
        .output()
        .map_err(|error| format!("`git` cannot be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`git log` in {} failed: {}", repository.display(), said.trim()).into());
    }
    // Names and paths need not be UTF-8; what is not is shown with a mark.
    let text = String::from_utf8_lossy(&output.stdout);
    text.split('\u{1}').skip(1).map(parse).collect()
}

fn parse(commit: &str) -> evento_runtime::Result<Read> {
    let mut fields = commit.split('\0');
    let mut next = || fields.next().map(str::to_owned).ok_or("`git log` answered in a form this program does not know");
    let (hash, author, authored_at, subject) = (next()?, next()?, next()?.parse()?, next()?);
    let files = fields.map(|file| file.trim_start_matches('\n')).filter(|file| !file.is_empty()).map(str::to_owned);
    let author: String = author.chars().take(60).collect();
    let author = if author.is_empty() { "(nobody)".to_owned() } else { author };
    Ok(Read(CommitRecorded { hash, author, authored_at, subject, files: files.collect() }))
}
