//! Real processes, really killed. What was lost and what ran again is asked of the database with plain SQL.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, clippy::disallowed_methods, reason = "tests")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Row as _};

const WINDOW: u64 = 64;

/// Seeded, so that a failing round can be run again; the seed is printed.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let seed = std::env::var("CRASH_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        eprintln!("CRASH_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Run<'a> {
    scenario: &'a str,
    db: &'a Path,
    settings: HashMap<&'a str, String>,
}

impl<'a> Run<'a> {
    fn of(scenario: &'a str, db: &'a Path) -> Self {
        Self { scenario, db, settings: HashMap::new() }
    }

    fn set(mut self, name: &'a str, value: impl std::fmt::Display) -> Self {
        self.settings.insert(name, value.to_string());
        self
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crash_child"));
        command.arg(self.scenario).env("CRASH_DB", self.db).env("CRASH_WINDOW", WINDOW.to_string());
        for (name, value) in &self.settings {
            command.env(format!("CRASH_{name}"), value);
        }
        command.stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Kills it some time after it has said `word`.
    fn kill_after(&self, word: &str, wait: Duration) {
        let mut child = self.spawn();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.by_ref().map_while(Result::ok).any(|line| line == word);
        assert!(said, "it ended before it was killed");
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Lets it settle everything; answers how many dead letters there were.
    fn drain(self) -> u64 {
        let output = self.set("DRAIN", true).spawn().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().unwrap();
        last.strip_prefix("drained, ").unwrap().split(' ').next().unwrap().parse().unwrap()
    }
}

async fn ask(db: &Path, query: &'static str) -> i64 {
    let mut db: SqliteConnection = SqliteConnectOptions::new().filename(db).read_only(true).connect().await.unwrap();
    sqlx::query(query).fetch_one(&mut db).await.unwrap().get(0)
}

const EVENTS: &str = "SELECT COUNT(*) FROM evento_event";
const DEAD: &str = "SELECT COUNT(*) FROM evento_dead_letter";

/// Events without an effect of `who`.
macro_rules! lost {
    ($who:literal) => {
        concat!(
            "SELECT COUNT(*) FROM evento_event AS event WHERE NOT EXISTS (SELECT 1 FROM effect WHERE who = '",
            $who,
            "' AND effect.position = event.position)"
        )
    };
}

const DIFFERENT: &str = "SELECT COUNT(*) FROM effect JOIN evento_event AS event ON event.position = effect.position
    WHERE event.payload IS NOT effect.payload";

/// The most effects of one run that an earlier run had already.
const MOST_AGAIN: &str = "SELECT COALESCE(MAX(again), 0) FROM (
    SELECT COUNT(*) AS again FROM effect AS later
    WHERE EXISTS (SELECT 1 FROM effect AS earlier
        WHERE earlier.who = later.who AND earlier.position = later.position AND earlier.run < later.run)
    GROUP BY later.who, later.run)";

const AGAIN: &str = "SELECT COUNT(*) FROM effect AS later
    WHERE EXISTS (SELECT 1 FROM effect AS earlier
        WHERE earlier.who = later.who AND earlier.position = later.position AND earlier.run < later.run)";

#[tokio::test]
async fn under_watermark_nothing_is_lost_and_re_runs_stay_within_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("crash.db");
    let mut moments = Moments::new();
    let rounds = if evento_tests::long() { 300 } else { 30 };
    for run in 0..rounds {
        let round = Run::of("watermark", &db).set("RUN", run).set("APPEND", 400);
        round.kill_after("ready", Duration::from_millis(moments.below(220)));
    }
    assert_eq!(Run::of("watermark", &db).set("RUN", rounds).drain(), 0);
    let (events, again, most) = (ask(&db, EVENTS).await, ask(&db, AGAIN).await, ask(&db, MOST_AGAIN).await);
    eprintln!("{rounds} kills, {events} events, {again} ran again, at most {most} after one kill, window {WINDOW}");
    assert!(events > 1_000, "only {events} events: the kills came too early to say anything");
    assert_eq!(ask(&db, lost!("parallel")).await, 0);
    assert_eq!(ask(&db, DIFFERENT).await, 0);
    assert_eq!(ask(&db, DEAD).await, 0);
    assert!(u64::try_from(most).unwrap() <= WINDOW);
}

#[tokio::test]
async fn with_the_framework_s_transaction_every_effect_is_there_exactly_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("exactly.db");
    let mut moments = Moments::new();
    let rounds = if evento_tests::long() { 100 } else { 20 };
    for run in 0..rounds {
        let round = Run::of("exactly", &db).set("RUN", run).set("APPEND", 300);
        round.kill_after("ready", Duration::from_millis(moments.below(250)));
    }
    assert_eq!(Run::of("exactly", &db).set("RUN", rounds).drain(), 0);
    let (events, again) = (ask(&db, EVENTS).await, ask(&db, AGAIN).await);
    eprintln!("{rounds} kills, {events} events, {again} effects twice");
    assert!(events > 1_000, "only {events} events: the kills came too early to say anything");
    assert_eq!(ask(&db, lost!("exactly")).await, 0);
    assert_eq!(ask(&db, lost!("in-order")).await, 0);
    assert_eq!(ask(&db, lost!("batched")).await, 0);
    assert_eq!(again, 0);
    assert_eq!(ask(&db, "SELECT COUNT(*) FROM effect").await, 3 * events);
    assert_eq!(ask(&db, DIFFERENT).await, 0);
}

#[tokio::test]
async fn real_payloads_survive_a_kill_in_every_round() {
    let Some(data) = evento_tests::webhooks() else {
        return evento_tests::skip("no github-webhooks.jsonl: set EVENTO_TEST_DATA to its folder");
    };
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("webhooks.db");
    let mut moments = Moments::new();
    let rounds = if evento_tests::long() { 300 } else { 10 };
    for run in 0..rounds {
        let round = Run::of("watermark", &db).set("RUN", run).set("DATA", data.display());
        round.kill_after("appended", Duration::from_millis(moments.below(120)));
    }
    assert_eq!(Run::of("watermark", &db).set("RUN", rounds).drain(), 0);
    let (events, again, most) = (ask(&db, EVENTS).await, ask(&db, AGAIN).await, ask(&db, MOST_AGAIN).await);
    eprintln!("{rounds} kills, {events} events, {again} ran again, at most {most} after one kill, window {WINDOW}");
    let lines = i64::try_from(std::fs::read_to_string(&data).unwrap().lines().count()).unwrap();
    assert_eq!(events, lines * rounds);
    assert_eq!(ask(&db, lost!("parallel")).await, 0);
    assert_eq!(ask(&db, DIFFERENT).await, 0);
    assert!(u64::try_from(most).unwrap() <= WINDOW);
}

#[tokio::test]
async fn under_on_start_a_kill_loses_at_most_the_capacity() {
    for round in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("on-start.db");
        let first = Run::of("on-start", &db).set("APPEND", 200);
        first.kill_after("appended", Duration::from_millis(100 + 150 * round));
        let dead = Run::of("on-start", &db).set("RUN", 1).set("SUCCEED", true).drain();
        let lost = ask(&db, lost!("failing")).await;
        eprintln!("lost {lost} of 200, capacity 8, {dead} dead letters");
        assert!(lost <= 8, "lost {lost}");
        assert!(lost > 0, "nothing was running: the kill says nothing");
        assert_eq!(dead, 0);
    }
}

#[tokio::test]
async fn a_process_that_dies_inside_the_sequential_handler_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("two-style.db");
    for (run, die_at) in [(0, 57), (1, 123), (2, 124)] {
        let round = Run::of("two-style", &db).set("RUN", run).set("APPEND", 100).set("DIE_AT", die_at);
        let mut child = round.spawn();
        assert!(!child.wait().unwrap().success());
    }
    assert_eq!(Run::of("two-style", &db).set("RUN", 3).drain(), 0);
    assert!(ask(&db, EVENTS).await >= 150);
    assert_eq!(ask(&db, lost!("sequential")).await, 0);
    assert_eq!(ask(&db, lost!("functions")).await, 0);
    assert_eq!(ask(&db, DIFFERENT).await, 0);
}

/// What ran at the first end is not known, at the next three it is: then it is given up, and everything else is
/// handled. Without a count that survives the process it would end every one.
#[tokio::test]
async fn an_event_that_ends_the_process_again_and_again_is_given_up() {
    for (scenario, handled) in [("poison", lost!("parallel")), ("poison-in-order", lost!("sequential"))] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("poison.db");
        for run in 0..4 {
            let append = if run == 0 { 200 } else { 0 };
            let round = Run::of(scenario, &db).set("RUN", run).set("APPEND", append).set("DIE_AT", 120);
            assert!(!round.spawn().wait().unwrap().success(), "{scenario}: run {run} has passed it");
        }
        assert_eq!(Run::of(scenario, &db).set("RUN", 4).set("DIE_AT", 120).drain(), 1, "{scenario}");
        let the_one = "SELECT COUNT(*) FROM evento_dead_letter WHERE class = 'permanent' AND attempts = 3 \
                       AND position = x'0000000000000078' AND error LIKE '%3 times in a row%'";
        assert_eq!((ask(&db, the_one).await, ask(&db, DEAD).await), (1, 1), "{scenario}");
        assert_eq!((ask(&db, handled).await, ask(&db, EVENTS).await), (1, 200), "{scenario}: all but that one");
        let left = "SELECT (SELECT COUNT(*) FROM evento_attempt) + (SELECT COUNT(*) FROM evento_ownership)";
        assert_eq!(ask(&db, left).await, 0, "{scenario}: a clean stop leaves no record");
    }
}

#[tokio::test]
async fn sagas_and_observers_lose_nothing_and_a_saga_applies_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("kinds.db");
    let mut moments = Moments::new();
    let rounds = if evento_tests::long() { 300 } else { 15 };
    for run in 0..rounds {
        let round = Run::of("kinds", &db).set("RUN", run).set("APPEND", 200);
        round.kill_after("ready", Duration::from_millis(moments.below(400)));
    }
    assert_eq!(Run::of("kinds", &db).set("RUN", rounds).drain(), 0);
    let (events, again, most) = (ask(&db, EVENTS).await, ask(&db, AGAIN).await, ask(&db, MOST_AGAIN).await);
    eprintln!("{rounds} kills, {events} events, an observer ran {again} again, at most {most} after one kill");
    assert!(events > 300, "only {events} events: the kills came too early to say anything");
    assert_eq!(ask(&db, lost!("observer")).await, 0);
    // Its claims say what was handled: again runs what was running, and what could not say so any more.
    assert!(u64::try_from(most).unwrap() <= WINDOW);
    let applied = "SELECT SUM(CAST(CAST(state AS TEXT) AS INTEGER)) FROM evento_saga";
    assert_eq!(ask(&db, applied).await, events);
    assert_eq!(ask(&db, "SELECT COUNT(*) FROM evento_saga").await, 7);
    assert_eq!(ask(&db, DEAD).await, 0);
}
