//! Notices the appends of other processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::session::SqliteSession;
use crate::store::sql::session::Session as _;

const BRISK: Duration = Duration::from_millis(100);
const LAZY: Duration = Duration::from_secs(1);

/// Asks for the last position until stopped: every 100 ms, backing off to 1 s while nothing comes. A failure is no
/// more than a missed look; whoever reads gets the error itself.
pub(super) async fn run(
    mut connection: SqliteConnection,
    name: Arc<str>,
    wake: watch::Sender<u64>,
    head: Arc<AtomicI64>,
    stop: CancellationToken,
) {
    let mut pause = BRISK;
    loop {
        let mut session = SqliteSession::new(&mut connection, &name);
        let found = session.fetch("SELECT coalesce(max(position), 0) FROM evento_event", &[]).await;
        let found = found.ok().and_then(|rows| rows.first()?.int(0).ok()).unwrap_or(0);
        // The first look tells as well: what it finds may have come after somebody's own.
        if head.fetch_max(found, Ordering::SeqCst) < found {
            wake.send_modify(|count| *count = count.wrapping_add(1));
            pause = BRISK;
        } else {
            pause = (pause * 5 / 4).min(LAZY);
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
        }
    }
    connection.close().await.ok();
}
