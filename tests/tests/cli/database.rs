//! Straight at a database that instances run on.

use crate::operated::Healed;
use evento_runtime::{Running, StallReason};
use evento_tests::eventually;

use crate::shop::{File, append, paid, placed, settled, started, stop};

fn watermark(running: &Running, component: &str) -> Option<String> {
    let status = running.status().into_iter().find(|status| &*status.consumer.component == component);
    status.unwrap().watermark.map(|position| position.to_text())
}

fn is_paused(running: &Running, component: &str) -> bool {
    running.status().iter().any(|status| {
        &*status.consumer.component == component && status.reason.as_ref().map(StallReason::name) == Some("paused")
    })
}

#[tokio::test]
async fn a_pause_holds_in_the_process_that_runs_and_is_written_down() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![placed("o-1", false)]).await;
    settled(&running, &last).await;
    let cli = file.cli();
    assert_eq!(cli.call("pause Count").await.ended(0).out, "Count/2: paused\n");
    eventually("it stands", || is_paused(&running, "Count")).await;
    let last = append(&running, vec![placed("o-2", false)]).await;
    eventually("the others go on", || watermark(&running, "View") == Some(last.to_text())).await;
    assert_eq!(watermark(&running, "Count").as_deref(), Some("1"));
    let status = cli.call("status").await.ended(0).out;
    let line = status.lines().find(|line| line.starts_with("Count/2")).unwrap();
    assert!(line.contains("paused") && line.contains("1 (") && line.contains("shop-1"), "{status}");
    assert!(status.contains("read-model") && status.starts_with("bundle orders, log up to 2\n"), "{status}");

    let resumed = cli.document("resume Count/2/*").await;
    assert_eq!((&resumed["result"], &resumed["command"]), (&"done".into(), &None::<String>.into()));
    eventually("it goes on", || watermark(&running, "Count") == Some(last.to_text())).await;

    let audit = cli.document("audit").await;
    let rows = audit["audit"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["action"], &rows[1]["action"]), (&"resume".into(), &"pause".into()));
    for row in rows {
        assert_eq!(
            (&row["who"], &row["target"], &row["result"]),
            (&"ada".into(), &"orders/Count v2".into(), &"done".into())
        );
        assert!(row["origin"].as_str().unwrap().starts_with("cli@"), "{row}");
    }
    assert!(cli.call("audit").await.ended(0).out.contains("ada"));
    stop(running).await;
}

#[tokio::test]
async fn the_owner_seeks_and_skips_and_says_why_not() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, (0..5).map(|n| placed(&format!("o-{n}"), false)).collect()).await;
    settled(&running, &last).await;
    let cli = file.cli();
    let back = cli.call("seek Count start").await.ended(1);
    assert!(back.err.contains("#[on_reset]") && back.out.is_empty(), "{back:?}");
    let back = cli.call("seek Count start --json").await.ended(1);
    let fault: serde_json::Value = serde_json::from_str(&back.err).unwrap();
    assert_eq!(fault["error"], "refused");
    cli.call("seek Count after:2 --keep").await.ended(0);
    eventually("handled again", || running.status().iter().any(|one| one.counters.settled >= 8)).await;
    let skip = cli.call("skip Count 3").await.ended(1);
    assert!(skip.err.contains("no open event"), "{skip:?}");
    for wrong in ["seek Count nowhere", "seek Count after:x", "seek Count", "skip Count x", "seek Count time:yesterday"]
    {
        cli.call(wrong).await.ended(2);
    }
    // What was not understood was not noted.
    let audit = cli.document("audit").await;
    let rows: Vec<_> = audit["audit"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap()).collect();
    assert_eq!(rows, ["skip", "seek", "seek", "seek"]);
    stop(running).await;
}

#[tokio::test]
async fn what_nobody_carries_out_is_accepted_and_can_be_asked_for() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![placed("o-1", false)]).await;
    settled(&running, &last).await;
    stop(running).await;
    let cli = file.cli();
    let pause = cli.call("pause Count --json").await.ended(4).json();
    let seek = cli.call("seek View head").await.ended(4);
    assert!(seek.out.contains("not carried out within five seconds"), "{seek:?}");
    let asked = seek.out.lines().find_map(|line| line.strip_prefix("ask again by: ")).unwrap().to_owned();
    assert!(cli.call(&asked).await.ended(4).out.contains("waiting"));

    let running = started(file.store(), &Healed::default()).await;
    eventually("it stands", || is_paused(&running, "Count")).await;
    let confirmed = format!("command {}", pause["command"].as_str().unwrap());
    for command in [&confirmed, &asked] {
        // The owner looks each second.
        let mut called = cli.call(command).await;
        for _ in 0..100 {
            if called.code == Some(0) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            called = cli.call(command).await;
        }
        assert!(called.ended(0).out.contains("done"));
    }
    cli.call("command 00000000-0000-7000-8000-000000000000").await.ended(1);
    cli.call("command x").await.ended(2);
    stop(running).await;
}

/// A wish that was taken back before anybody has heard of it is not confirmed.
#[tokio::test]
async fn a_pause_that_was_taken_back_is_refused_and_not_made() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    stop(running).await;
    let cli = file.cli();
    let pause = cli.call("pause Count --json").await.ended(4).json();
    let resume = cli.call("resume Count --json").await.ended(4).json();
    let running = started(file.store(), &Healed::default()).await;
    let status = |id: &serde_json::Value| format!("command {} --json", id["command"].as_str().unwrap());
    let mut ends = (None, None);
    for _ in 0..100 {
        ends = (cli.call(&status(&pause)).await.code, cli.call(&status(&resume)).await.code);
        if ends.0 != Some(4) && ends.1 != Some(4) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(ends, (Some(1), Some(0)));
    let last = append(&running, vec![placed("o-1", false)]).await;
    settled(&running, &last).await;
    stop(running).await;
}

/// What every consumer has settled can be taken out, and is counted first.
#[tokio::test]
async fn the_log_is_pruned_up_to_the_slowest() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, (0..5).map(|_| placed("o-1", false)).chain([paid(1)]).collect()).await;
    settled(&running, &last).await;
    stop(running).await;
    let cli = file.cli();
    let dry = cli.call("prune --before 2200-01-01 --dry-run").await.ended(0);
    assert!(dry.out.starts_with("4 events can be taken out\n"), "the last of each key stays: {dry:?}");
    assert_eq!(cli.document("audit").await["audit"], serde_json::json!([]));
    assert_eq!(cli.document("prune --before 2200-01-01").await["events"], 4);
    assert_eq!(cli.document("prune --before 2200-01-01 --dry-run").await["events"], 0);
    let audit = cli.document("audit").await;
    assert_eq!((&audit["audit"][0]["action"], &audit["audit"][0]["who"]), (&"prune".into(), &"ada".into()));
    cli.call("prune --before yesterday").await.ended(2);
}

#[tokio::test]
async fn one_consumer_is_told_in_full_and_the_plan_as_far_as_it_is_stored() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![placed("o-1", true)]).await;
    settled(&running, &last).await;
    let cli = file.cli();
    let one = cli.call("status View").await.ended(0).out;
    for part in ["last settled  1", "dead letters  1", "cannot place o-1", "placed", "shop-1"] {
        assert!(one.contains(part), "{part}: {one}");
    }
    assert_eq!(cli.document("status View/1").await["dead_letters"], 1);
    let plan = cli.call("plan").await.ended(0).out;
    for part in ["Count/2", "View/1", "Payments/1", "read-model", "are not stored"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert_eq!(cli.document("plan").await["consumers"].as_array().unwrap().len(), 3);
    stop(running).await;
}
