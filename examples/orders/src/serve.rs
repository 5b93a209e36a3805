//! The admin pages, with load running below them.

use std::net::SocketAddr;
use std::time::Duration;

use evento_runtime::admin::{self, Access};
use evento_runtime::{Expected, NewEvent, Running, shutdown_signal};
use tokio::net::TcpListener;

use crate::feed;

/// Events appended at once.
const BATCH: u64 = 20;
/// Between two batches.
const PAUSE: Duration = Duration::from_millis(100);
/// One event in so many cannot be decoded, so that there are dead letters to look at.
const BROKEN: u64 = 500;

/// Serves until the program is asked to stop.
pub(crate) async fn until_stopped(running: &Running, address: SocketAddr) -> evento_runtime::Result {
    let app = axum::Router::new().merge(admin::router(running, Access::loopback_only()));
    let listener = TcpListener::bind(address).await?;
    println!("open http://{}/ (this machine only); Ctrl-C ends it", listener.local_addr()?);
    let server = axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>());
    tokio::select! {
        served = server => served?,
        loaded = load(running) => loaded?,
        () = shutdown_signal() => {}
    }
    Ok(())
}

/// Appends for ever.
async fn load(running: &Running) -> evento_runtime::Result {
    for batch in 0_u64.. {
        let events = (batch * BATCH..(batch + 1) * BATCH).map(|n| {
            if n % BROKEN == BROKEN - 1 {
                NewEvent::raw(
                    "OrderPaid",
                    "application/json",
                    format!("{{\"order_id\":\"order-{n}\",\"cents\":\"<many>\"}}"),
                )
            } else {
                feed::generated(n)
            }
        });
        match running.store().append(None::<String>, Expected::Any, events.collect::<Vec<_>>()).await {
            Ok(_) => {}
            // A file that was loaded before knows some of them.
            Err(evento_runtime::AppendError::PartlyKnown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
