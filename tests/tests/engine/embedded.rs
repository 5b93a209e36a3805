//! The engine over the embedded database: one writer, many lanes.

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::prelude::*;
use evento_runtime::store::{Sqlite, Synchronous};
use evento_runtime::{CheckpointMode, Expected};
use sqlx::Row as _;

use crate::scripted::{Made, over, settled, stop};

struct Upserts {
    db: SqliteWriter,
}

#[projector(version = 1)]
impl Upserts {
    #[inject]
    fn new(db: SqliteWriter) -> Self {
        Self { db }
    }

    #[on_start]
    async fn make_table(&self) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query("CREATE TABLE total (key INTEGER PRIMARY KEY, n INTEGER NOT NULL)").execute(&mut *db).await?;
        Ok(())
    }

    #[event_handler(executor = "pool", retry = 0)]
    async fn made(&self, event: Made) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query("INSERT INTO total (key, n) VALUES (?1, 1) ON CONFLICT (key) DO UPDATE SET n = n + 1")
            .bind(i64::try_from(event.n % 1_000)?)
            .execute(&mut *db)
            .await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_permits_share_one_writer_without_a_busy_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::file(folder.path().join("b.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    for batch in 0..50 {
        let events = (batch * 1_000..(batch + 1) * 1_000).map(|n| Made { n });
        store.append(None::<String>, Expected::Any, events).await.unwrap();
    }
    let running = over(store.clone())
        .register::<Upserts>()
        .executor(ConsumerExecutors::tasks("pool", 64))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    settled(&running, &Position::from_u64(50_000)).await;
    let counters = running.status()[0].counters;
    assert_eq!((counters.started, counters.failed, counters.dead_lettered), (50_000, 0, 0));
    stop(running).await;
    let mut db = store.writer().acquire().await.unwrap();
    let sum: i64 = sqlx::query("SELECT SUM(n) FROM total").fetch_one(&mut *db).await.unwrap().get(0);
    assert_eq!(sum, 50_000);
    drop(db);
    store.close().await;
}
