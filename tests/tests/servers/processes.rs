//! Two processes and one consumer on one PostgreSQL: the owner is killed, or stopped past its lease and woken.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use evento_runtime::prelude::*;
use evento_runtime::store::{Postgres, PostgresStore};
use evento_runtime::{BoxError, Bundle, Expected};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::postgres::Corner;

const JOB: &str = "EVENTO_TEST_WORKER";
const LEASE: Duration = Duration::from_millis(1_500);

#[derive(Event, Serialize, Deserialize)]
struct Made {
    n: i64,
}

/// Writes down what it saw, and in which process.
struct Seen {
    pool: PgPool,
    insert: String,
}

#[projector(version = 1)]
impl Seen {
    #[event_handler]
    async fn made(&self, event: Made) -> Result<(), BoxError> {
        let insert = sqlx::query(sqlx::AssertSqlSafe(self.insert.clone()));
        insert.bind(event.n).bind(i64::from(std::process::id())).execute(&self.pool).await?;
        Ok(())
    }
}

/// Does nothing unless it was started by another test.
#[tokio::test(flavor = "multi_thread")]
async fn worker() {
    let Ok(schema) = std::env::var(JOB) else { return };
    let url = evento_tests::servers::reach("EVENTO_TEST_POSTGRES_URL").unwrap();
    let insert = format!("INSERT INTO \"{schema}\".seen (n, pid) VALUES ($1, $2)");
    let seen = Seen { pool: PgPool::connect(&url).await.unwrap(), insert };
    let config = Postgres::url(&url).schema(&schema).lease(LEASE).renew(LEASE / 5);
    let bundle = Bundle::builder("pair").component(seen).store(config).checkpoint_every(1);
    let running = bundle.build().unwrap().start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    drop(running);
}

fn spawn(corner: &Corner) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["processes::worker", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(JOB, corner.schema.name()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

struct Pair {
    corner: Corner,
    store: PostgresStore,
    pool: PgPool,
    appended: i64,
}

impl Pair {
    async fn new() -> Option<Self> {
        let corner = Corner::new()?;
        let store = corner.config().open().await.unwrap();
        let pool = PgPool::connect(&corner.url).await.unwrap();
        let table =
            format!("CREATE TABLE \"{}\".seen (id bigserial PRIMARY KEY, n bigint, pid bigint)", corner.schema.name());
        sqlx::raw_sql(sqlx::AssertSqlSafe(table)).execute(&pool).await.unwrap();
        Some(Self { corner, store, pool, appended: 0 })
    }

    async fn append(&mut self) {
        self.store.append(format!("k{}", self.appended % 7), Expected::Any, [Made { n: self.appended }]).await.unwrap();
        self.appended += 1;
    }

    /// Appends until somebody but `not` has handled something; who that was.
    async fn owner_but(&mut self, not: Option<u32>) -> u32 {
        let began = Instant::now();
        loop {
            self.append().await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            let sql = format!("SELECT pid FROM \"{}\".seen ORDER BY id DESC LIMIT 1", self.corner.schema.name());
            let pid: Option<i64> =
                sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_optional(&self.pool).await.unwrap();
            match pid.map(|pid| u32::try_from(pid).unwrap()) {
                Some(pid) if Some(pid) != not => return pid,
                _ => assert!(began.elapsed() < Duration::from_secs(30), "nobody works"),
            }
        }
    }

    /// Waits until everything was seen; how often anything was seen again.
    async fn all_seen(&self) -> i64 {
        let sql = format!("SELECT count(DISTINCT n), count(*) FROM \"{}\".seen", self.corner.schema.name());
        let began = Instant::now();
        loop {
            let (distinct, all): (i64, i64) =
                sqlx::query_as(sqlx::AssertSqlSafe(sql.clone())).fetch_one(&self.pool).await.unwrap();
            if distinct == self.appended {
                return all - distinct;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{distinct} of {} were seen", self.appended);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_owner_loses_nothing() {
    let Some(mut pair) = Pair::new().await else { return };
    let kills = if evento_tests::long() { 50 } else { 3 };
    let mut children = vec![spawn(&pair.corner), spawn(&pair.corner)];
    let mut owner = pair.owner_but(None).await;
    let mut takeovers = Vec::new();
    for _ in 0..kills {
        let at = children.iter().position(|child| child.id() == owner).unwrap();
        let mut dead = children.remove(at);
        dead.kill().unwrap();
        let killed = Instant::now();
        dead.wait().unwrap();
        children.push(spawn(&pair.corner));
        owner = pair.owner_but(Some(owner)).await;
        takeovers.push(killed.elapsed());
    }
    let again = pair.all_seen().await;
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    takeovers.sort();
    let p95 = takeovers[(takeovers.len() * 95 / 100).min(takeovers.len() - 1)];
    let p50 = takeovers[takeovers.len() / 2];
    println!(
        "{kills} kills, lease {LEASE:?}: {} events, lost 0, again {again}, takeover p50 {p50:?}, p95 {p95:?}",
        pair.appended
    );
    // One event at a time, stored before the next begins.
    assert!(again <= i64::from(kills), "{again}");
    pair.store.close().await;
}

/// Stopped past its lease and woken: what it writes then is refused, and it works again in its turn.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_slept_past_its_lease_writes_nothing() {
    let Some(mut pair) = Pair::new().await else { return };
    let mut children = vec![spawn(&pair.corner), spawn(&pair.corner)];
    let first = pair.owner_but(None).await;
    signal("-STOP", first);
    let second = pair.owner_but(Some(first)).await;
    let epoch = async || -> i64 {
        sqlx::query_scalar(pair.corner.sql("SELECT epoch FROM @checkpoint")).fetch_one(&pair.pool).await.unwrap()
    };
    let before = epoch().await;
    signal("-CONT", first);
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(25)).await;
        assert!(epoch().await >= before);
    }
    for _ in 0..50 {
        pair.append().await;
    }
    let again = pair.all_seen().await;
    assert!(again <= 2, "{again}");
    let owner: Vec<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "SELECT DISTINCT pid FROM (SELECT pid FROM \"{}\".seen ORDER BY id DESC LIMIT 40) AS last",
        pair.corner.schema.name()
    )))
    .fetch_all(&pair.pool)
    .await
    .unwrap();
    assert_eq!(owner, [i64::from(second)]);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    pair.store.close().await;
}
