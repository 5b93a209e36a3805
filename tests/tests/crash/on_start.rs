//! G2 under `kill -9`: what `OnStart` may lose, and no more.

use std::time::Duration;

use crate::child::Run;
use crate::journal::Journal;
use crate::judge::{DEAD, EVENTS, Judge};
use crate::{Moments, WINDOW, rounds};

const CAPACITY: usize = 8;

/// Everything that was begun waits for its second attempt: a kill loses all of it.
#[tokio::test]
async fn under_on_start_a_kill_loses_at_most_the_capacity() {
    for round in 0..5 {
        let judge = Judge::sqlite();
        let run = Run::of("pool", &judge).set("EXECUTOR", format!("tasks:{CAPACITY}")).set("ON_START", true);
        let first = run.round(0).set("APPEND", 200).set("FAIL", "first");
        first.kill_after("appended", Duration::from_millis(100 + 150 * round));
        let dead = run.round(1).drain();
        let lost = judge.lost("pool").await.len();
        eprintln!("lost {lost} of 200, capacity {CAPACITY}, {dead} dead letters");
        assert!(lost <= CAPACITY, "lost {lost}");
        assert!(lost > 0, "nothing was running: the kill says nothing");
        assert_eq!(dead, 0);
    }
}

/// At random moments, with a checkpoint so often that most kills find something that is covered and runs.
#[tokio::test]
async fn kills_at_any_moment_lose_at_most_the_capacity_each() {
    let judge = Judge::sqlite();
    let run = Run::of("pool", &judge).set("EXECUTOR", format!("tasks:{CAPACITY}")).set("ON_START", true);
    let run = run.set("CHECKPOINT_EVERY", 4).set("SLOWEST", 40_000);
    let mut moments = Moments::new();
    let kills = rounds(8, 100);
    for round in 0..kills {
        run.round(round).set("FEED", true).kill_after("working", Duration::from_millis(moments.below(200)));
    }
    assert_eq!(run.round(kills).drain(), 0);
    let (events, lost) = (judge.ask(EVENTS).await, judge.lost("pool").await);
    let journal = Journal::read(&judge.journal(), "pool");
    let (again, by_run) = (journal.again(kills), journal.by_run(&lost));
    let most = by_run.values().max().copied().unwrap_or_default();
    let all = lost.len();
    eprintln!(
        "kills sqlite tasks on-start rounds={kills} events={events} lost={all} most={most} capacity={CAPACITY} \
         again mean={:.1} p95={} max={} window={WINDOW} interrupted={}",
        again.mean,
        again.p95,
        again.max,
        journal.interrupted(kills, &lost)
    );
    assert_eq!(by_run.get(&None), None, "what has not begun is never lost");
    assert!(most <= CAPACITY, "{by_run:?}");
    assert!(all > kills, "only {all} lost: the kills came when nothing ran");
    assert!(again.max <= WINDOW, "{again:?}");
    assert_eq!(judge.ask(DEAD).await, 0);
}
