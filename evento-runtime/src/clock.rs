//! The one place that asks for the time.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::event::Timestamp;

/// Wall clock and monotonic clock of a bundle. Replaceable for simulation.
pub trait Clock: Send + Sync + 'static {
    /// The time of day. Never used to decide about ownership or holes: that time is the database's.
    fn now(&self) -> Timestamp;

    /// The monotonic clock, which follows tokio's so that paused time works.
    fn instant(&self) -> Instant {
        Instant::now()
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "this is `clock`")]
        let now = SystemTime::now();
        let since = now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Real monotonic time, also where tokio's is paused: for ownership and for measuring.
#[must_use]
pub fn monotonic() -> std::time::Instant {
    #[expect(clippy::disallowed_methods, reason = "this is `clock`")]
    std::time::Instant::now()
}

/// `delay` from now; a delay that no clock can hold is a year.
#[must_use]
pub fn later(delay: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);
    let now = Instant::now();
    now.checked_add(delay).unwrap_or_else(|| now + YEAR)
}

/// A clock to share.
pub type SharedClock = Arc<dyn Clock>;
