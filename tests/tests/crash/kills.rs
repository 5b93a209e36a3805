//! G1, G3, G9 under `kill -9`: nothing is lost, no more runs again than the window allows, and what shares the
//! framework's transaction is there exactly once; on each store, in each way to run.

use std::time::Duration;

use crate::child::Run;
use crate::journal::Journal;
use crate::judge::{DEAD, DIFFERENT, EVENTS, Judge};
use crate::{Moments, WINDOW, rounds};

/// How events run.
#[derive(Debug, Clone, Copy)]
enum Way {
    Sequential,
    Tasks,
    Partitioned,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Tasks => "tasks",
            Self::Partitioned => "partitioned",
        }
    }

    const fn component(self, tx: bool) -> &'static str {
        match (self, tx) {
            (Self::Sequential, false) => "loop",
            (Self::Sequential, true) => "loop-tx",
            (Self::Tasks | Self::Partitioned, false) => "pool",
            (Self::Tasks | Self::Partitioned, true) => "pool-tx",
        }
    }
}

/// Kills one process after the other in the middle of its work, lets the last one finish, and judges.
async fn kills(store: &str, judge: Judge, way: Way, tx: bool) {
    let component = way.component(tx);
    let mut run = Run::of(component, &judge).set("FEED", true);
    if !matches!(way, Way::Sequential) {
        run = run.set("EXECUTOR", format!("{}:8", way.name()));
    }
    if tx {
        run = run.set("FAIL", "some");
    }
    let mut moments = Moments::new();
    let (kills, mut busy) = (rounds(5, 100), 0);
    for round in 0..kills {
        run.round(round).kill_after("working", Duration::from_millis(moments.below(200)));
        judge.forgotten().await;
        busy += usize::from(!judge.lost(component).await.is_empty());
    }
    assert_eq!(run.round(kills).set("FEED", false).drain(), 0);
    let (events, lost, twice) = (judge.ask(EVENTS).await, judge.lost(component).await, judge.twice(component).await);
    let journal = Journal::read(&judge.journal(), component);
    let (again, interrupted) = (journal.again(kills), journal.interrupted(kills, &lost));
    eprintln!(
        "kills {store} {} {} rounds={kills} events={events} lost={} twice={twice} again mean={:.1} p95={} max={} \
         window={WINDOW} busy={busy} interrupted={interrupted}",
        way.name(),
        if tx { "tx" } else { "no-tx" },
        lost.len(),
        again.mean,
        again.p95,
        again.max
    );
    assert_eq!(lost, [0_i64; 0]);
    assert_eq!((judge.ask(DIFFERENT).await, judge.ask(DEAD).await), (0, 0));
    assert!(!tx || twice == 0, "{twice} effects are there twice");
    assert!(again.max <= WINDOW, "{again:?}");
    // Between two transactions there is nothing to interrupt, also where a lot is to be done.
    let says_something = busy * 2 > kills && interrupted > 0;
    assert!(says_something, "only {busy} kills found work, {interrupted} hit it: they say nothing");
}

async fn sqlite(way: Way) {
    for tx in [false, true] {
        kills("sqlite", Judge::sqlite(), way, tx).await;
    }
}

#[tokio::test]
async fn sqlite_sequential() {
    sqlite(Way::Sequential).await;
}

#[tokio::test]
async fn sqlite_tasks() {
    sqlite(Way::Tasks).await;
}

#[tokio::test]
async fn sqlite_partitioned() {
    sqlite(Way::Partitioned).await;
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::*;

    async fn postgres(way: Way) {
        for tx in [false, true] {
            let Some(judge) = Judge::postgres() else { return };
            kills("postgres", judge, way, tx).await;
        }
    }

    #[tokio::test]
    async fn postgres_sequential() {
        postgres(Way::Sequential).await;
    }

    #[tokio::test]
    async fn postgres_tasks() {
        postgres(Way::Tasks).await;
    }

    #[tokio::test]
    async fn postgres_partitioned() {
        postgres(Way::Partitioned).await;
    }
}

/// What people send, and all three kinds of transactions beside each other.
#[tokio::test]
async fn real_payloads_survive_a_kill_in_every_round() {
    let Some(data) = evento_tests::webhooks() else {
        return evento_tests::skip("no github-webhooks.jsonl: set EVENTO_TEST_DATA to its folder");
    };
    let judge = Judge::sqlite();
    let run = Run::of("pool", &judge).set("EXECUTOR", "partitioned:16");
    let mut moments = Moments::new();
    let kills = rounds(10, 300);
    for round in 0..kills {
        let round = run.round(round).set("DATA", data.display());
        round.kill_after("appended", Duration::from_millis(moments.below(120)));
    }
    assert_eq!(run.round(kills).drain(), 0);
    let (events, again) = (judge.ask(EVENTS).await, Journal::read(&judge.journal(), "pool").again(kills));
    eprintln!("kills sqlite partitioned payloads rounds={kills} events={events} {again:?} window={WINDOW}");
    let lines = std::fs::read_to_string(&data).unwrap().lines().count();
    assert_eq!(events, i64::try_from(lines * kills).unwrap());
    assert_eq!(judge.lost("pool").await, [0_i64; 0]);
    assert_eq!(judge.ask(DIFFERENT).await, 0);
    assert!(again.max <= WINDOW);
}

#[tokio::test]
async fn three_kinds_of_transactions_beside_each_other_are_there_exactly_once() {
    let judge = Judge::sqlite();
    let run = Run::of("pool-tx,loop-tx,batch-tx", &judge).set("EXECUTOR", "partitioned:16").set("FAIL", "some");
    let mut moments = Moments::new();
    let kills = rounds(20, 100);
    for round in 0..kills {
        let round = run.round(round).set("APPEND", 300);
        round.kill_after("ready", Duration::from_millis(moments.below(250)));
    }
    assert_eq!(run.round(kills).drain(), 0);
    let events = judge.ask(EVENTS).await;
    eprintln!("kills sqlite beside-each-other tx rounds={kills} events={events}");
    assert!(events > 1_000, "only {events} events: the kills came too early to say anything");
    for who in ["pool-tx", "loop-tx", "batch-tx"] {
        assert_eq!((judge.lost(who).await, judge.twice(who).await), (Vec::new(), 0), "{who}");
    }
    assert_eq!(judge.ask("SELECT COUNT(*) FROM effect").await, 3 * events);
    assert_eq!((judge.ask(DIFFERENT).await, judge.ask(DEAD).await), (0, 0));
}
