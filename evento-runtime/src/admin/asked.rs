//! Paths, queries and forms, told to be wrong in the way of everything else.

use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::fault::Fault;

/// The parameters of the path.
pub(super) struct Path<T>(pub(super) T);

/// What follows the `?`.
pub(super) struct Query<T>(pub(super) T);

/// What a form has sent.
pub(super) struct Form<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let asked = axum::extract::Path::from_request_parts(parts, state).await;
        asked
            .map(|axum::extract::Path(asked)| Self(asked))
            .map_err(|error: PathRejection| refused(error.status(), error.body_text()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let asked = axum::extract::Query::from_request_parts(parts, state).await;
        asked
            .map(|axum::extract::Query(asked)| Self(asked))
            .map_err(|error: QueryRejection| refused(error.status(), error.body_text()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Form<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let asked = axum::extract::Form::from_request(request, state).await;
        asked
            .map(|axum::extract::Form(asked)| Self(asked))
            .map_err(|error: FormRejection| refused(error.status(), error.body_text()))
    }
}

fn refused(status: StatusCode, message: String) -> Fault {
    let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "too-large" } else { "invalid" };
    Fault::new(status, code, message)
}
