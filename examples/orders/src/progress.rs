//! A bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Where a log is a file, a line each two seconds is enough.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows how far something has come.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    last: Instant,
}

impl Progress {
    pub(crate) fn new(total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} events  {per_sec}  {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(total).with_style(style)
        });
        Self { bar, total, last: now() }
    }

    /// `done` of the total are projected.
    pub(crate) fn show(&mut self, done: u64, state: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(done.min(self.total));
            bar.set_message(state.to_owned());
        } else if self.last.elapsed() >= LINE_EVERY {
            self.last = now();
            println!("{done}/{} events  {state}", self.total);
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The one place of this example that asks for the time.
pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "an example measures itself; the engine has its clock")]
    Instant::now()
}
