//! What a store on a server can be told, whatever the server.

use std::time::Duration;

use crate::error::{StoreError, StoreErrorKind};

/// Sizes and times.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) writers: usize,
    pub(crate) readers: usize,
    pub(crate) transactions: usize,
    pub(crate) lease: Duration,
    pub(crate) renew: Option<Duration>,
    pub(crate) create: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { writers: 4, readers: 2, transactions: 8, lease: Duration::from_secs(10), renew: None, create: true }
    }
}

impl Settings {
    /// A little less than a third, so that two renewals may fail.
    pub(crate) fn renew_interval(&self) -> Duration {
        self.renew.unwrap_or(self.lease * 3 / 10)
    }

    pub(crate) fn lease_milliseconds(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }

    /// Refuses to open where fewer connections are allowed than there will be: later, some handler would find out.
    /// `listeners`: those that listen. `allowed`: what allows how many, where anything bounds them.
    pub(crate) fn check_room(
        &self,
        name: &str,
        listeners: usize,
        allowed: impl IntoIterator<Item = (String, i64)>,
    ) -> Result<(), StoreError> {
        let needed = self.writers + self.readers + 1 + self.transactions + listeners;
        let Some((by, least)) = allowed.into_iter().min_by_key(|(_, count)| *count) else { return Ok(()) };
        if usize::try_from(least).is_ok_and(|least| least >= needed) {
            return Ok(());
        }
        let listening = if listeners > 0 { format!(" + {listeners} listening") } else { String::new() };
        let detail = format!(
            "{needed} connections are needed ({} writing + {} reading + 1 renewing + {} for transactions{listening}), \
             and {by} allows {least}",
            self.writers, self.readers, self.transactions
        );
        Err(StoreError::new(StoreErrorKind::Config, name).detail(detail))
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self, name: &str) -> Result<(), StoreError> {
        let problem = if self.writers == 0 {
            "at least one writer is needed"
        } else if self.readers == 0 {
            "at least one reader is needed"
        } else if self.transactions == 0 {
            "at least one transaction is needed"
        } else if self.lease.as_millis() == 0 || self.renew_interval() >= self.lease {
            "a lease must be longer than the interval of its renewal"
        } else if self.lease > Duration::from_secs(86_400) {
            "a lease of more than a day"
        } else {
            return Ok(());
        };
        Err(StoreError::new(StoreErrorKind::Config, name).detail(problem))
    }
}
