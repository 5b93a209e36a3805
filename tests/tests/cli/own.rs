//! An application's own binary, which knows its bundle.

use std::io::Read as _;

use crate::operated::Healed;

use crate::shop::{Cli, File, append, paid, settled, started, stop};

fn own(file: &File) -> Cli {
    Cli { program: env!("CARGO_BIN_EXE_operated"), ..Cli::new() }.with("--db").with(file.path.display().to_string())
}

#[tokio::test]
async fn it_knows_its_plan_and_what_is_not_to_be_seen() {
    let file = File::new();
    let cli = own(&file);
    let plan = cli.call("plan").await.ended(0).out;
    for part in ["bundle orders", "projector View v1", "executor read-model", "needs Healed"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert_eq!(cli.document("plan").await["bundle"], "orders");
    cli.call("status").await.ended(3);
    assert!(!file.path.exists(), "nothing was opened for a plan, and nothing made by a look");

    let running = started(file.store(), &Healed::default()).await;
    let last = append(&running, vec![paid(471_147)]).await;
    settled(&running, &last).await;
    for words in ["dead show Payments 1", "dead show Payments 1 --json", "dead list --json"] {
        let called = cli.call(words).await.ended(0);
        assert!(called.out.contains("•••") && !called.out.contains("471147"), "{called:?}");
    }
    assert!(cli.call("dead show Payments 1 --raw").await.ended(0).out.contains("471147"));
    assert_eq!(cli.document("audit").await["audit"][0]["action"], "reveal");
    assert_eq!(cli.document("status Payments").await["kind"], "projector");
    assert_eq!(cli.call("pause Payments").await.ended(0).out, "Payments/1: paused\n");
    stop(running).await;
    cli.call("").await.ended(0);
}

#[tokio::test]
async fn what_lives_in_memory_is_asked_where_it_runs() {
    let cli = Cli { program: env!("CARGO_BIN_EXE_operated"), ..Cli::new() };
    let called = cli.call("status").await.ended(2);
    assert!(called.err.contains("--url"), "{called:?}");
    cli.call("plan").await.ended(0);
}

/// `cli::run`: without a command the bundle runs until a signal.
#[cfg(unix)]
#[tokio::test]
async fn without_arguments_of_its_own_it_runs_or_operates() {
    let file = File::new();
    let cli = Cli { program: env!("CARGO_BIN_EXE_operated"), ..Cli::new() };
    let cli = cli.env("OPERATED_DB", file.path.display().to_string());
    cli.call("--frobnicate").await.ended(2);
    let mut running = cli.command([""; 0]).spawn().unwrap();
    let mut asked = cli.call("pause Count").await;
    for _ in 0..600 {
        if asked.code == Some(0) {
            break;
        }
        // Its file is not there yet, or nobody owns the consumer.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        asked = cli.call("pause Count").await;
    }
    asked.ended(0);
    let signalled = std::process::Command::new("kill").args(["-TERM", &running.id().to_string()]).status();
    assert!(signalled.unwrap().success());
    let ended = running.wait().unwrap();
    let mut said = String::new();
    running.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(ended.code(), Some(0), "{said}");
}
