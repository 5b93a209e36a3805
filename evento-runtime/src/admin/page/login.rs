//! Signing in: a token is typed in once, and kept in a cookie that no script can read.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::super::access::COOKIE_NAME;
use super::super::asked::Form;
use super::super::fault::Fault;
use super::super::shared::Shared;
use super::Page;
use super::layout::{Base, bare};

/// How long a browser keeps it: twelve hours.
const KEPT: u32 = 12 * 3_600;

pub(crate) async fn form(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Page {
    if !shared.by_cookie() {
        return Err(Fault::not_found("nobody signs in here: the access to this page is decided in another way"));
    }
    let content = html! {
        form.login method="post" action=(base.url("/login")) {
            label { "Token " input type="password" name="token" required autocomplete="current-password"; }
            button { "Sign in" }
        }
    };
    Ok(bare(&base, "Sign in", &content))
}

/// What the form sends.
#[derive(Deserialize)]
pub(crate) struct Given {
    token: String,
}

pub(crate) async fn enter(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    headers: HeaderMap,
    Form(given): Form<Given>,
) -> Result<Response, Fault> {
    let token = given.token.trim();
    if shared.rule.of_token(token).is_none() {
        return Err(Fault::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is not known here"));
    }
    let secure = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    cookie(&base, token, KEPT, secure)
}

pub(crate) async fn leave(Extension(base): Extension<Base>) -> Result<Response, Fault> {
    cookie(&base, "", 0, false)
}

fn cookie(base: &Base, token: &str, seconds: u32, secure: bool) -> Result<Response, Fault> {
    let secure = if secure { "; Secure" } else { "" };
    let path = base.path();
    let cookie = format!("{COOKIE_NAME}={token}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Fault::invalid("the token does not fit into a cookie"))?;
    let next = if seconds == 0 { "/login" } else { "/" };
    let mut response = Redirect::to(&base.url(next)).into_response();
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
