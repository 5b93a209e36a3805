//! What the parent asks for, as environment variables.

use std::path::PathBuf;
use std::str::FromStr;

/// See `tests/crash/child.rs`, which sets them.
pub(crate) struct Settings {
    /// Components by name, with commas.
    pub(crate) components: String,
    /// A file of SQLite, or a URL of PostgreSQL.
    pub(crate) db: String,
    /// On PostgreSQL: the schema.
    pub(crate) schema: Option<String>,
    #[cfg(feature = "postgres")]
    pub(crate) lease: std::time::Duration,
    /// Kind and size of the executor.
    pub(crate) executor: Option<(String, usize)>,
    pub(crate) on_start: bool,
    pub(crate) window: usize,
    pub(crate) checkpoint_every: Option<usize>,
    pub(crate) unclean_ends: Option<u32>,
    /// Keys that were given up stand, and are tried again all the time.
    pub(crate) parks: bool,
    /// A number of this run, for the table of effects.
    pub(crate) run: i64,
    /// Where every handler that begins is noted.
    pub(crate) journal: Option<PathBuf>,
    /// Events to append before anything is killed.
    pub(crate) append: u64,
    /// How many keys they have.
    pub(crate) keys: u64,
    /// Appends more and more, so that it never runs out of work.
    pub(crate) feed: bool,
    /// Fewer never wait for their turn then.
    pub(crate) ahead: u64,
    /// A file whose lines are the payloads.
    pub(crate) data: Option<PathBuf>,
    /// Stop cleanly once everything is settled.
    pub(crate) drain: bool,
    /// The longest that a handler takes, in microseconds.
    pub(crate) slowest: u64,
    /// The component and position whose handler ends the process: `loop@57`.
    pub(crate) die: Option<(String, u64)>,
    pub(crate) fail: Fail,
}

/// Which handlers fail.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fail {
    Never,
    /// Every first attempt.
    First,
    /// The first attempt of some, so that what shares their transaction is undone and runs again.
    Some,
    /// Some above a position, for good: what is not above it is healed.
    Above(u64),
}

fn text(name: &str) -> Option<String> {
    std::env::var(format!("CRASH_{name}")).ok()
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    text(name).and_then(|text| text.parse().ok())
}

fn pair<T: FromStr>(name: &str, between: char) -> Option<(String, T)> {
    let text = text(name)?;
    let (left, right) = text.split_once(between)?;
    Some((left.to_owned(), right.parse().ok()?))
}

impl Settings {
    pub(crate) fn read() -> Self {
        let fail = match text("FAIL").as_deref() {
            None => Fail::Never,
            Some("first") => Fail::First,
            Some("some") => Fail::Some,
            Some(above) => Fail::Above(above.parse().unwrap()),
        };
        Self {
            components: std::env::args().nth(1).unwrap(),
            db: text("DB").unwrap(),
            schema: text("SCHEMA"),
            #[cfg(feature = "postgres")]
            lease: std::time::Duration::from_millis(setting("LEASE").unwrap_or(10_000)),
            executor: pair("EXECUTOR", ':'),
            on_start: setting("ON_START").unwrap_or_default(),
            window: setting("WINDOW").unwrap_or(1_024),
            checkpoint_every: setting("CHECKPOINT_EVERY"),
            unclean_ends: setting("UNCLEAN_ENDS"),
            parks: setting("PARKS").unwrap_or_default(),
            run: setting("RUN").unwrap_or_default(),
            journal: setting("JOURNAL"),
            append: setting("APPEND").unwrap_or_default(),
            keys: setting("KEYS").unwrap_or(40),
            feed: setting("FEED").unwrap_or_default(),
            ahead: setting("AHEAD").unwrap_or(200),
            data: setting("DATA"),
            drain: setting("DRAIN").unwrap_or_default(),
            slowest: setting("SLOWEST").unwrap_or(2_500),
            die: pair("DIE", '@'),
            fail,
        }
    }
}
