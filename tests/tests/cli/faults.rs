//! What goes wrong is told in words and by the exit code, and makes nothing.

use std::io::Read as _;
use std::process::Stdio;

use crate::operated::Healed;
use evento_runtime::StoreErrorKind;
use evento_runtime::store::Sqlite;

use crate::shop::{Cli, File, append, placed, settled, started, stop};

#[tokio::test]
async fn a_store_that_is_not_there_is_not_made() {
    let file = File::new();
    let missing = file.cli().call("status").await.ended(3);
    assert!(missing.err.contains("does not exist"), "{missing:?}");
    assert_eq!(std::fs::read_dir(file.folder.path()).unwrap().count(), 0);

    // Somebody else's file stays as it is.
    let foreign = file.folder.path().join("foreign.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&foreign).create_if_missing(true);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::query("CREATE TABLE own (n INTEGER)").execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let before = std::fs::read(&foreign).unwrap();
    let called = Cli::at(format!("sqlite:{}", foreign.display())).call("status").await.ended(3);
    assert!(called.err.contains("no tables of evento"), "{called:?}");
    assert_eq!(std::fs::read(&foreign).unwrap(), before);
    let opened = Sqlite::file(&foreign).create(false).open().await;
    assert_eq!(opened.unwrap_err().kind(), StoreErrorKind::Missing);

    // Nor is one that is older brought up to date.
    let running = started(file.store(), &Healed::default()).await;
    stop(running).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file.path);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    sqlx::query("UPDATE evento_meta SET value = '1' WHERE name = 'schema'").execute(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let older = file.cli().call("status").await.ended(3);
    assert!(older.err.contains("older version of evento"), "{older:?}");
}

#[tokio::test]
async fn arguments_that_cannot_be_meant_are_refused() {
    let file = File::new();
    let nowhere = Cli::new();
    for wrong in [
        "",
        "--frobnicate",
        "status",
        "--database sqlite:x status",
        "frobnicate",
        "--by ada --url http://127.0.0.1:1 status",
    ] {
        let called = nowhere.call(wrong).await.ended(2);
        assert!(called.out.is_empty() && !called.err.is_empty(), "{wrong}: {called:?}");
    }
    for wrong in
        ["--schema x status", "--prefix x status", "--token-file x status", "dead list --after 7", "audit --limit 0"]
    {
        file.cli().call(wrong).await.ended(2);
    }
    for wrong in ["redis://u:secret@h", "secret:secret", "orders.db", "http://u:secret@h/"] {
        let called = Cli::at(wrong.to_owned()).call("status").await.ended(2);
        assert!(!called.err.contains("secret"), "{called:?}");
        let url = nowhere.clone().with("--url").with(wrong).call("status").await.ended(2);
        assert!(!url.err.contains("secret"), "{url:?}");
        // As if the option had been forgotten.
        let loose = nowhere.call_with(["postgres://app:secret@h/shop"]).await.ended(2);
        assert!(!loose.err.contains("secret") && loose.err.contains("•••@h"), "{loose:?}");
    }
    let help = nowhere.call("--help").await.ended(0);
    for part in ["Exit codes", "EVENTO_TOKEN", "dead", "--database"] {
        assert!(help.out.contains(part), "{part}");
    }
    nowhere.call("--version").await.ended(0);
}

#[tokio::test]
async fn names_that_are_not_known_are_told_the_nearest() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    stop(running).await;
    let near = file.cli().call("pause Cuont").await.ended(1);
    assert!(near.err.contains("did you mean `Count/2`?"), "{near:?}");
    let far = file.cli().call("status Zzz").await.ended(1);
    assert!(far.err.contains("Count/2, Payments/1, View/1"), "{far:?}");
    let bundle = file.cli().with("--bundle").with("other").call("pause Count").await.ended(1);
    assert!(bundle.err.contains("a bundle `other`"), "{bundle:?}");
    let empty = file.cli().with("--bundle").with("other").call("status").await.ended(0);
    assert!(empty.out.contains("no consumer has ever begun"), "{empty:?}");
    file.cli().with("--bundle").with("a b").call("status").await.ended(2);
}

/// Whoever reads goes away after a line, as `head -1` does.
#[tokio::test]
async fn a_closed_pipe_is_no_fault() {
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let many = (0..100).map(|n| placed(&format!("o-{n}-{}", "x".repeat(200)), true)).collect();
    let last = append(&running, many).await;
    settled(&running, &last).await;
    stop(running).await;
    for arguments in
        [vec!["dead", "list", "--limit", "100"], vec!["dead", "list", "--limit", "100", "--json"], vec!["--help"]]
    {
        let mut child = file.cli().command(&arguments).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let ended = child.wait().unwrap();
        assert_eq!((ended.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
    let mut child = file.cli().command(["status", "Nobody"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[tokio::test]
async fn servers_that_do_not_answer_are_told_without_the_password() {
    for url in ["postgres://app:secret@127.0.0.1:1/shop", "mysql://app:secret@127.0.0.1:1/shop"] {
        let called = Cli::at(url.to_owned()).call("status").await;
        assert!(!called.err.contains("secret"), "{called:?}");
        // 2 where this program was built without that kind of database.
        let expected = if called.err.contains("built without") { 2 } else { 3 };
        called.ended(expected);
    }
}
