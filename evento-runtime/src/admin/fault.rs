//! Why a request is not answered with what it asked for.

use axum::Json;
use axum::body::Body;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::page::{self, Base};
use crate::error::{AdminError, StoreError};
use crate::view::words::Unclear;

/// Told as JSON to programs, as a page to people.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) status: StatusCode,
    /// For programs: `not-found`.
    pub(super) code: &'static str,
    /// For people: what is wrong, and what would be right.
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(super) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    pub(super) fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// As JSON, or as a page where there is somebody who reads pages.
    pub(super) fn answer(&self, page: Option<&Base>) -> Response<Body> {
        let mut response = match page {
            Some(base) => (self.status, page::fault(base, self)).into_response(),
            None => {
                let body = json!({ "error": self.code, "message": self.message });
                (self.status, Json(body)).into_response()
            }
        };
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// As the API tells it. The guard makes a page of it where somebody reads pages.
impl IntoResponse for Fault {
    fn into_response(self) -> Response<Body> {
        let mut response = self.answer(None);
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Unclear> for Fault {
    fn from(Unclear(message): Unclear) -> Self {
        Self::invalid(message)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        tracing::warn!(error = &error as &dyn std::error::Error, "the admin router could not ask the store");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store", error.to_string())
    }
}

impl From<AdminError> for Fault {
    fn from(error: AdminError) -> Self {
        let (status, code) = match &error {
            AdminError::NotOwner { .. } => (StatusCode::CONFLICT, "not-owner"),
            AdminError::LoopDied { .. } => (StatusCode::SERVICE_UNAVAILABLE, "loop-died"),
            AdminError::NotOpen { .. } => (StatusCode::CONFLICT, "not-open"),
            AdminError::WouldRepeat { .. } => (StatusCode::CONFLICT, "would-repeat"),
            AdminError::Reset { .. } => (StatusCode::CONFLICT, "reset"),
            AdminError::BehindHead { .. } => (StatusCode::CONFLICT, "behind-head"),
            AdminError::Pruned { .. } => (StatusCode::CONFLICT, "pruned"),
            AdminError::Refused { .. } => (StatusCode::CONFLICT, "refused"),
            AdminError::NoAnswer { .. } => (StatusCode::ACCEPTED, "no-answer"),
            AdminError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}
