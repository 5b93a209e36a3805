//! Dead letters.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::asked::{Path, Query};
use super::super::fault::Fault;
use super::super::shared::{ConsumerPath, Shared};
use super::limited;
use crate::identity::ConsumerId;
use crate::store::{LetterFilter, StoredDeadLetter};
use crate::view::LetterView;
use crate::view::words::{Which, position};

/// How much of a payload a list shows.
const GLANCE: usize = 512;
/// How much of a payload the letter itself shows.
pub(crate) const LOOK: usize = 64 * 1_024;

pub(crate) async fn list(
    State(shared): State<Shared>,
    Path(path): Path<ConsumerPath>,
    Query(which): Query<Which>,
) -> Result<Json<Value>, Fault> {
    let (id, _) = shared.find(&path).await?;
    let (letters, next) = page(&shared, &id, &which).await?;
    Ok(Json(json!({ "letters": letters, "next": next })))
}

/// A page of letters, and after which position the next one begins.
pub(crate) async fn page(
    shared: &Shared,
    id: &ConsumerId,
    which: &Which,
) -> Result<(Vec<LetterView>, Option<String>), Fault> {
    let after = (!which.after.is_empty()).then(|| position(&which.after)).transpose()?;
    let limit = limited(which.limit);
    let letters = shared.store.stores.dead_letters.list(id, &which.filter()?, after.as_ref(), limit).await?;
    let next = letters.last().filter(|_| letters.len() == limit);
    let next = next.map(|last| last.letter.event.position.to_text());
    Ok((letters.iter().map(|letter| LetterView::of(letter, &shared.redaction, GLANCE)).collect(), next))
}

/// A consumer's letter in a path.
#[derive(Debug, Deserialize)]
pub(crate) struct LetterPath {
    component: String,
    version: u32,
    context: String,
    position: String,
}

impl LetterPath {
    pub(crate) fn consumer(&self) -> ConsumerPath {
        let (component, context) = (self.component.clone(), self.context.clone());
        ConsumerPath { component, version: self.version, context }
    }
}

pub(crate) async fn find(shared: &Shared, path: &LetterPath) -> Result<StoredDeadLetter, Fault> {
    let (id, _) = shared.find(&path.consumer()).await?;
    let at = LetterFilter::at(position(&path.position)?);
    let letters = shared.store.stores.dead_letters.list(&id, &at, None, 1).await?;
    let none = || Fault::not_found(format!("`{id}` has no unresolved dead letter at position {}", path.position));
    letters.into_iter().next().ok_or_else(none)
}

pub(crate) async fn one(State(shared): State<Shared>, Path(path): Path<LetterPath>) -> Result<Json<LetterView>, Fault> {
    Ok(Json(LetterView::of(&find(&shared, &path).await?, &shared.redaction, LOOK)))
}

pub(crate) async fn payload(State(shared): State<Shared>, Path(path): Path<LetterPath>) -> Result<Response, Fault> {
    let letter = find(&shared, &path).await?;
    Ok(super::events::download(&shared, &letter.letter.event))
}
