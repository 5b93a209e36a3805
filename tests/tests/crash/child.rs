//! The process that is killed: what it is told, and how it ends.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::WINDOW;
use crate::judge::Judge;

/// Settings of one process: those of all rounds, and its own.
#[derive(Clone)]
pub(crate) struct Run {
    components: &'static str,
    settings: BTreeMap<&'static str, String>,
}

impl Run {
    /// Components by name: `loop`, `pool`, `functions`, `saga`, `observer`; in the framework's transaction `loop-tx`,
    /// `pool-tx`, `batch-tx`.
    pub(crate) fn of(components: &'static str, judge: &Judge) -> Self {
        let run = Self { components, settings: BTreeMap::new() };
        judge.place(run).set("JOURNAL", judge.journal().display()).set("WINDOW", WINDOW)
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl Display) -> Self {
        self.settings.insert(name, value.to_string());
        self
    }

    pub(crate) fn round(&self, run: usize) -> Self {
        self.clone().set("RUN", run)
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash_child"));
        command.arg(self.components);
        for (name, value) in &self.settings {
            command.env(format!("CRASH_{name}"), value);
        }
        command.stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Kills it some time after it has said `word`.
    pub(crate) fn kill_after(&self, word: &str, wait: Duration) {
        let mut child = self.spawn();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.by_ref().map_while(Result::ok).any(|line| line == word);
        assert!(said, "it ended before it was killed");
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// It ends itself.
    pub(crate) fn dies(&self) {
        assert!(!self.spawn().wait_with_output().unwrap().status.success(), "it has lived");
    }

    /// Lets it settle everything; answers how many dead letters there were.
    pub(crate) fn drain(self) -> u64 {
        let output = self.set("DRAIN", true).spawn().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().unwrap();
        last.strip_prefix("drained, ").unwrap().split(' ').next().unwrap().parse().unwrap()
    }
}
