//! Pools of users: no connection that is still within a transaction goes to the next one.

use sqlx::postgres::PgPoolOptions;

/// For a pool that handlers use: rolls back what a dropped future has left open before a connection is used again.
///
/// sqlx 0.9.0 can leave a transaction open when the future of a `begin` is dropped; whoever gets that connection next
/// would write into it and lose the writes. It also turns off the ping before each use, which costs more than this.
///
/// ```
/// use evento_runtime::store::sql::guarded_postgres;
/// use sqlx::postgres::PgPoolOptions;
/// let options = guarded_postgres(PgPoolOptions::new().max_connections(8));
/// # let _ = options;
/// ```
#[must_use]
pub fn guarded_postgres(options: PgPoolOptions) -> PgPoolOptions {
    options.test_before_acquire(false).before_acquire(|connection, _| {
        Box::pin(async move {
            // Without the warning that there was nothing to roll back. A failed transaction fails here: sqlx closes it.
            let undo = "SET LOCAL client_min_messages = error; ROLLBACK";
            sqlx::raw_sql(undo).execute(connection).await?;
            Ok(true)
        })
    })
}
