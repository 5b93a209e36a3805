//! G4 and G12 with `dead_letter = "park"` under `kill -9`: while keys are parked, and while they are tried again, a key
//! keeps its order, nothing is lost, and once all is healed nothing is parked any more.

use std::time::Duration;

use crate::child::Run;
use crate::judge::{DIFFERENT, EVENTS, Judge};
use crate::{Moments, rounds};

/// Events given up, or behind such a one.
const PARKED: &str = "SELECT COUNT(*) FROM evento_parked";
/// Letters that were handled after all.
const REDRIVEN: &str = "SELECT COUNT(*) FROM evento_dead_letter WHERE resolved_at IS NOT NULL";
const UNRESOLVED: &str = "SELECT COUNT(*) FROM evento_dead_letter WHERE resolved_at IS NULL";
const HANDLED: &str = "SELECT COALESCE(MAX(position), 0) FROM effect";

/// Effects that come after one of a later event of their key, in the same process, or where both are the first of
/// their event.
const OUT_OF_ORDER: &str = "WITH told AS (
        SELECT effect.id, effect.run, event.key, event.position,
            ROW_NUMBER() OVER (PARTITION BY event.position ORDER BY effect.id) AS time
        FROM effect JOIN evento_event AS event ON event.position = effect.position),
    in_process AS (SELECT position, LAG(position) OVER (PARTITION BY key, run ORDER BY id) AS before FROM told),
    at_first AS (SELECT position, LAG(position) OVER (PARTITION BY key ORDER BY id) AS before FROM told WHERE time = 1)
    SELECT (SELECT COUNT(*) FROM in_process WHERE before >= position)
        + (SELECT COUNT(*) FROM at_first WHERE before > position)";

/// Every eleventh event fails in the processes that live before this many later ones were handled: what was given up in
/// earlier rounds is tried again, and comes through, while others are given up.
const FAILING: i64 = 5;

/// Of what was given up and stays so, what comes through up to a position.
fn healing(healed: i64) -> String {
    format!(
        "SELECT COUNT(*) FROM evento_dead_letter AS letter JOIN evento_event AS event ON event.id = letter.event
            WHERE letter.resolved_at IS NULL AND event.position % 11 = 0 AND event.position <= {healed}"
    )
}

async fn kills(store: &str, judge: Judge, component: &'static str) {
    let run = Run::of(component, &judge).set("PARKS", true).set("KEYS", 12).set("AHEAD", 40);
    let run = if component.starts_with("pool") { run.set("EXECUTOR", "partitioned:8") } else { run };
    let mut moments = Moments::new();
    // As many as are meant to say something, and as many more as it takes until they do.
    let wanted = rounds(4, 50);
    let says_something = |kills: usize| kills * 3 >= wanted;
    let (mut kills, mut while_parked, mut while_redriven) = (0, 0, 0);
    while kills < wanted || (kills < wanted * 5 && !(says_something(while_parked) && says_something(while_redriven))) {
        let round = kills;
        kills += 1;
        let healed = if round == 0 { 0 } else { judge.ask(HANDLED).await.saturating_sub(FAILING).max(0) };
        let comes_through = round > 0 && judge.ask(&healing(healed)).await > 0;
        let word = if comes_through { "healing" } else { "failing" };
        let round = run.round(round).set("FEED", true).set("FAIL", healed);
        round.kill_after(word, Duration::from_millis(moments.below(300)));
        judge.forgotten().await;
        while_redriven += usize::from(comes_through);
        while_parked += usize::from(judge.ask(PARKED).await > 0);
    }
    run.round(kills).set("FAIL", i64::MAX).drain();
    let (events, lost, twice) = (judge.ask(EVENTS).await, judge.lost(component).await, judge.twice(component).await);
    let (disorder, left) = (judge.ask(OUT_OF_ORDER).await, judge.ask(PARKED).await);
    eprintln!(
        "kills {store} {component} parked rounds={kills} events={events} lost={} twice={twice} out-of-order={disorder} \
         left={left} redriven={} while-parked={while_parked} while-redriven={while_redriven}",
        lost.len(),
        judge.ask(REDRIVEN).await,
    );
    assert_eq!(lost, [0_i64; 0]);
    assert_eq!((disorder, left, judge.ask(UNRESOLVED).await, judge.ask(DIFFERENT).await), (0, 0, 0, 0));
    assert!(!component.ends_with("-tx") || twice == 0, "{twice} effects are there twice");
    assert!(says_something(while_parked), "only {while_parked} kills found a key parked: they say nothing");
    assert!(
        says_something(while_redriven),
        "only {while_redriven} kills found a key that was tried again: they say nothing"
    );
}

#[tokio::test]
async fn sqlite_keys_stay_in_order_in_the_loop() {
    for component in ["loop", "loop-tx"] {
        kills("sqlite", Judge::sqlite(), component).await;
    }
}

#[tokio::test]
async fn sqlite_keys_stay_in_order_on_lanes() {
    for component in ["pool", "pool-tx"] {
        kills("sqlite", Judge::sqlite(), component).await;
    }
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_keys_stay_in_order_on_lanes() {
    for component in ["pool", "pool-tx"] {
        let Some(judge) = Judge::postgres() else { return };
        kills("postgres", judge, component).await;
    }
}
