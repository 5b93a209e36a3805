//! G11: the last row of the failure table. What the framework itself has to do, opening a handler's transaction and
//! storing what came of it, may fail: that is no attempt and no failure of the event. It waits, the reason is `store`,
//! and it goes on by itself.

use std::sync::Arc;

use evento_runtime::consumer::StallReason;
use evento_runtime::prelude::*;
use evento_runtime::{CheckpointMode, Running, StoreError, StoreErrorKind, async_trait};
use evento_tests::ledger::{Commit, Course, Ledger};

use crate::reported::parts::{Fate, Switch, begun, fated, hopeless};
use crate::scripted::{
    Journal, Limited, Made, MemoryStore, Pooled, Script, append, dead_letters, lanes, over, settled, stop,
};

/// While it is on, one of the steps of a transaction fails.
#[derive(Clone)]
struct Away {
    begin: Switch,
    commit: Switch,
}

#[async_trait]
impl Course for Away {
    async fn begin(&self) -> Result<(), StoreError> {
        if self.begin.is_on() { Err(StoreError::new(StoreErrorKind::Unreachable, "ledger")) } else { Ok(()) }
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        if self.commit.is_on() { Err(StoreError::new(StoreErrorKind::Busy, "ledger")) } else { commit.apply() }
    }
}

/// In the consumer's own loop, without further attempts.
struct Booked(Journal<(u64, u32)>);

#[projector(version = 1)]
impl Booked {
    #[event_handler(retry = 0)]
    async fn made(&self, event: Made, attempt: Attempt, tx: &mut Tx<Ledger>) {
        self.0.push((event.n, attempt.0));
        tx.push(event.n.to_string());
    }
}

/// On an executor, without further attempts.
struct BookedOnPool(Journal<(u64, u32)>);

#[projector(version = 1)]
impl BookedOnPool {
    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made, attempt: Attempt, tx: &mut Tx<Ledger>) {
        self.0.push((event.n, attempt.0));
        tx.push(event.n.to_string());
    }
}

async fn says_store(running: &Running) {
    evento_tests::eventually("it says why it stands", || {
        matches!(running.status()[0].reason, Some(StallReason::Store { .. }))
    })
    .await;
}

/// Sequential and `Watermark`; there is no `OnStart` for handlers that take a transaction.
#[tokio::test(start_paused = true)]
async fn a_transaction_that_cannot_be_begun_or_committed_is_no_attempt() {
    for parallel in [false, true] {
        for begins in [false, true] {
            let (memory, ledger, runs) = (MemoryStore::new(), Ledger::default(), Journal::default());
            let away = Away { begin: Switch::default(), commit: Switch::default() };
            let switch = if begins { &away.commit } else { &away.begin };
            switch.turn(true);
            let last = append(&memory, 0..5, 2).await;
            let builder = over(ledger.over(&memory, Arc::new(away.clone()))).checkpoint_mode(CheckpointMode::Watermark);
            let running = begun(match parallel {
                true => builder.component(BookedOnPool(runs.clone())).executor(lanes(2)),
                false => builder.component(Booked(runs.clone())),
            })
            .await;
            says_store(&running).await;
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            let counters = running.status()[0].counters;
            assert_eq!((counters.failed, counters.retried, counters.settled), (0, 0, 0), "{parallel} {begins}");
            assert_eq!(runs.len() > 0, begins, "a handler was called without its transaction");
            switch.turn(false);
            settled(&running, &last).await;
            let counters = running.status()[0].counters;
            assert_eq!((counters.failed, counters.retried, counters.dead_lettered), (0, 0, 0), "{parallel} {begins}");
            assert!(runs.all().iter().all(|(_, attempt)| *attempt == 1), "{:?}", runs.all());
            let mut entries = ledger.entries();
            entries.sort_unstable();
            assert_eq!(entries, ["0", "1", "2", "3", "4"], "{parallel} {begins}");
            stop(running).await;
        }
    }
}

/// Every mode: nothing of what was handled, or given up, is stored; nothing of it runs again.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_stored_is_no_attempt_and_runs_no_second_time() {
    for mode in [None, Some(CheckpointMode::OnStart), Some(CheckpointMode::Watermark)] {
        let memory = MemoryStore::new();
        let (runs, away) = (Journal::default(), Switch::default());
        let log = runs.clone();
        let script = Script::new(move |call| {
            log.push((call.n, call.attempt));
            let end = if call.n == 1 { Err(hopeless()) } else { Ok(Flow::Continue) };
            async move { end }
        });
        let is_away = away.clone();
        let builder = over(fated(&memory.store(), move |_| {
            let fate = if is_away.is_on() { Fate::Refused } else { Fate::Stored };
            async move { fate }
        }));
        let running = begun(match mode {
            Some(mode) => builder.component(Pooled(script)).executor(lanes(4)).checkpoint_mode(mode),
            None => builder.component(Limited(script)),
        })
        .await;
        away.turn(true);
        let last = append(&memory, 0..6, 3).await;
        says_store(&running).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        let status = running.status().remove(0);
        assert!(matches!(status.reason, Some(StallReason::Store { .. })), "{mode:?}: {:?}", status.reason);
        assert_eq!(
            (status.counters.failed, status.counters.retried),
            (1, 0),
            "{mode:?}: its own failure, and no other"
        );
        away.turn(false);
        settled(&running, &last).await;
        let dead = dead_letters(&running).await;
        assert_eq!(dead.iter().map(|dead| dead.letter.attempts).collect::<Vec<_>>(), [1], "{mode:?}");
        let mut all = runs.all();
        all.sort_unstable();
        assert_eq!(all, (0..6).map(|n| (n, 1)).collect::<Vec<_>>(), "{mode:?}");
        stop(running).await;
    }
}
