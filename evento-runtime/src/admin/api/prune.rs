//! What of the log nobody needs any more: how much that is, and taking it out.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::super::asked::Query;
use super::super::fault::Fault;
use super::super::shared::{Shared, Who};
use super::act::said;
use crate::error::{StoreError, StoreErrorKind};
use crate::event::Timestamp;
use crate::view::{PrunedView, time, words};

/// Events that one request takes out of, at most.
const AT_ONCE: usize = 20_000;
/// Events that one request counts, at most.
const COUNTED: usize = 100_000;

/// How old.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Before {
    pub(crate) before: String,
}

impl Before {
    pub(crate) fn time(&self) -> Result<Timestamp, Fault> {
        Ok(words::time(&self.before)?)
    }
}

/// What became of it.
pub(crate) struct Outcome {
    /// Its row of the audit.
    pub(crate) audit: Uuid,
    done: Result<PrunedView, Fault>,
}

pub(crate) async fn count(shared: &Shared, before: &Before) -> Result<PrunedView, Fault> {
    shared.store.prunable(before.time()?, COUNTED).await.map(PrunedView::of).map_err(fault)
}

/// Notes it, does it, notes what became of it.
pub(crate) async fn act(shared: &Shared, who: &Who, before: &Before) -> Result<Outcome, Fault> {
    let time = before.time()?;
    let detail = json!({ "before": time::text(time) }).to_string();
    let audit = shared.begin(who, "prune", "the log".to_owned(), detail).await?;
    let done = shared.store.prune(time, AT_ONCE).await.map(PrunedView::of);
    let result = match &done {
        Ok(view) => view.text(),
        Err(error) => format!("refused: {error}"),
    };
    shared.end(audit, result).await?;
    Ok(Outcome { audit, done: done.map_err(fault) })
}

/// A log that cannot be pruned here is no failure of the store.
fn fault(error: StoreError) -> Fault {
    match error.kind() {
        StoreErrorKind::Config => Fault::conflict("refused", error.to_string()),
        _ => error.into(),
    }
}

pub(crate) async fn prunable(
    State(shared): State<Shared>,
    Query(before): Query<Before>,
) -> Result<Json<PrunedView>, Fault> {
    count(&shared, &before).await.map(Json)
}

pub(crate) async fn prune(
    State(shared): State<Shared>,
    who: Who,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<serde_json::Value>, Fault> {
    let Outcome { audit, done } = act(&shared, &who, &said::<Before>(&headers, &body)?).await?;
    let done = done?;
    let PrunedView { events, to, more, slowest } = &done;
    let (audit, result) = (audit.to_string(), done.text());
    Ok(Json(json!({
        "audit": audit, "result": result, "events": events, "to": to, "more": more, "slowest": slowest,
    })))
}
