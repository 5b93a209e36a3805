//! The API: JSON for programs.

pub(super) mod act;
pub(super) mod describe;
pub(super) mod events;
pub(super) mod letters;
pub(super) mod probes;
pub(super) mod prune;
pub(super) mod reveal;
mod schemas;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use super::MAX_PAGE;
use super::asked::{Path, Query};
use super::fault::Fault;
use super::shared::{ConsumerPath, Shared};
use crate::view::{AuditView, CommandView, ConsumerView};

pub(super) async fn overview(State(shared): State<Shared>) -> Result<Response, Fault> {
    Ok(Json(&*shared.overview().await?).into_response())
}

pub(super) async fn bundle(State(shared): State<Shared>) -> Result<Json<Value>, Fault> {
    let overview = shared.overview().await?;
    Ok(Json(json!({
        "bundle": overview.bundle,
        "head": overview.head,
        "store": shared.store.events.describe(),
        "owner": shared.store.stores.lock.owner().to_string(),
        "consumers": overview.consumers.len(),
        "instances": overview.instances.len(),
        "dead_letters": overview.consumers.iter().map(|consumer| consumer.dead_letters).sum::<u64>(),
    })))
}

pub(super) async fn instances(State(shared): State<Shared>) -> Result<Json<Value>, Fault> {
    Ok(Json(json!({ "instances": shared.overview().await?.instances })))
}

pub(super) async fn components(State(shared): State<Shared>) -> Json<Value> {
    Json(json!({ "components": shared.components.0 }))
}

pub(super) async fn executors(State(shared): State<Shared>) -> Result<Json<Value>, Fault> {
    Ok(Json(json!({ "executors": shared.overview().await?.executors })))
}

pub(super) async fn consumers(State(shared): State<Shared>) -> Result<Json<Value>, Fault> {
    Ok(Json(json!({ "consumers": shared.overview().await?.consumers })))
}

pub(super) async fn consumer(
    State(shared): State<Shared>,
    Path(path): Path<ConsumerPath>,
) -> Result<Json<ConsumerView>, Fault> {
    find(&shared, &path).await.map(Json)
}

/// One consumer of the overview.
pub(super) async fn find(shared: &Shared, path: &ConsumerPath) -> Result<ConsumerView, Fault> {
    let (id, _) = shared.find(path).await?;
    let overview = shared.overview().await?;
    overview.consumer(&id).cloned().ok_or_else(|| Fault::not_found(format!("`{id}` has not begun yet")))
}

/// A page of something that is ordered by ids.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct IdPage {
    pub(super) after: String,
    pub(super) limit: Option<usize>,
}

pub(super) async fn audit(State(shared): State<Shared>, Query(page): Query<IdPage>) -> Result<Json<Value>, Fault> {
    let (rows, next) = audited(&shared, &page).await?;
    Ok(Json(json!({ "audit": rows, "next": next })))
}

/// A page of the audit, and where the next one begins.
pub(super) async fn audited(shared: &Shared, page: &IdPage) -> Result<(Vec<AuditView>, Option<String>), Fault> {
    let limit = limited(page.limit);
    let after = (!page.after.is_empty()).then(|| id(&page.after)).transpose()?;
    let rows = shared.store.stores.admin.audit(&shared.bundle, after, limit).await?;
    let rows: Vec<AuditView> = rows.into_iter().map(AuditView::of).collect();
    let next = rows.last().filter(|_| rows.len() == limit).map(|row| row.id.clone());
    Ok((rows, next))
}

pub(super) async fn command(
    State(shared): State<Shared>,
    Path(text): Path<String>,
) -> Result<Json<CommandView>, Fault> {
    let row = shared.store.stores.admin.command(&shared.bundle, id(&text)?).await?;
    row.map(|row| Json(CommandView::of(&row))).ok_or_else(|| Fault::not_found("there is no such command"))
}

/// An id as it is written.
pub(super) fn id(text: &str) -> Result<Uuid, Fault> {
    Uuid::try_parse(text).map_err(|_| Fault::invalid("an id is a UUID: write it as it is shown here"))
}

/// How many rows a page has.
pub(super) fn limited(asked: Option<usize>) -> usize {
    asked.unwrap_or(50).clamp(1, MAX_PAGE)
}
