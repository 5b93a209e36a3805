//! What came out, read from the read models themselves.

use std::path::Path;
use std::time::Duration;

use evento_runtime::Running;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};

/// Prints events, rate, dead letters, watermark and the first rows of both read models.
pub(crate) async fn print(db: &Path, running: &Running, fresh: u64, took: Duration) -> evento_runtime::Result {
    let mut dead = 0;
    for status in running.status() {
        let letters = running.store().stores.dead_letters.count(&status.consumer).await?;
        let watermark = status.watermark.map_or_else(|| "-".to_owned(), |position| position.to_string());
        println!("{:<24} watermark {watermark}, dead letters {letters}", status.consumer.component);
        dead += letters;
    }
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = fresh as f64 / seconds;
    println!("{fresh} events in {seconds:.1} s, {rate:.0} events/s, dead letters {dead}");
    let mut db = SqliteConnectOptions::new().filename(db).read_only(true).connect().await?;
    rows(
        &mut db,
        "what customers paid",
        "SELECT customer AS name, orders AS n, cents FROM customer_spend ORDER BY cents DESC, customer LIMIT 5",
    )
    .await?;
    rows(
        &mut db,
        "largest paid orders",
        "SELECT order_id AS name, COUNT(*) AS n, SUM(cents) AS cents FROM order_entry
         GROUP BY order_id HAVING MAX(paid) = 1 ORDER BY SUM(cents) DESC, order_id LIMIT 5",
    )
    .await?;
    db.close().await?;
    Ok(())
}

async fn rows(db: &mut SqliteConnection, title: &str, query: &'static str) -> evento_runtime::Result {
    println!("\n{title}");
    for row in sqlx::query(query).fetch_all(&mut *db).await? {
        let (name, n, cents): (String, i64, i64) = (row.try_get("name")?, row.try_get("n")?, row.try_get("cents")?);
        println!("  {name:<14} {n:>6}  {:>10}.{:02}", cents / 100, cents % 100);
    }
    Ok(())
}
