//! What is asked by machines that watch machines: metrics and health.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::super::fault::Fault;
use super::super::shared::Shared;

/// A loop that has not answered for so long does not turn.
const PATIENCE: Duration = Duration::from_secs(2);

/// In the text that Prometheus reads.
pub(crate) async fn metrics(State(shared): State<Shared>) -> Result<Response, Fault> {
    let Some((text, kind)) = shared.scraped.text().await else {
        return Err(Fault::not_found("the program was built without the feature `metrics` of evento-runtime"));
    };
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response())
}

/// Whether the loops turn. A new process would not be better off where a store or an event is the trouble.
pub(crate) async fn live(State(shared): State<Shared>) -> Response {
    let health = shared.health.check(PATIENCE).await;
    (status(health.live), Json(health.to_json())).into_response()
}

/// Whether everything is settled that the start waits for.
pub(crate) async fn ready(State(shared): State<Shared>) -> Response {
    let health = shared.health.check(PATIENCE).await;
    (status(health.live && health.ready), Json(health.to_json())).into_response()
}

const fn status(good: bool) -> StatusCode {
    if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}
