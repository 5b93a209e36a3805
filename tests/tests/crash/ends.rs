//! Handlers that end the process.

use crate::child::Run;
use crate::judge::{DEAD, DIFFERENT, EVENTS, Judge};

#[tokio::test]
async fn a_process_that_dies_inside_the_sequential_handler_loses_nothing() {
    let judge = Judge::sqlite();
    let run = Run::of("loop,functions", &judge).set("EXECUTOR", "partitioned:16");
    for (round, die_at) in [(0, 57), (1, 123), (2, 124)] {
        run.round(round).set("APPEND", 100).set("DIE", format!("loop@{die_at}")).dies();
    }
    assert_eq!(run.round(3).drain(), 0);
    assert!(judge.ask(EVENTS).await >= 150);
    assert_eq!((judge.lost("loop").await, judge.lost("functions").await), (Vec::new(), Vec::new()));
    assert_eq!(judge.ask(DIFFERENT).await, 0);
}

/// What ran at the first end is not known, at the next three it is: then it is given up, and everything else is
/// handled. Without a count that survives the process it would end every one.
#[tokio::test]
async fn an_event_that_ends_the_process_again_and_again_is_given_up() {
    for component in ["pool", "loop"] {
        let judge = Judge::sqlite();
        let run = Run::of(component, &judge).set("UNCLEAN_ENDS", 3).set("DIE", format!("{component}@120"));
        let run = if component == "pool" { run.set("EXECUTOR", "partitioned:16") } else { run };
        for round in 0..4 {
            run.round(round).set("APPEND", if round == 0 { 200 } else { 0 }).dies();
        }
        assert_eq!(run.round(4).drain(), 1, "{component}");
        let the_one = "SELECT COUNT(*) FROM evento_dead_letter WHERE class = 'permanent' AND attempts = 3 \
                       AND position = x'0000000000000078' AND error LIKE '%3 times in a row%'";
        assert_eq!((judge.ask(the_one).await, judge.ask(DEAD).await), (1, 1), "{component}");
        assert_eq!((judge.lost(component).await, judge.ask(EVENTS).await), (vec![120], 200), "{component}");
        let left = "SELECT (SELECT COUNT(*) FROM evento_attempt) + (SELECT COUNT(*) FROM evento_ownership)";
        assert_eq!(judge.ask(left).await, 0, "{component}: a clean stop leaves no record");
    }
}
