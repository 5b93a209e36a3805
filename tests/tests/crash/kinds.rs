//! Sagas and observers under `kill -9`.

use std::time::Duration;

use crate::child::Run;
use crate::journal::Journal;
use crate::judge::{DEAD, EVENTS, Judge};
use crate::{Moments, WINDOW, rounds};

#[tokio::test]
async fn sagas_and_observers_lose_nothing_and_a_saga_applies_nothing_twice() {
    let judge = Judge::sqlite();
    let run = Run::of("saga,observer", &judge).set("EXECUTOR", "tasks:8");
    let mut moments = Moments::new();
    let kills = rounds(15, 300);
    for round in 0..kills {
        let round = run.round(round).set("APPEND", 200);
        round.kill_after("ready", Duration::from_millis(moments.below(400)));
    }
    assert_eq!(run.round(kills).drain(), 0);
    let (events, again) = (judge.ask(EVENTS).await, Journal::read(&judge.journal(), "observer").again(kills));
    eprintln!("kills sqlite saga,observer rounds={kills} events={events} the observer {again:?}");
    assert!(events > 300, "only {events} events: the kills came too early to say anything");
    assert_eq!(judge.lost("observer").await, [0_i64; 0]);
    // Its claims say what was handled: again runs what was running, and what could not say so any more.
    assert!(again.max <= WINDOW);
    let applied = "SELECT SUM(CAST(CAST(state AS TEXT) AS INTEGER)) FROM evento_saga";
    assert_eq!(judge.ask(applied).await, events);
    assert_eq!(judge.ask("SELECT COUNT(*) FROM evento_saga").await, 7);
    assert_eq!(judge.ask(DEAD).await, 0);
}
