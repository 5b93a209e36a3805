//! One style sheet, one script and one sign: nothing of a page comes from elsewhere.

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const STYLE: &str = include_str!("assets/admin.css");
const SCRIPT: &str = include_str!("assets/admin.js");

const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 12l4-8 4 5 4-6" fill="none" stroke="#0b57c0" stroke-width="2"/></svg>"##;

pub(super) async fn icon() -> Response {
    asset(ICON, "image/svg+xml")
}

pub(super) async fn style() -> Response {
    asset(STYLE, "text/css; charset=utf-8")
}

pub(super) async fn script() -> Response {
    asset(SCRIPT, "text/javascript; charset=utf-8")
}

/// Kept for a minute: another version of the program has other ones.
fn asset(text: &'static str, kind: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CACHE_CONTROL, HeaderValue::from_static("private, max-age=60")),
    ];
    (headers, text).into_response()
}
