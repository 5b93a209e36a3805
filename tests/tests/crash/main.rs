//! Real processes, really killed. What was lost and what is there twice is asked of the database with plain SQL; what ran
//! again, of a file in which every handler that begins is noted.
//!
//! ```text
//! EVENTO_LONG=1 cargo nextest run -p evento-tests --features postgres,mysql --test crash --no-capture
//! ```
//!
//! prints a line for each store, way to run, and with and without the framework's transaction. `CRASH_SEED` repeats the
//! moments at which processes are killed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, clippy::disallowed_methods, reason = "tests")]

mod child;
mod ends;
mod journal;
mod judge;
mod kills;
mod kinds;
mod on_start;
mod parked;

/// Of every run: small, so that it matters.
const WINDOW: usize = 64;

/// Seeded, so that a failing round can be run again; the seed is printed.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("CRASH_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A few rounds, or the full count.
fn rounds(few: usize, full: usize) -> usize {
    if evento_tests::long() { full } else { few }
}
