//! What changes something. Each is noted before it is done, and what became of it after.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::asked::Path;
use super::super::fault::Fault;
use super::super::shared::{ConsumerPath, Shared, Who};
use crate::consumer::SeekTo;
use crate::engine::{Delivered, Errand, RemoteConsumer};
use crate::error::AdminError;
use crate::event::{Position, Timestamp};
use crate::store::LetterFilter;
use crate::view::time;
use crate::view::words::{self, Which, action, position};

/// Something an operator may ask for.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Pause,
    Resume,
    Seek { to: SeekTo, keep: bool },
    Skip { position: Position },
    Redrive { which: LetterFilter, said: Value },
    Discard { which: LetterFilter, said: Value },
    Purge { before: Timestamp },
}

impl Action {
    const fn name(&self) -> &'static str {
        match self {
            Self::Pause => action::PAUSE,
            Self::Resume => action::RESUME,
            Self::Seek { .. } => action::SEEK,
            Self::Skip { .. } => action::SKIP,
            Self::Redrive { .. } => action::REDRIVE,
            Self::Discard { .. } => action::DISCARD,
            Self::Purge { .. } => action::PURGE,
        }
    }

    fn errand(&self) -> Option<Errand> {
        match self {
            Self::Seek { to, keep } => Some(Errand::Seek { to: to.clone(), keep: *keep }),
            Self::Skip { position } => Some(Errand::Skip { position: position.clone() }),
            _ => None,
        }
    }

    fn detail(&self) -> Value {
        match self {
            Self::Redrive { said, .. } | Self::Discard { said, .. } => said.clone(),
            Self::Purge { before } => json!({ "before": time::text(*before) }),
            _ => self.errand().map_or_else(|| json!({}), |errand| errand.to_json()),
        }
    }

    async fn carry_out(&self, consumer: &RemoteConsumer) -> Result<Done, AdminError> {
        match self {
            Self::Pause => consumer.pause().await.map(|()| Done::default()),
            Self::Resume => consumer.resume().await.map(|()| Done::default()),
            Self::Redrive { which, .. } => Ok(Done::letters(consumer.redrive(which.clone()).await?)),
            Self::Discard { which, .. } => Ok(Done::letters(consumer.discard(which.clone()).await?)),
            Self::Purge { before } => Ok(Done::letters(consumer.purge(*before).await?)),
            Self::Seek { .. } | Self::Skip { .. } => {
                let Some(errand) = self.errand() else { return Ok(Done::default()) };
                match consumer.deliver(&errand).await? {
                    Delivered::Done => Ok(Done::default()),
                    Delivered::Waiting(command) => Ok(Done { command: Some(command), ..Done::default() }),
                }
            }
        }
    }
}

/// What became of an action.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    letters: Option<u64>,
    command: Option<Uuid>,
}

impl Done {
    fn letters(letters: u64) -> Self {
        Self { letters: Some(letters), ..Self::default() }
    }

    fn text(self) -> String {
        match (self.letters, self.command) {
            (_, Some(command)) => format!("waiting: the owner has not carried it out within five seconds ({command})"),
            (Some(letters), None) => format!("done: {letters} dead letters"),
            (None, None) => "done".to_owned(),
        }
    }
}

/// What is told of an action.
pub(crate) struct Outcome {
    /// Its row of the audit.
    pub(crate) audit: Uuid,
    done: Result<Done, Fault>,
}

/// Notes it, does it, notes what became of it.
pub(crate) async fn act(shared: &Shared, who: &Who, path: &ConsumerPath, action: Action) -> Result<Outcome, Fault> {
    let (id, handle) = shared.find(path).await?;
    // Of one that this process has no component of, the owner finds what is stored.
    let consumer = match handle {
        Some(handle) => handle.remote(),
        None => RemoteConsumer::new(id.clone(), shared.store.stores.clone()),
    };
    let audit = shared.begin(who, action.name(), id.to_string(), action.detail().to_string()).await?;
    let done = action.carry_out(&consumer).await;
    let result = match &done {
        Ok(done) => done.text(),
        Err(error) => format!("refused: {error}"),
    };
    shared.end(audit, result).await?;
    Ok(Outcome { audit, done: done.map_err(Fault::from) })
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let done = match self.done {
            Ok(done) => done,
            Err(fault) => return fault.into_response(),
        };
        let status = if done.command.is_some() { StatusCode::ACCEPTED } else { StatusCode::OK };
        let body = json!({
            "audit": self.audit.to_string(),
            "result": done.text(),
            "letters": done.letters,
            "command": done.command.map(|command| command.to_string()),
        });
        (status, Json(body)).into_response()
    }
}

pub(crate) async fn pause(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, Action::Pause).await
}

pub(crate) async fn resume(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, Action::Resume).await
}

/// Where to go on, in one word.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Seek {
    pub(crate) to: String,
    pub(crate) keep: String,
}

impl Seek {
    pub(crate) fn action(&self) -> Result<Action, Fault> {
        let to = words::seek_to(&self.to)?;
        let keep = match &*self.keep {
            "" | "false" => false,
            "true" | "on" => true,
            _ => return Err(Fault::invalid("`keep` is true or false")),
        };
        Ok(Action::Seek { to, keep })
    }
}

pub(crate) async fn seek(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, said::<Seek>(&headers, &body)?.action()?).await
}

/// One event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Skip {
    pub(crate) position: String,
}

pub(crate) async fn skip(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Outcome, Fault> {
    let position = position(&said::<Skip>(&headers, &body)?.position)?;
    act(&shared, &who, &path, Action::Skip { position }).await
}

/// Letters that are meant; all only where that is said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Letters {
    pub(crate) all: String,
    #[serde(flatten)]
    pub(crate) which: Which,
}

impl Letters {
    /// The filter, and how the audit keeps it.
    fn meant(&self) -> Result<(LetterFilter, Value), Fault> {
        Ok(words::meant(matches!(&*self.all, "true" | "on"), &self.which)?)
    }

    pub(crate) fn redriven(&self) -> Result<Action, Fault> {
        self.meant().map(|(which, said)| Action::Redrive { which, said })
    }

    pub(crate) fn discarded(&self) -> Result<Action, Fault> {
        self.meant().map(|(which, said)| Action::Discard { which, said })
    }
}

pub(crate) async fn redrive(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, said::<Letters>(&headers, &body)?.redriven()?).await
}

pub(crate) async fn discard(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, said::<Letters>(&headers, &body)?.discarded()?).await
}

/// How old.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Purge {
    pub(crate) before: String,
}

impl Purge {
    pub(crate) fn action(&self) -> Result<Action, Fault> {
        Ok(Action::Purge { before: words::time(&self.before)? })
    }
}

pub(crate) async fn purge(
    State(shared): State<Shared>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Outcome, Fault> {
    act(&shared, &who, &path, said::<Purge>(&headers, &body)?.action()?).await
}

/// A body: a JSON object of texts, numbers and flags, or nothing.
pub(super) fn said<T: DeserializeOwned + Default>(headers: &HeaderMap, body: &Bytes) -> Result<T, Fault> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    let json = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if !json {
        let message = "a body is sent as `application/json`";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported", message));
    }
    let object: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Fault::invalid(format!("the body is not a JSON object: {error}")))?;
    // A number may be written as one.
    let plain = object.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| match value {
        Value::Number(number) if name != "limit" => (name, Value::String(number.to_string())),
        Value::Bool(flag) => (name, Value::String(flag.to_string())),
        other => (name, other),
    });
    serde_json::from_value(Value::Object(plain.collect()))
        .map_err(|error| Fault::invalid(format!("the body is not understood: {error}")))
}
