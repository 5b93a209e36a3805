//! Files that change together: free functions on an executor.

use std::path::Path;

use evento_runtime::prelude::*;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

use crate::commits::CommitRecorded;

/// Commits that touch more files than this say nothing about which belong together.
const LARGEST: usize = 30;

/// Read model `touched`: which files a commit changed.
#[projector(version = 1, name = "FilesTogether")]
struct Together;

#[on_start(projector = Together)]
async fn create_table(Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    let mut db = db.acquire().await?;
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS touched (
            file TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (hash, file)
        ) WITHOUT ROWID",
    )
    .execute(&mut *db)
    .await?;
    Ok(())
}

/// All files of a commit in one transaction; a re-run changes nothing.
#[event_handler(projector = Together, executor = "files", retry = 3)]
async fn recorded(commit: CommitRecorded, Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    if commit.files.len() > LARGEST {
        return Ok(());
    }
    let mut db = db.acquire().await?;
    let mut transaction = db.begin_with("BEGIN IMMEDIATE").await?;
    for file in &commit.files {
        sqlx::query("INSERT INTO touched (file, hash) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .bind(file)
            .bind(&commit.hash)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Prints the pairs that most often change in one commit.
pub(crate) async fn print(db: &Path) -> evento_runtime::Result {
    let mut db = SqliteConnectOptions::new().filename(db).read_only(true).connect().await?;
    println!("\nfiles that change together");
    let rows = sqlx::query(
        "SELECT a.file AS one, b.file AS other, COUNT(*) AS commits
         FROM touched AS a JOIN touched AS b ON a.hash = b.hash AND a.file < b.file
         GROUP BY a.file, b.file ORDER BY commits DESC, one, other LIMIT 8",
    )
    .fetch_all(&mut db)
    .await?;
    for row in rows {
        let (one, other): (String, String) = (row.try_get("one")?, row.try_get("other")?);
        println!("  {:>5}  {one}  {other}", row.try_get::<i64, _>("commits")?);
    }
    db.close().await?;
    Ok(())
}
