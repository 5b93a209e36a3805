//! What is hidden, for whoever may see it. Nothing is shown that could not be noted before: who, when, which event.

use axum::Json;
use axum::extract::State;
use serde_json::json;

use super::super::asked::Path;
use super::super::fault::Fault;
use super::super::shared::{Shared, Who};
use super::letters::{LOOK, LetterPath};
use super::{events, letters};
use crate::event::{Redaction, StoredEvent};
use crate::view::{EventView, LetterView};

/// An event of the log with everything, noted.
pub(crate) async fn of_log(shared: &Shared, who: &Who, position: &str) -> Result<EventView, Fault> {
    let event = events::find(shared, position).await?;
    note(shared, who, "the log".to_owned(), &event).await?;
    Ok(EventView::of(&event, &Redaction::default(), LOOK))
}

/// A dead letter with everything, noted.
pub(crate) async fn of_letter(shared: &Shared, who: &Who, path: &LetterPath) -> Result<LetterView, Fault> {
    let (id, _) = shared.find(&path.consumer()).await?;
    let stored = letters::find(shared, path).await?;
    note(shared, who, id.to_string(), &stored.letter.event).await?;
    Ok(LetterView::of(&stored, &Redaction::default(), LOOK))
}

async fn note(shared: &Shared, who: &Who, target: String, event: &StoredEvent) -> Result<(), Fault> {
    let detail = json!({ "position": event.position.to_text(), "event": event.id.to_string(), "name": &*event.name });
    shared.noted(who, "reveal", target, detail.to_string(), "done").await
}

pub(crate) async fn event(
    State(shared): State<Shared>,
    who: Who,
    Path(position): Path<String>,
) -> Result<Json<EventView>, Fault> {
    of_log(&shared, &who, &position).await.map(Json)
}

pub(crate) async fn letter(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<LetterPath>,
) -> Result<Json<LetterView>, Fault> {
    of_letter(&shared, &who, &path).await.map(Json)
}
