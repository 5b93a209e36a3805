//! What is recorded: events of 200 bytes over 1,000 keys.

use evento_runtime::prelude::*;
use serde::{Deserialize, Serialize};

use crate::turns::Check;

/// Bytes of a payload.
pub(crate) const BYTES: usize = 200;
/// Keys.
pub(crate) const KEYS: u64 = 1_000;

/// An event. Its payload is the same wherever it is written: here, or by a statement that fills a log.
#[derive(Debug, Clone, Serialize, Deserialize, Event)]
pub(crate) struct Measured {
    pub(crate) n: u64,
    pub(crate) account: String,
    pub(crate) amount: i64,
    pub(crate) note: String,
}

impl Measured {
    pub(crate) fn new(n: u64) -> Self {
        let account = account(n);
        let amount = amount(n);
        let rest = format!(r#"{{"n":{n},"account":"{account}","amount":{amount},"note":""}}"#).len();
        Self { n, account, amount, note: "x".repeat(BYTES - rest) }
    }
}

pub(crate) fn account(n: u64) -> String {
    format!("account-{:04}", n * 7 % KEYS)
}

pub(crate) fn amount(n: u64) -> i64 {
    i64::try_from(n % 997).unwrap()
}

/// With its key.
pub(crate) fn drafted(n: u64) -> NewEvent {
    NewEvent::new(&Measured::new(n)).key(account(n))
}

/// What a handler that counts has seen of `events` events that begin with number 1.
pub(crate) fn counted(events: u64) -> Check {
    Check::new(events, events * u64::try_from(BYTES).unwrap())
}

/// What a handler that adds amounts up has seen.
pub(crate) fn added(events: u64) -> Check {
    Check::new(events, (1..=events).map(|n| amount(n).unsigned_abs()).sum())
}
