//! What each order is worth: free functions that join a projector and run in parallel.

use evento_runtime::prelude::*;

use crate::events::{LineAdded, OrderPaid, OrderPlaced};

/// Read model `order_entry`: one row an event, so that neither order nor a re-run can falsify a sum.
#[projector(version = 1)]
pub struct OrderTotals;

/// The executor of this read model; the application decides its size.
pub const READ_MODEL: &str = "read-model";

#[on_start(projector = OrderTotals)]
async fn create_table(Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    let mut db = db.acquire().await?;
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS order_entry (
            order_id TEXT NOT NULL, version INTEGER NOT NULL, cents INTEGER NOT NULL, paid INTEGER NOT NULL,
            PRIMARY KEY (order_id, version)
        ) WITHOUT ROWID",
    )
    .execute(&mut *db)
    .await?;
    Ok(())
}

#[event_handler(projector = OrderTotals, executor = "read-model", retry = 3)]
async fn placed(event: OrderPlaced, meta: Metadata, Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    store(&db, event.order_id, &meta, 0, false).await
}

#[event_handler(projector = OrderTotals, executor = READ_MODEL, retry = 3)]
async fn line_added(event: LineAdded, meta: Metadata, Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    store(&db, event.order_id, &meta, event.cents, false).await
}

#[event_handler(projector = OrderTotals, executor = READ_MODEL, retry = 3)]
async fn paid(event: OrderPaid, meta: Metadata, Dep(db): Dep<SqliteWriter>) -> Result<(), BoxError> {
    store(&db, event.order_id, &meta, 0, true).await
}

/// What waits for the writer at the same moment shares a commit: `transaction` instead of a guard.
async fn store(db: &SqliteWriter, order_id: String, meta: &Metadata, cents: i64, paid: bool) -> Result<(), BoxError> {
    let version = i64::try_from(meta.version().unwrap_or_default())?;
    db.transaction(move |db| {
        Box::pin(async move {
            sqlx::query(
                "INSERT INTO order_entry (order_id, version, cents, paid) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )
            .bind(order_id)
            .bind(version)
            .bind(cents)
            .bind(paid)
            .execute(db)
            .await?;
            Ok(())
        })
    })
    .await
}
