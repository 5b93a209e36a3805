//! The log.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::asked::{Path, Query};
use super::super::fault::Fault;
use super::super::shared::Shared;
use super::letters::LOOK;
use super::limited;
use crate::error::StoreErrorKind;
use crate::event::{Position, StoredEvent};
use crate::identity::ContextPattern;
use crate::source::{Browse, EventFilter, FetchLimits};
use crate::view::EventView;
use crate::view::words::{position, time};

/// How much of a payload a list shows.
const GLANCE: usize = 256;
/// Bytes that one page reads.
const BYTES: usize = 16 * 1_024 * 1_024;

/// Which events are meant. A field that is empty says nothing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    /// Ascending, after this position.
    pub(crate) after: String,
    /// Before this position; descending, where nothing else is said.
    pub(crate) before: String,
    /// Ascending, from the first that was recorded then or later.
    pub(crate) since: String,
    /// Of this name; ascending.
    pub(crate) name: String,
    /// Of this context.
    pub(crate) context: String,
    /// Of this key in the context, `default` unless that is said; ascending.
    pub(crate) key: String,
    pub(crate) limit: Option<usize>,
}

/// A page of events.
pub(crate) struct Events {
    pub(crate) events: Vec<EventView>,
    /// Where the next page goes on: the name of the field and its value.
    pub(crate) next: Option<(&'static str, String)>,
}

pub(crate) async fn list(State(shared): State<Shared>, Query(wanted): Query<Wanted>) -> Result<Json<Value>, Fault> {
    let Events { events, next } = page(&shared, &wanted).await?;
    let next = next.map(|(field, value)| json!({ field: value }));
    Ok(Json(json!({ "events": events, "next": next })))
}

pub(crate) async fn page(shared: &Shared, wanted: &Wanted) -> Result<Events, Fault> {
    let log = &shared.store.events;
    let limit = limited(wanted.limit);
    let said = |text: &str| (!text.is_empty()).then(|| position(text)).transpose();
    // All that is said is understood before anything is read, needed or not.
    let (mut after, before) = (said(&wanted.after)?, said(&wanted.before)?);
    let since = (!wanted.since.is_empty()).then(|| time(&wanted.since)).transpose()?;
    let context = match &*wanted.context {
        // With a key it is no pattern.
        text if text.is_empty() || !wanted.key.is_empty() => ContextPattern::All,
        text => ContextPattern::parse(text).map_err(|why| Fault::invalid(format!("the context: {why}")))?,
    };
    if let (Some(since), None) = (since, &after) {
        after = log.before(since).await?;
    }
    let is_wanted = |position: &Position| before.as_ref().is_none_or(|before| position < before);
    let look = |event: &StoredEvent| EventView::of(event, &shared.redaction, GLANCE);
    let view = |events: &[StoredEvent]| events.iter().map(look).collect::<Vec<_>>();
    if !wanted.key.is_empty() {
        let context = if wanted.context.is_empty() { crate::event::DEFAULT_CONTEXT } else { &wanted.context };
        let which = Browse::Key { context: context.to_owned(), key: wanted.key.clone(), after };
        let mut positions = log.positions(&which, limit).await?;
        positions.retain(is_wanted);
        let next = positions.last().filter(|_| positions.len() == limit).map(|last| ("after", last.to_text()));
        let mut events = log.read_exact(&positions).await?;
        if !wanted.name.is_empty() {
            events.retain(|event| *event.name == *wanted.name);
        }
        return Ok(Events { events: view(&events), next });
    }
    let filtered = !wanted.name.is_empty() || !wanted.context.is_empty();
    if after.is_none() && !filtered && since.is_none() {
        let which = Browse::Latest { before };
        let positions = log.positions(&which, limit).await?;
        let next = positions.last().filter(|_| positions.len() == limit).map(|last| ("before", last.to_text()));
        let mut events = log.read_exact(&positions).await?;
        events.reverse();
        return Ok(Events { events: view(&events), next });
    }
    let names = (!wanted.name.is_empty()).then(|| [wanted.name.clone()].into());
    if wanted.name.contains('\0') {
        return Ok(Events { events: Vec::new(), next: None });
    }
    let limits = FetchLimits { events: limit, bytes: BYTES };
    let batch = log.fetch(after.as_ref(), limits, &EventFilter::new(names, context)).await;
    let batch = batch.map_err(|error| match error.kind() {
        // A position that was typed in may be one of another log.
        StoreErrorKind::Corrupt if after.is_some() => Fault::invalid(error.to_string()),
        _ => error.into(),
    })?;
    let mut events = batch.events;
    let next = batch.read_to.filter(|last| batch.more && is_wanted(last)).map(|last| ("after", last.to_text()));
    events.retain(|event| is_wanted(&event.position));
    Ok(Events { events: view(&events), next })
}

pub(crate) async fn find(shared: &Shared, text: &str) -> Result<StoredEvent, Fault> {
    let found = shared.store.events.read_exact(&[position(text)?]).await?;
    found.into_iter().next().ok_or_else(|| Fault::not_found(format!("the log has no event at position {text}")))
}

pub(crate) async fn one(State(shared): State<Shared>, Path(text): Path<String>) -> Result<Json<EventView>, Fault> {
    Ok(Json(EventView::of(&find(&shared, &text).await?, &shared.redaction, LOOK)))
}

pub(crate) async fn payload(State(shared): State<Shared>, Path(text): Path<String>) -> Result<Response, Fault> {
    Ok(download(&shared, &find(&shared, &text).await?))
}

/// The bytes, with dots for what is sensitive, to be kept and never to be looked at by a browser: whatever they claim to be.
pub(super) fn download(shared: &Shared, event: &StoredEvent) -> Response {
    let mut response = Response::new(Body::from(shared.redaction.payload(event).into_owned()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"payload\""));
    response
}
