//! Hearing of appends of other processes. A hint: the store looks by itself as well, only less often.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio_util::sync::CancellationToken;

use super::server::PostgresServer;
use crate::store::sql::server::{CONNECTING, Inner, Server as _};

const AGAIN: Duration = Duration::from_secs(5);

/// Listens until stopped, on one connection of its own; a lost one is opened anew.
pub(super) async fn run(inner: Weak<Inner<PostgresServer>>, options: PgConnectOptions, stop: CancellationToken) {
    loop {
        let Some((channel, look)) =
            inner.upgrade().map(|inner| (inner.server.channel.clone(), Arc::clone(&inner.look)))
        else {
            return;
        };
        if let Ok(mut listener) = listen(&options, &channel).await {
            told(&inner, true);
            // What was appended in between went unheard.
            look.notify_one();
            loop {
                // Nothing but this task uses the connection: dropping the wait ends with closing it.
                tokio::select! {
                    () = stop.cancelled() => return,
                    heard = listener.try_recv() => match heard {
                        Ok(Some(_)) => look.notify_one(),
                        // It was lost.
                        Ok(None) | Err(_) => break,
                    },
                }
            }
            told(&inner, false);
        } else if let Some(inner) = inner.upgrade() {
            tracing::warn!(store = %inner.server.name(), "cannot listen for appends; looking for them instead");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

fn told(inner: &Weak<Inner<PostgresServer>>, told: bool) {
    if let Some(inner) = inner.upgrade() {
        inner.is_told.store(told, Ordering::Relaxed);
    }
}

async fn listen(options: &PgConnectOptions, channel: &str) -> Result<PgListener, sqlx::Error> {
    let pool =
        PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECTING).max_lifetime(None).idle_timeout(None);
    let pool = pool.connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.ignore_pool_close_event(true);
    listener.eager_reconnect(false);
    listener.listen(channel).await?;
    Ok(listener)
}
