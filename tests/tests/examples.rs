//! The examples as a person runs them: their output, their exit codes, what they leave behind.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, clippy::disallowed_methods, reason = "tests")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Builds the examples once and answers where they are.
fn program(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "-p",
                "orders",
                "-p",
                "git-history",
                "-p",
                "fulfilment",
                "-p",
                "traces",
                "--manifest-path",
                manifest,
            ])
            .status()
            .unwrap();
        assert!(built.success());
        // target/debug/deps/this-test
        std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf()
    });
    folder.join(name)
}

fn orders(db: &Path, arguments: &[&str]) -> Output {
    Command::new(program("orders")).arg("--db").arg(db).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn ok(output: &Output) -> String {
    let text = text(output);
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn orders_projects_everything_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("orders.db");
    let first = ok(&orders(&db, &["--events", "1000"]));
    assert!(first.contains("1000 events appended, 0 known"), "{first}");
    assert_eq!(first.matches("watermark 1000, dead letters 0").count(), 2, "{first}");
    assert!(first.contains("what customers paid") && first.contains("largest paid orders"), "{first}");
    let second = ok(&orders(&db, &["--events", "1500"]));
    assert!(second.contains("500 events appended, 1000 known"), "{second}");
    assert_eq!(second.matches("watermark 1500, dead letters 0").count(), 2, "{second}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside the database is left");
    // The same program looks at what it has left.
    let status = ok(&orders(&db, &["status"]));
    assert!(status.starts_with("bundle orders, log up to 1500\n") && status.contains("OrderTotals/1"), "{status}");
    assert!(ok(&orders(&db, &["plan"])).contains("executor read-model"));
    assert_eq!(orders(&db, &["pause", "Nobody"]).status.code(), Some(1));
}

/// The pages are there while the load runs, and a signal ends both.
#[test]
fn orders_serves_its_admin_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(program("orders"))
        .arg("--db")
        .arg(folder.path().join("orders.db"))
        .arg("--serve=127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let open = lines.find(|line| line.starts_with("open http://")).unwrap();
    let address = open.trim_start_matches("open http://").split('/').next().unwrap().to_owned();
    let ask = |path: &str| {
        let mut connection = std::net::TcpStream::connect(&address).unwrap();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("orders/OrderTotals v1"), "{page}");
    assert!(ask("/api/executors").contains("read-model"));
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success() && child.wait().unwrap().success());
}

#[test]
fn every_executor_and_mode_gives_the_same_read_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut tables = Vec::new();
    for executor in ["tasks", "pooled", "partitioned"] {
        for mode in ["on-start", "watermark"] {
            let db = folder.path().join(format!("{executor}-{mode}.db"));
            let said = ok(&orders(&db, &["--events", "600", "--executor", executor, "--mode", mode]));
            tables.push(
                said.split_once("what customers paid").unwrap().1.split("to continue").next().unwrap().to_owned(),
            );
        }
    }
    assert!(tables.windows(2).all(|pair| pair[0] == pair[1]), "{tables:#?}");
}

#[test]
fn a_misspelt_executor_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = orders(&folder.path().join("orders.db"), &["--misspell"]);
    // As wide as it may be; one misspelt registration is one problem.
    let said = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!output.status.success());
    assert!(said.contains("cannot start: 1 problem 1. [unknown-executor] `OrderTotals::placed`, "), "{said}");
    assert!(said.contains("run on executor `read-model`, which is not registered"), "{said}");
    assert!(said.contains("--> examples/order-views/src/order_totals.rs:"), "{said}");
    assert!(said.contains("did you mean `read-modle` (examples/orders/src/main.rs:"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_malformed_line_is_told_by_number_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (db, file) = (folder.path().join("orders.db"), folder.path().join("orders.jsonl"));
    let good = |n: u32| format!(r#"{{"type":"OrderPlaced","order_id":"o-{n}","customer":"ada"}}"#);
    let lines = [
        good(1),
        "not json".to_owned(),
        String::new(),
        good(2),
        r#"{"type":"OrderPlaced","order_id":""}"#.to_owned(),
        good(3),
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    let input = ["--input", file.to_str().unwrap()];
    let said = ok(&orders(&db, &input));
    assert!(said.contains("line 2 passed over") && said.contains("line 5 passed over"), "{said}");
    assert!(said.contains("3 events appended, 0 known"), "{said}");
    assert!(ok(&orders(&db, &input)).contains("0 events appended, 3 known"));
}

#[test]
fn a_database_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no-such-folder").join("orders.db");
    let other = folder.path().join("notes.txt");
    fs::write(&other, "these are no pages of a database, however long this text may be".repeat(100)).unwrap();
    for (db, told) in
        [(&missing, "does not exist"), (&other, "is not a database"), (&folder.path().to_path_buf(), "store")]
    {
        let output = orders(db, &["--events", "10"]);
        let said = text(&output);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains(told) && said.contains(db.to_str().unwrap()), "{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap().len(), 64 * 100 - 100, "what is no database stays as it is");
}

#[cfg(unix)]
#[test]
fn an_interrupt_drains_and_the_next_run_continues() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("orders.db");
    let arguments = ["--events", "6000"];
    let mut child =
        Command::new(program("orders")).arg("--db").arg(&db).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("database:"));
    std::thread::sleep(Duration::from_millis(400));
    let began = Instant::now();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success(), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(said.iter().any(|line| line.starts_with("stopping")), "{said:?}");
    let next = ok(&orders(&db, &arguments));
    assert_eq!(next.matches("watermark 6000, dead letters 0").count(), 2, "{next}");
}

/// Where everything of a run of `fulfilment` is kept.
fn fulfilment(folder: &Path, database: &[&str], orders: &str) -> Command {
    let mut command = Command::new(program("fulfilment"));
    // Long enough for every payment on a machine that does much else.
    command.args(["--orders", orders, "--patience", "6000", "--world"]).arg(folder.join("world.txt")).args(database);
    command
}

#[test]
fn fulfilment_ships_what_is_paid_and_cancels_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fulfilment.db");
    let database = ["--database", file.to_str().unwrap()];
    let said = ok(&fulfilment(folder.path(), &database, "50").output().unwrap());
    assert!(said.contains("40 charged, 40 shipped, 10 cancelled, 0 orders still wait; done twice: 0"), "{said}");
    let said = ok(&fulfilment(folder.path(), &database, "60").output().unwrap());
    assert!(said.contains("48 charged, 48 shipped, 12 cancelled, 0 orders still wait; done twice: 0"), "{said}");
}

#[test]
fn fulfilment_goes_on_where_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fulfilment.db");
    let database = ["--database", file.to_str().unwrap()];
    let done = || fs::read_to_string(folder.path().join("world.txt")).unwrap_or_default().lines().count();
    for at in [10, 60, 110] {
        let mut child = fulfilment(folder.path(), &database, "100").stdout(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while done() < at {
            assert!(began.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(), "{}", done());
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let said = ok(&fulfilment(folder.path(), &database, "100").output().unwrap());
    assert!(said.contains("80 charged, ") && said.contains("0 orders still wait; done twice: 0"), "{said}");
    let number = |what: &str| -> u32 {
        let before = said.split(what).next().unwrap().trim_end();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    };
    // A payment may have come too late for an order, since nobody was there to hear of it.
    assert_eq!(number("shipped") + number("cancelled"), 100, "{said}");
}

#[cfg(feature = "postgres")]
#[test]
fn fulfilment_is_the_same_on_postgresql() {
    let url = match evento_tests::servers::reach("EVENTO_TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let (folder, schema) = (tempfile::tempdir().unwrap(), evento_tests::servers::Schema::new());
    let database = ["--database", &url, "--schema", schema.name()];
    let said = ok(&fulfilment(folder.path(), &database, "50").output().unwrap());
    assert!(said.contains("40 charged, 40 shipped, 10 cancelled, 0 orders still wait; done twice: 0"), "{said}");
    let said = text(&fulfilment(folder.path(), &["--database", "postgres://127.0.0.1:1/x"], "1").output().unwrap());
    assert!(said.contains("cannot be reached"), "{said}");
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn git_history_counts_what_git_counts_and_reads_nothing_twice() {
    if Command::new("git").arg("--version").output().is_err() {
        return evento_tests::skip("git is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    for n in 0..7 {
        fs::write(repository.join("a"), n.to_string()).unwrap();
        fs::write(repository.join(if n % 2 == 0 { "b c" } else { "\u{e9}" }), n.to_string()).unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "--quiet", "-m", &format!("change {n}")]);
    }
    git(&repository, &["commit", "--quiet", "--allow-empty", "-m", "nothing changed"]);
    let counted = git(&repository, &["rev-list", "--count", "HEAD"]);
    let db = folder.path().join("history.db");
    let run = || ok(&Command::new(program("git-history")).arg("--db").arg(&db).arg(&repository).output().unwrap());
    let first = run();
    assert!(first.contains(&format!("{counted} commits, {counted} new")), "{first}");
    assert!(first.contains(&format!("{counted} commits counted")), "{first}");
    assert!(first.contains("    4  a  b c"), "{first}");
    assert!(run().contains("8 commits, 0 new"));
    git(&repository, &["commit", "--quiet", "--allow-empty", "-m", "one more"]);
    let third = run();
    assert!(third.contains("9 commits, 1 new") && third.contains("9 commits counted"), "{third}");
}

#[test]
fn git_history_reads_this_repository() {
    let repository = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let counted = Command::new("git").arg("-C").arg(repository).args(["rev-list", "--count", "HEAD"]).output();
    let Some(counted) = counted.ok().filter(|output| output.status.success()) else {
        return evento_tests::skip("the sources are not a git repository");
    };
    let counted = String::from_utf8(counted.stdout).unwrap().trim().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("history.db");
    let said = ok(&Command::new(program("git-history")).arg("--db").arg(&db).output().unwrap());
    assert!(said.contains(&format!("{counted} commits, {counted} new")), "{said}");
}

/// An append, the handler of its event, and the handler of what that has emitted are one trace, each the parent of the
/// next.
#[test]
fn traces_link_an_append_to_all_that_follows() {
    let output = ok(&Command::new(program("traces")).output().unwrap());
    let mut spans: HashMap<String, (String, String, String)> = HashMap::new();
    for line in output.lines().filter(|line| line.starts_with("trace ")) {
        let (ids, name) = line.split_once("  ").unwrap();
        let ids: Vec<&str> = ids.split(' ').collect();
        let [_, trace, _, span, _, parent] = ids[..] else { panic!("{line}") };
        spans.insert(span.to_owned(), (trace.to_owned(), parent.to_owned(), name.to_owned()));
    }
    let shipped: Vec<_> = spans.values().filter(|(_, _, name)| name == "Shipping::billed").collect();
    assert_eq!(shipped.len(), 2, "{output}");
    assert_ne!(shipped[0].0, shipped[1].0, "each order has a trace of its own: {output}");
    for (trace, parent, _) in shipped {
        let (of_billing, parent, name) = &spans[parent];
        assert_eq!((of_billing, name.as_str()), (trace, "Billing::placed"), "{output}");
        let (of_append, parent, name) = &spans[parent];
        assert_eq!((of_append, name.as_str(), parent.as_str()), (trace, "place order", "none"), "{output}");
    }
}
