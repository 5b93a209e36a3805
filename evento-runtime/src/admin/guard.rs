//! What stands before every route: who asks, from which page, and what every answer carries.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::access::{Denied, bearer, peer};
use super::fault::Fault;
use super::page::Base;
use super::routes::Right;
use super::shared::{Origin, Shared};

/// Nothing of a page comes from elsewhere, nothing in it is a script, and nobody frames it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// A route's guard.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) shared: Shared,
    pub(super) right: Right,
}

/// Judges a request, and has it answered to its end even if whoever asked has gone: what it writes is written whole.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let base = Base::of(&parts, guard.shared.by_cookie());
    // Somebody who reads pages is told of faults by one.
    let page = (!is_api(&parts)).then(|| base.clone());
    parts.extensions.insert(base);
    if let Err(fault) = judge(&guard, &mut parts) {
        return secured(fault.answer(page.as_ref()));
    }
    let request = Request::from_parts(parts, body);
    let mut response = guard.shared.tasks.run(async move { next.run(request).await }).await;
    if let (Some(base), Some(fault)) = (&page, response.extensions_mut().remove::<Fault>()) {
        response = fault.answer(Some(base));
    }
    secured(response)
}

fn judge(guard: &Guard, parts: &mut Parts) -> Result<(), Fault> {
    let changes = parts.method != Method::GET && parts.method != Method::HEAD;
    if changes && is_foreign(parts) {
        return Err(Fault::forbidden("the request comes from another page than this one"));
    }
    if guard.right == Right::Open {
        return Ok(());
    }
    let caller = guard.shared.rule.caller(parts).map_err(|denied| match denied {
        Denied::Unknown(why) => Fault::unauthorized(why),
        Denied::Forbidden(why) => Fault::forbidden(why),
    })?;
    match guard.right {
        Right::Act if !caller.rights.act => {
            return Err(Fault::forbidden("reading is allowed, acting is not: use the token for acting"));
        }
        Right::Reveal if !caller.rights.reveal => {
            return Err(Fault::forbidden("hidden values are shown to those only who have the right to reveal them"));
        }
        _ => {}
    }
    // What no header of its own proves comes from a browser, which says from which page.
    let by_cookie = guard.shared.by_cookie() && bearer(parts).is_none();
    if changes && by_cookie && !parts.headers.contains_key(ORIGIN) && !parts.headers.contains_key("sec-fetch-site") {
        return Err(Fault::forbidden("a request with a cookie says from which page it comes"));
    }
    let origin = peer(parts).map_or_else(|| "unknown".to_owned(), |address| address.ip().to_string());
    parts.extensions.insert(Origin(origin));
    parts.extensions.insert(caller);
    Ok(())
}

/// Whether a browser says that another site's page has made the request.
fn is_foreign(parts: &Parts) -> bool {
    let text = |name: HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if text(HeaderName::from_static("sec-fetch-site")).is_some_and(|site| site != "same-origin") {
        return true;
    }
    let Some(origin) = text(ORIGIN) else { return false };
    let host = text(HOST).or_else(|| parts.uri.authority().map(|authority| authority.as_str()));
    origin.split_once("://").map(|(_, authority)| authority) != host
}

/// Whether the answer is read by a program.
pub(super) fn is_api(parts: &Parts) -> bool {
    ["/api/", "/metrics", "/actuator/", "/health/"].iter().any(|programs| parts.uri.path().starts_with(programs))
}

fn secured(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    set(headers, CONTENT_SECURITY_POLICY, POLICY);
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, X_FRAME_OPTIONS, "DENY");
    // Not less: a browser that may not say where it comes from says so of our own forms as well.
    set(headers, REFERRER_POLICY, "same-origin");
    set(headers, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(headers, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
