//! Dead letters, straight at the database.

use crate::operated::Healed;

use crate::shop::{File, append, paid, placed, settled, started, stop};

#[tokio::test]
async fn dead_letters_are_listed_redriven_discarded_and_purged() {
    let file = File::new();
    let healed = Healed::default();
    let running = started(file.store(), &healed).await;
    let cli = file.cli();
    assert_eq!(cli.call("dead list").await.ended(0).out, "no dead letters\n");
    let last = append(&running, (1..=5).map(|n| placed(&format!("o-{n}"), true)).collect()).await;
    settled(&running, &last).await;

    let page = cli.document("dead list View --limit 2").await;
    assert_eq!(page["consumers"][0]["next"], "2");
    let list = cli.call("dead list --limit 2").await.ended(0).out;
    assert!(list.contains("cannot place o-2") && list.ends_with("more: dead list View/1 --after 2\n"), "{list}");
    let rest = cli.call("dead list View/1 --after 2 --key o-4").await.ended(0).out;
    assert!(rest.contains("o-4") && !rest.contains("o-3") && !rest.contains("more"), "{rest}");

    // Nobody means all by saying nothing, and not some of all.
    for wrong in ["", "--all --key o-1", "--kind bad", "--position x", "--class bad", "--since yesterday"] {
        cli.call(&format!("dead redrive View {wrong}")).await.ended(2);
        cli.call(&format!("dead discard View {wrong}")).await.ended(2);
    }
    let again = cli.call("dead redrive View --key o-1").await.ended(1);
    assert!(again.out.contains("1 marked; handled 0, failed again 1, not tried yet 0"), "{again:?}");
    assert_eq!(cli.document("dead discard View --position 2").await["letters"], 1);
    healed.heal();
    let all = cli.document("dead redrive View --all").await;
    assert_eq!((&all["letters"], &all["handled"], &all["waiting"]), (&4.into(), &4.into(), &0.into()));
    assert_eq!(cli.call("dead list View").await.ended(0).out, "no dead letters\n");
    assert_eq!(cli.document("dead purge View --before 2020-01-01").await["letters"], 0);
    assert_eq!(cli.document("dead purge View --before 2200-01-01").await["letters"], 5);
    cli.call("dead purge View --before x").await.ended(2);
    stop(running).await;

    // Marked with nobody there to try again: accepted.
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![placed("o-9", true)]).await;
    settled(&running, &last).await;
    stop(running).await;
    let waiting = cli.call("dead redrive View --all").await.ended(4);
    assert!(waiting.out.contains("not tried yet 1"), "{waiting:?}");
    assert!(cli.call("dead list").await.ended(0).out.contains("dead, marked"));
}

#[tokio::test]
async fn a_payload_is_shown_only_where_that_is_written_down() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![paid(471_147)]).await;
    settled(&running, &last).await;
    let cli = file.cli();
    for quiet in
        ["dead list", "dead list --json", "dead show Payments 1", "dead show Payments 1 --json", "status Payments"]
    {
        let called = cli.call(quiet).await.ended(0);
        assert!(!called.out.contains("471147") && called.out.contains("order 7 is unknown"), "{called:?}");
    }
    let quiet = cli.call("dead show Payments 1").await.out;
    assert!(quiet.contains("not shown") && quiet.contains("--raw"), "{quiet}");
    assert_eq!(cli.document("audit").await["audit"], serde_json::json!([]));
    assert!(cli.call("dead show Payments 1 --raw").await.ended(0).out.contains("471147"));
    let audit = cli.document("audit").await;
    let row = &audit["audit"][0];
    assert_eq!((&row["action"], &row["who"]), (&"reveal".into(), &"ada".into()));
    assert!(row["detail"].as_str().unwrap().contains("\"position\":\"1\""), "{row}");
    cli.call("dead show Payments 2 --raw").await.ended(1);
    assert_eq!(cli.document("audit").await["audit"].as_array().unwrap().len(), 1, "nothing was shown");
    stop(running).await;
}
