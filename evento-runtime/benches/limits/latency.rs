//! `latency`: how long after an append was asked for its event is in the handler's hands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evento_runtime::prelude::*;
use evento_runtime::store::Store;
use evento_runtime::{Bundle, Expected, Running};
use serde_json::json;
use tokio::sync::mpsc;

use crate::Options;
use crate::events::drafted;
use crate::places::{Kind, Place, new_name};
use crate::report::{Report, rounded, sorted};
use crate::turns::{Check, Run, alternate, as_f64};

/// Tells when it was called.
struct Told(mpsc::UnboundedSender<Instant>);

#[projector(version = 1)]
impl Told {
    #[event_handler]
    async fn any(&self, _event: RawEvent) {
        self.0.send(Instant::now()).unwrap();
    }

    #[inject]
    fn new(sender: mpsc::UnboundedSender<Instant>) -> Self {
        Self(sender)
    }
}

/// Latencies of one side, over all turns.
#[derive(Default)]
struct Latencies(std::sync::Mutex<Vec<f64>>);

impl Latencies {
    /// A run in which everything took as long as the median.
    fn run(&self, took: Vec<Duration>) -> Run {
        let rounds = took.len() as u64;
        let took = sorted(took.into_iter().map(|took| took.as_secs_f64()));
        let median = took[took.len() / 2];
        self.0.lock().unwrap().extend(took);
        Run::new(Duration::from_secs_f64(median * as_f64(rounds)), rounds, Check::count(rounds))
    }

    /// In microseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let all = sorted(self.0.lock().unwrap().iter().copied());
        rounded(all[(all.len() - 1) * percent / 100] * 1e6)
    }
}

pub(crate) async fn run(options: &Options, report: &mut Report) {
    let rounds = options.events(500, 100);
    for kind in Kind::ALL {
        let Some(place) = kind.open().await else { continue };
        let ours = Latencies::default();
        let limit = Latencies::default();
        let (running, mut told) = listening(&place).await;
        let store = place.store().await;
        let scenario = "latency/in-process";
        alternate_latencies(report, scenario, &place, (&ours, &limit), rounds, &store, &mut told).await;
        running.stop(Duration::from_secs(5)).await.unwrap();
        #[cfg(feature = "postgres")]
        if let Place::Postgres(here) = &place {
            // A store of its own stands for the other process: nothing passes between the two but the server.
            let other = here.beside().await;
            let elsewhere = evento_runtime::store::StoreConfig::open(Box::new(other.clone())).await.unwrap();
            let (running, mut told) = listening(&place).await;
            let (ours, limit) = (Latencies::default(), Latencies::default());
            let scenario = "latency/between-processes";
            alternate_latencies(report, scenario, &place, (&ours, &limit), rounds, &elsewhere, &mut told).await;
            running.stop(Duration::from_secs(5)).await.unwrap();
            other.close().await;
        }
        place.close().await;
    }
}

async fn listening(place: &Place) -> (Running, mpsc::UnboundedReceiver<Instant>) {
    let (sender, told) = mpsc::unbounded_channel();
    let bundle = place.config(Bundle::builder(new_name()).component(Told(sender))).build().unwrap();
    (bundle.start().await.unwrap(), told)
}

async fn alternate_latencies(
    report: &mut Report,
    scenario: &str,
    place: &Place,
    (ours, limit): (&Latencies, &Latencies),
    rounds: u64,
    store: &Store,
    told: &mut mpsc::UnboundedReceiver<Instant>,
) {
    let told = tokio::sync::Mutex::new(told);
    let by_framework = async || {
        let (mut told, mut took) = (told.lock().await, Vec::new());
        // What the last turn left behind.
        while tokio::time::timeout(Duration::from_millis(200), told.recv()).await.is_ok() {}
        for n in 1..=rounds {
            let began = Instant::now();
            store.append(None::<String>, Expected::Any, [drafted(n)]).await.unwrap();
            took.push(told.recv().await.unwrap() - began);
            // It is caught up and sleeps again.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        ours.run(took)
    };
    let by_hand = async || limit.run(by_hand(place, rounds).await);
    // The median is to be at most twice that of the limit.
    alternate(report, scenario, place.name(), 0.5, by_framework, by_hand).await;
    let figures = json!({
        "p50_us": ours.percentile(50), "p99_us": ours.percentile(99),
        "limit_p50_us": limit.percentile(50), "limit_p99_us": limit.percentile(99),
    });
    report.figure(scenario, place.name(), &figures);
}

/// By hand, a row is inserted, somebody is told, and reads it.
async fn by_hand(place: &Place, rounds: u64) -> Vec<Duration> {
    match place {
        Place::Memory(_) => in_memory(rounds).await,
        Place::Sqlite(place) => over_sqlite(place, rounds).await,
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => over_postgres(place, rounds).await,
    }
}

async fn in_memory(rounds: u64) -> Vec<Duration> {
    let (send, mut receive) = mpsc::channel::<NewEvent>(1);
    let (tell, mut told) = mpsc::unbounded_channel();
    let receiver = tokio::spawn(async move {
        while let Some(event) = receive.recv().await {
            tell.send(Instant::now()).unwrap();
            drop(event);
        }
    });
    let mut took = Vec::new();
    for n in 1..=rounds {
        let began = Instant::now();
        send.send(drafted(n)).await.unwrap();
        took.push(told.recv().await.unwrap() - began);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    drop(send);
    receiver.await.unwrap();
    took
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS limits_latest (position INTEGER PRIMARY KEY, payload TEXT NOT NULL)";
const INSERT: &str =
    "INSERT INTO limits_latest (position, payload) SELECT coalesce(max(position), 0) + 1, $1 FROM limits_latest";
const READ: &str = "SELECT position, payload FROM limits_latest WHERE position > $1 ORDER BY position LIMIT 1000";

async fn over_sqlite(place: &crate::places::SqlitePlace, rounds: u64) -> Vec<Duration> {
    use sqlx::Row as _;
    let (mut writer, mut reader) = (place.connect().await, place.connect().await);
    sqlx::raw_sql(TABLE).execute(&mut writer).await.unwrap();
    let mut last: i64 = sqlx::query_scalar("SELECT coalesce(max(position), 0) FROM limits_latest")
        .fetch_one(&mut reader)
        .await
        .unwrap();
    let inserted = Arc::new(tokio::sync::Notify::new());
    let (tell, mut told) = mpsc::unbounded_channel();
    let hint = Arc::clone(&inserted);
    let receiver = tokio::spawn(async move {
        for _ in 1..=rounds {
            hint.notified().await;
            let row = sqlx::query(READ).bind(last).fetch_one(&mut reader).await.unwrap();
            last = row.get(0);
            std::hint::black_box(row.get::<&str, _>(1));
            tell.send(Instant::now()).unwrap();
        }
    });
    let mut took = Vec::new();
    for n in 1..=rounds {
        let payload = serde_json::to_string(&crate::events::Measured::new(n)).unwrap();
        let began = Instant::now();
        sqlx::query(INSERT).bind(payload).execute(&mut writer).await.unwrap();
        inserted.notify_one();
        took.push(told.recv().await.unwrap() - began);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    receiver.await.unwrap();
    took
}

#[cfg(feature = "postgres")]
async fn over_postgres(place: &crate::places::postgres::PostgresPlace, rounds: u64) -> Vec<Duration> {
    use sqlx::Row as _;
    let (mut writer, mut reader) = (place.connect().await, place.connect().await);
    sqlx::raw_sql(TABLE).execute(&mut writer).await.unwrap();
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_lazy_with(place.options.clone());
    let mut listener = sqlx::postgres::PgListener::connect_with(&pool).await.unwrap();
    listener.listen("limits").await.unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    let mut last: i32 = sqlx::query_scalar("SELECT coalesce(max(position), 0) FROM limits_latest")
        .fetch_one(&mut reader)
        .await
        .unwrap();
    let receiver = tokio::spawn(async move {
        for _ in 1..=rounds {
            listener.recv().await.unwrap();
            let row = sqlx::query(READ).bind(last).fetch_one(&mut reader).await.unwrap();
            last = row.get(0);
            std::hint::black_box(row.get::<&str, _>(1));
            tell.send(Instant::now()).unwrap();
        }
        drop(listener);
    });
    let mut took = Vec::new();
    for n in 1..=rounds {
        let payload = serde_json::to_string(&crate::events::Measured::new(n)).unwrap();
        let began = Instant::now();
        sqlx::query(INSERT).bind(payload).execute(&mut writer).await.unwrap();
        sqlx::query("SELECT pg_notify('limits', '')").execute(&mut writer).await.unwrap();
        took.push(told.recv().await.unwrap() - began);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    receiver.await.unwrap();
    pool.close().await;
    took
}
