//! Commits per author and week: a projector in its own loop.

use std::path::Path;

use evento_runtime::prelude::*;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::commits::CommitRecorded;

const WEEK: i64 = 7 * 24 * 3_600;

/// Read model `activity`: the commits of an author in a week, one row a commit, so that a re-run changes nothing.
struct Activity {
    db: SqliteWriter,
}

#[projector(version = 1)]
impl Activity {
    #[inject]
    fn new(db: SqliteWriter) -> Self {
        Self { db }
    }

    #[on_start]
    async fn create_table(&self) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS activity (
                hash TEXT PRIMARY KEY, author TEXT NOT NULL, week INTEGER NOT NULL
            ) WITHOUT ROWID",
        )
        .execute(&mut *db)
        .await?;
        Ok(())
    }

    #[event_handler]
    async fn recorded(&self, commit: CommitRecorded) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query("INSERT INTO activity (hash, author, week) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
            .bind(&commit.hash)
            .bind(&commit.author)
            .bind(commit.authored_at.div_euclid(WEEK))
            .execute(&mut *db)
            .await?;
        Ok(())
    }
}

/// Prints the busiest weeks.
pub(crate) async fn print(db: &Path) -> evento_runtime::Result {
    let mut db = SqliteConnectOptions::new().filename(db).read_only(true).connect().await?;
    let counted: i64 = sqlx::query("SELECT COUNT(*) FROM activity").fetch_one(&mut db).await?.try_get(0)?;
    println!("{counted} commits counted\n\nbusiest weeks");
    let rows = sqlx::query(
        "SELECT author, date(week * 604800, 'unixepoch') AS monday, COUNT(*) AS commits
         FROM activity GROUP BY author, week ORDER BY commits DESC, week DESC, author LIMIT 8",
    )
    .fetch_all(&mut db)
    .await?;
    for row in rows {
        let (author, week): (String, String) = (row.try_get("author")?, row.try_get("monday")?);
        println!("  {:>5}  week of {week}  {author}", row.try_get::<i64, _>("commits")?);
    }
    db.close().await?;
    Ok(())
}
