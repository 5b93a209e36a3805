//! The process that `tests/crash.rs` kills: it appends, it handles, and it writes what it handled into the database
//! that holds the log, so that plain SQL can tell afterwards what was lost and what ran again.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test program")]

use std::path::PathBuf;
use std::time::Duration;

use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::prelude::*;
use evento_runtime::store::{Sqlite, Synchronous};
use evento_runtime::{Bundle, BundleBuilder, CheckpointMode, Expected, Running};
use sqlx::SqliteConnection;

/// What the parent asks for, as environment variables.
struct Settings {
    db: PathBuf,
    /// A number of this run, for the table of effects.
    run: i64,
    /// Events to append before anything is killed.
    append: u64,
    /// A file whose lines are the payloads.
    data: Option<PathBuf>,
    /// Stop cleanly once everything is settled.
    drain: bool,
    window: usize,
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(format!("CRASH_{name}")).ok().and_then(|text| text.parse().ok())
}

impl Settings {
    fn read() -> Self {
        Self {
            db: setting("DB").unwrap(),
            run: setting("RUN").unwrap_or_default(),
            append: setting("APPEND").unwrap_or_default(),
            data: setting("DATA"),
            drain: setting("DRAIN").unwrap_or_default(),
            window: setting("WINDOW").unwrap_or(1_024),
        }
    }
}

/// Writes a row for every event it has handled.
#[derive(Clone)]
struct Effects {
    run: i64,
    db: SqliteWriter,
}

impl Effects {
    async fn make_table(&self) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS effect (
                who TEXT NOT NULL, position INTEGER NOT NULL, run INTEGER NOT NULL, payload BLOB NOT NULL,
                PRIMARY KEY (who, position, run)
            ) WITHOUT ROWID",
        )
        .execute(&mut *db)
        .await?;
        Ok(())
    }

    async fn write(&self, who: &str, event: &RawEvent) -> Result<(), BoxError> {
        let position = event.position.as_u64().ok_or("not a number")?;
        // Long enough that many are under way at any moment.
        tokio::time::sleep(Duration::from_micros(position * 7_919 % 2_500)).await;
        let mut db = self.db.acquire().await?;
        self.write_in(&mut db, who, event).await
    }

    async fn write_in(&self, db: &mut SqliteConnection, who: &str, event: &RawEvent) -> Result<(), BoxError> {
        sqlx::query("INSERT INTO effect (who, position, run, payload) VALUES (?1, ?2, ?3, ?4)")
            .bind(who)
            .bind(i64::try_from(event.position.as_u64().ok_or("not a number")?)?)
            .bind(self.run)
            .bind(&event.payload[..])
            .execute(db)
            .await?;
        Ok(())
    }
}

struct Parallel(Effects);

#[projector(version = 1)]
impl Parallel {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool", retry = 0)]
    async fn any(&self, event: RawEvent) -> Result<(), BoxError> {
        self.0.write("parallel", &event).await
    }
}

/// So that what shares their transaction is undone and runs again.
fn some_fail_at_first(event: &RawEvent, attempt: Attempt) -> Result<(), BoxError> {
    let fails = attempt.0 == 1 && event.position.as_u64().is_some_and(|position| position.is_multiple_of(97));
    if fails { Err("it fails at first".into()) } else { Ok(()) }
}

/// What it writes and that it has handled the event are one commit.
struct Exactly(Effects);

#[projector(version = 1)]
impl Exactly {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool", retry = 1, retry_delay = "1ms")]
    async fn any(&self, event: RawEvent, tx: &mut Tx<Sqlite>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.write_in(tx, "exactly", &event).await?;
        some_fail_at_first(&event, attempt)
    }
}

/// The same, one event after the other.
struct InOrder(Effects);

#[projector(version = 1)]
impl InOrder {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(retry_delay = "1ms")]
    async fn any(&self, event: RawEvent, tx: &mut Tx<Sqlite>, attempt: Attempt) -> Result<(), BoxError> {
        self.0.write_in(tx, "in-order", &event).await?;
        some_fail_at_first(&event, attempt)
    }
}

/// The same, many at once.
struct Batched(Effects);

#[projector(version = 1)]
impl Batched {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool", batch = 40, linger = "1ms", retry = 1, retry_delay = "1ms")]
    async fn any(&self, events: Vec<RawEvent>, tx: &mut Tx<Sqlite>, attempt: Attempt) -> Result<(), BoxError> {
        for event in &events {
            self.0.write_in(tx, "batched", event).await?;
        }
        events.iter().try_for_each(|event| some_fail_at_first(event, attempt))
    }
}

/// Every first attempt fails, unless told otherwise; the next one is half a minute away.
struct Failing(Effects, bool);

#[projector(version = 1)]
impl Failing {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0, setting("SUCCEED").unwrap_or_default())
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool", retry = 1, retry_delay = "30s")]
    async fn any(&self, event: RawEvent, attempt: Attempt) -> Result<(), BoxError> {
        if attempt.0 == 1 && !self.1 {
            return Err("first attempts fail".into());
        }
        self.0.write("failing", &event).await
    }
}

/// One event after the other; kills the process in the middle of one.
struct Sequential(Effects);

#[projector(version = 1)]
impl Sequential {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler]
    async fn any(&self, event: RawEvent) -> Result<(), BoxError> {
        if event.position.as_u64() == setting("DIE_AT") {
            kill_myself();
        }
        self.0.write("sequential", &event).await
    }
}

/// One event ends the process whenever it is handled.
struct Poisoned(Effects);

#[projector(version = 1)]
impl Poisoned {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool")]
    async fn any(&self, event: RawEvent) -> Result<(), BoxError> {
        poison(&event);
        self.0.write("parallel", &event).await
    }
}

/// The same, one event after the other.
struct PoisonedInOrder(Effects);

#[projector(version = 1)]
impl PoisonedInOrder {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler]
    async fn any(&self, event: RawEvent) -> Result<(), BoxError> {
        poison(&event);
        self.0.write("sequential", &event).await
    }
}

fn poison(event: &RawEvent) {
    if event.position.as_u64() == setting("DIE_AT") {
        std::process::abort();
    }
}

fn kill_myself() -> ! {
    let me = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-9", &me]).status();
    std::process::abort()
}

/// The same in function style, on an executor.
#[projector(version = 1)]
struct Functions;

#[event_handler(projector = Functions, executor = "pool", retry = 3)]
async fn any(event: RawEvent, Dep(run): Dep<i64>, Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    Effects { run, db }.write("functions", &event).await
}

#[derive(Event, serde::Serialize, serde::Deserialize)]
struct Counted {
    order: String,
}

/// Counts the events of each order in its state, and in nothing else.
struct Counts;

#[saga(version = 1)]
impl Counts {
    #[saga_event_handler(init, association = order)]
    async fn counted(&self, event: Counted, state: &mut u64) {
        let _ = event;
        *state += 1;
        tokio::task::yield_now().await;
    }
}

struct Watching(Effects);

#[observer(version = 1)]
impl Watching {
    #[inject]
    fn new(effects: EffectsOf) -> Self {
        Self(effects.0)
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        self.0.make_table().await
    }

    #[event_handler(executor = "pool", retry = 0)]
    async fn any(&self, event: RawEvent) -> Result<(), BoxError> {
        self.0.write("observer", &event).await
    }
}

/// Filled in where the store is open.
#[derive(Clone)]
struct EffectsOf(Effects);

#[tokio::main]
async fn main() -> evento_runtime::Result {
    let settings = Settings::read();
    let scenario = std::env::args().nth(1).unwrap();
    let store = Sqlite::file(&settings.db).synchronous(Synchronous::Normal).open().await?;
    let effects = Effects { run: settings.run, db: store.writer() };
    let builder = Bundle::builder("crash").store(store).provide(EffectsOf(effects)).provide(settings.run);
    let running = scenario_of(&scenario, builder, &settings).build()?.start().await?;
    println!("ready");
    append(&running, &scenario, &settings).await?;
    println!("appended");
    if !settings.drain {
        // Until the parent has had enough.
        std::future::pending::<()>().await;
    }
    let head = running.store().events.head().await?;
    while !running.status().iter().all(|consumer| consumer.watermark >= head) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let dead: u64 = running.status().iter().map(|consumer| consumer.counters.dead_lettered).sum();
    running.stop(Duration::from_secs(20)).await?;
    println!("drained, {dead} dead letters");
    Ok(())
}

fn scenario_of(scenario: &str, builder: BundleBuilder, settings: &Settings) -> BundleBuilder {
    let builder = builder.window(settings.window);
    let lanes = |n| -> std::sync::Arc<dyn ConsumerExecutor> { ConsumerExecutors::partitioned("pool", n) };
    // Where a process lives for a tenth of a second, a kill hits the same innocent event several times in a row.
    let builder = if scenario.starts_with("poison") { builder } else { builder.unclean_ends(1_000) };
    match scenario {
        "watermark" => builder.register::<Parallel>().executor(lanes(16)).checkpoint_mode(CheckpointMode::Watermark),
        "exactly" => builder.register::<Exactly>().register::<InOrder>().register::<Batched>().executor(lanes(16)),
        "on-start" => builder
            .register::<Failing>()
            .executor(ConsumerExecutors::tasks("pool", 8))
            .checkpoint_mode(CheckpointMode::OnStart),
        // A claim of the dead is waited for no longer than a round takes.
        "kinds" => builder
            .component(Counts)
            .register::<Watching>()
            .executor(ConsumerExecutors::tasks("pool", 8))
            .claim_expiry(Duration::from_millis(300)),
        "two-style" => builder
            .register::<Sequential>()
            .register::<Functions>()
            .executor(lanes(16))
            .checkpoint_mode(CheckpointMode::Watermark),
        "poison-in-order" => builder.register::<PoisonedInOrder>(),
        "poison-on-start" => builder
            .register::<Poisoned>()
            .executor(ConsumerExecutors::tasks("pool", 4))
            .checkpoint_mode(CheckpointMode::OnStart),
        "poison" => builder.register::<Poisoned>().executor(lanes(16)).checkpoint_mode(CheckpointMode::Watermark),
        other => unreachable!("no scenario {other}"),
    }
}

async fn append(running: &Running, scenario: &str, settings: &Settings) -> evento_runtime::Result {
    let events: Vec<NewEvent> = match &settings.data {
        Some(file) => std::fs::read_to_string(file)?.lines().map(webhook).collect(),
        None if scenario == "kinds" => {
            (0..settings.append).map(|n| Counted { order: format!("o{}", n % 7) }.into()).collect()
        }
        None => (0..settings.append)
            .map(|n| {
                NewEvent::raw("crash.made", "text/plain", format!("payload {n}\0\u{ff}")).key(format!("k{}", n % 40))
            })
            .collect(),
    };
    for batch in events.chunks(50) {
        running.store().append(None::<String>, Expected::Any, batch.to_vec()).await?;
    }
    Ok(())
}

/// A line of the file, whole, under a fresh id.
fn webhook(line: &str) -> NewEvent {
    let fields: serde_json::Value = serde_json::from_str(line).unwrap();
    let event = NewEvent::raw(fields["type"].as_str().unwrap(), "application/json", line.to_owned());
    match fields["subject"].as_str() {
        Some(subject) => event.key(subject),
        None => event,
    }
}
