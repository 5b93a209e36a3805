//! Pages that are kept up to date: the overview each second, until the bundle stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch;

use super::fault::Fault;
use super::shared::Shared;
use crate::consumer::StopPhase;

/// How often.
const BEAT: Duration = Duration::from_secs(1);

struct Page {
    shared: Shared,
    stop: watch::Receiver<StopPhase>,
    /// Given back when the page is closed.
    _place: OwnedSemaphorePermit,
    first: bool,
}

pub(super) async fn stream(
    State(shared): State<Shared>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    let Ok(place) = Arc::clone(&shared.live).try_acquire_owned() else {
        let message = "too many pages are kept up to date at once; close one, or reload this one by hand";
        return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, "too-many", message));
    };
    let stop = shared.stop.clone();
    let page = Page { shared, stop, _place: place, first: true };
    Ok(Sse::new(unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((Ok(event), page))
    })))
}

impl Page {
    /// The next overview. `None`: the bundle stops.
    async fn next(&mut self) -> Option<Event> {
        let pause = if std::mem::take(&mut self.first) { Duration::ZERO } else { BEAT };
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|phase| *phase != StopPhase::Run) => return None,
            () = tokio::time::sleep(pause) => {}
        }
        let shared = self.shared.clone();
        let look = self.shared.tasks.run(async move { shared.overview().await });
        let looked = tokio::select! {
            biased;
            _ = self.stop.wait_for(|phase| *phase != StopPhase::Run) => return None,
            looked = look => looked,
        };
        // A name or an error has no line of its own in JSON.
        Some(match looked {
            Ok(overview) => {
                Event::default().event("overview").data(serde_json::to_string(&*overview).unwrap_or_default())
            }
            Err(fault) => Event::default().event("fault").data(fault.message.replace(['\r', '\n'], " ")),
        })
    }
}
