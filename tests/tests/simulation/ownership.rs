//! One ownership of one consumer, as seen from outside.

use std::collections::BTreeSet;

use tokio::time::Instant;

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody has given it up.
    Held,
    /// Its owner gave it back.
    Released,
    /// Somebody else took over, or its time ran out, or its owner died.
    Lost,
}

pub(crate) struct Ownership {
    /// Whose; nobody's, if the answer to the acquisition was lost.
    pub(crate) instance: Option<usize>,
    pub(crate) standing: Standing,
    /// How long its owner may believe in it.
    pub(crate) believed_until: Option<Instant>,
    /// Positions whose handler has begun, redriven ones left out.
    pub(crate) begun: BTreeSet<u64>,
    /// Positions of dead letters whose handler has begun.
    pub(crate) tried: BTreeSet<u64>,
    /// Positions whose handler has succeeded.
    pub(crate) done: BTreeSet<u64>,
    /// Positions whose handler has succeeded in a transaction that may be open.
    pub(crate) passed: BTreeSet<u64>,
    /// Positions whose handler runs.
    pub(crate) running: BTreeSet<u64>,
    /// Settlements under way.
    pub(crate) settling: usize,
}

impl Ownership {
    pub(crate) fn new() -> Self {
        Self {
            instance: None,
            standing: Standing::Held,
            believed_until: None,
            begun: BTreeSet::new(),
            tried: BTreeSet::new(),
            done: BTreeSet::new(),
            passed: BTreeSet::new(),
            running: BTreeSet::new(),
            settling: 0,
        }
    }

    pub(crate) fn lose(&mut self) -> bool {
        let held = self.standing == Standing::Held;
        if held {
            self.standing = Standing::Lost;
        }
        held
    }
}
