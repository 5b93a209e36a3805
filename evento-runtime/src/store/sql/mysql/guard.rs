//! Pools of users: no connection that is still within a transaction goes to the next one.

use sqlx::mysql::MySqlPoolOptions;

/// For a pool that handlers use: rolls back what a dropped future has left open before a connection is used again.
///
/// sqlx 0.9.0 can leave a transaction open when the future of a `begin` is dropped; whoever gets that connection next
/// would write into it and lose the writes. It also turns off the ping before each use, which costs as much.
#[must_use]
pub fn guarded_mysql(options: MySqlPoolOptions) -> MySqlPoolOptions {
    options.test_before_acquire(false).before_acquire(|connection, _| {
        Box::pin(async move {
            sqlx::raw_sql("ROLLBACK").execute(connection).await?;
            Ok(true)
        })
    })
}
