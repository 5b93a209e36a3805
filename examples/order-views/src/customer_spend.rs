//! What each customer has paid: a projector without an executor, one event after the other.

use evento_runtime::prelude::*;

use crate::events::OrderPaid;

/// Read model `customer_spend`: one row a customer.
pub struct CustomerSpend {
    db: SqliteWriter,
}

#[projector(version = 1)]
impl CustomerSpend {
    #[inject]
    fn new(db: SqliteWriter) -> Self {
        Self { db }
    }

    #[on_start]
    async fn create_table(&self) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query(
            "CREATE TABLE IF NOT EXISTS customer_spend (
                customer TEXT PRIMARY KEY, orders INTEGER NOT NULL, cents INTEGER NOT NULL, last_position BLOB NOT NULL
            )",
        )
        .execute(&mut *db)
        .await?;
        Ok(())
    }

    /// A re-run after a crash finds its own position and changes nothing.
    #[event_handler]
    async fn paid(&self, event: OrderPaid, position: Position) -> Result<(), BoxError> {
        let mut db = self.db.acquire().await?;
        sqlx::query(
            "INSERT INTO customer_spend (customer, orders, cents, last_position) VALUES (?1, 1, ?2, ?3)
             ON CONFLICT (customer) DO UPDATE SET
                orders = orders + 1, cents = cents + excluded.cents, last_position = excluded.last_position
             WHERE excluded.last_position > last_position",
        )
        .bind(&event.customer)
        .bind(event.cents)
        .bind(position.as_bytes())
        .execute(&mut *db)
        .await?;
        Ok(())
    }
}
