//! Who may see, who may act, and who may see what is hidden: an explicit choice, without which there is no router.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{AUTHORIZATION, COOKIE, FORWARDED, HOST};
use axum::http::request::Parts;
use axum::response::IntoResponse;
use axum::routing::Route;
use subtle::ConstantTimeEq as _;
use tower_layer::Layer;
use tower_service::Service;

/// The shortest token that is taken.
pub const SHORTEST_TOKEN: usize = 16;

/// The cookie of the pages, once somebody has given them the token.
pub(super) const COOKIE_NAME: &str = "evento_admin";

/// What a request may do beside reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Rights {
    /// Pause, resume, seek, skip, prune, and everything about dead letters that changes something.
    pub act: bool,
    /// See the values of fields marked `#[event(sensitive)]`, one event at a time, each noted in the audit. Without it
    /// they are dots everywhere.
    pub reveal: bool,
}

impl Rights {
    /// Looking, and nothing else.
    pub const READ: Self = Self { act: false, reveal: false };
    /// Looking and acting.
    pub const ACT: Self = Self { act: true, reveal: false };
    /// Looking, and seeing what is hidden.
    pub const REVEAL: Self = Self { act: false, reveal: true };
    /// Everything.
    pub const ALL: Self = Self { act: true, reveal: true };
}

/// Who has sent a request. Under [`Access::layer`] your layer puts it into the extensions of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// For the audit: a name, an address.
    pub name: String,
    /// What may be done.
    pub rights: Rights,
}

impl Caller {
    /// Somebody with rights.
    #[must_use]
    pub fn new(name: impl Into<String>, rights: Rights) -> Self {
        Self { name: name.into(), rights }
    }
}

/// A token that protects nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It could be guessed.
    #[error("a token has at least {SHORTEST_TOKEN} characters; make one with `openssl rand -hex 32`")]
    TooShort,
    /// It would not fit into a header.
    #[error("a token has visible ASCII characters only, without `;`, `,`, `\"` and `\\`")]
    Unfit,
    /// One token would give two rights.
    #[error("two of the tokens are the same; give different ones, so that each right is one of its own")]
    Same,
    /// A token was given to an access that is not decided by tokens.
    #[error("nobody comes with a token here: begin with `Access::token`, or see `Access::loopback_revealing`")]
    NoTokens,
}

/// Who may use the router. Made by one of three functions; there is no default.
#[must_use = "an access is given to `admin::router`"]
pub struct Access {
    pub(super) rule: Rule,
    /// What your own layer does around everything.
    around: Option<Box<dyn FnOnce(Router) -> Router + Send>>,
}

/// How a request is judged.
#[derive(Clone)]
pub(super) enum Rule {
    Loopback { rights: Rights },
    Token { read: Arc<str>, act: Arc<str>, reveal: Option<Arc<str>> },
    Layer,
}

/// Why a request goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    /// Nobody said who it is from.
    Unknown(&'static str),
    /// Who it is from may not do it.
    Forbidden(&'static str),
}

impl Access {
    /// Everybody on this machine may look and act, nobody else. The server has to be served with
    /// `into_make_service_with_connect_info::<SocketAddr>()`: without the address of the other side every request is
    /// refused, and so is one that a proxy has passed on. Nobody sees what is hidden.
    pub const fn loopback_only() -> Self {
        Self { rule: Rule::Loopback { rights: Rights::ACT }, around: None }
    }

    /// As [`loopback_only`](Self::loopback_only), and everybody on this machine may see what is hidden as well.
    pub const fn loopback_revealing() -> Self {
        Self { rule: Rule::Loopback { rights: Rights::ALL }, around: None }
    }

    /// Whoever has the token `read` may look, whoever has `act` may look and act. Nobody sees what is hidden, unless a
    /// third one is added by [`reveal_token`](Self::reveal_token). A token comes in a header, `Authorization: Bearer …`,
    /// or in the cookie that the page sets once somebody has typed it in; never in a URL. Serve it by TLS where the way
    /// to it is not your own.
    ///
    /// # Errors
    /// [`TokenError`]: one protects nothing.
    pub fn token(read: impl Into<String>, act: impl Into<String>) -> Result<Self, TokenError> {
        let (read, act) = (read.into(), act.into());
        check(&read)?;
        check(&act)?;
        if read == act {
            return Err(TokenError::Same);
        }
        Ok(Self { rule: Rule::Token { read: read.into(), act: act.into(), reveal: None }, around: None })
    }

    /// Adds a third token: whoever has it may look, and see what is hidden. It is for people who need that now and then,
    /// and each time is noted in the audit.
    ///
    /// # Errors
    /// [`TokenError`]: it protects nothing, or there are no tokens that it could be added to.
    pub fn reveal_token(mut self, token: impl Into<String>) -> Result<Self, TokenError> {
        let token = token.into();
        check(&token)?;
        let Rule::Token { read, act, reveal } = &mut self.rule else { return Err(TokenError::NoTokens) };
        if *token == **read || *token == **act {
            return Err(TokenError::Same);
        }
        *reveal = Some(token.into());
        Ok(self)
    }

    /// Your own tower layer decides: it answers what it refuses, and puts a [`Caller`] into the extensions of what it
    /// lets pass. A request without one is refused.
    pub fn layer<L>(layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Error: Into<Infallible> + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self { rule: Rule::Layer, around: Some(Box::new(move |router| router.layer(layer))) }
    }

    /// Puts your own layer around the finished router.
    pub(super) fn around(self, router: Router) -> Router {
        match self.around {
            Some(around) => around(router),
            None => router,
        }
    }
}

/// Whether a token can be one.
fn check(token: &str) -> Result<(), TokenError> {
    if token.len() < SHORTEST_TOKEN {
        return Err(TokenError::TooShort);
    }
    let fits = token.bytes().all(|byte| byte.is_ascii_graphic() && !b";,\"\\".contains(&byte));
    if fits { Ok(()) } else { Err(TokenError::Unfit) }
}

impl fmt::Debug for Access {
    /// Never the tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rule {
            Rule::Loopback { rights } if rights.reveal => "Access::loopback_revealing()",
            Rule::Loopback { .. } => "Access::loopback_only()",
            Rule::Token { .. } => "Access::token(..)",
            Rule::Layer => "Access::layer(..)",
        })
    }
}

impl Rule {
    /// Who has sent it.
    pub(super) fn caller(&self, request: &Parts) -> Result<Caller, Denied> {
        match self {
            Self::Loopback { rights } => local(request, *rights),
            Self::Layer => {
                let caller = request.extensions.get::<Caller>().cloned();
                caller.ok_or(Denied::Unknown("the layer in front of this page did not say who the request is from"))
            }
            Self::Token { .. } => {
                let token = bearer(request).or_else(|| cookie(request));
                let token = token.ok_or(Denied::Unknown("a token is needed, as `Authorization: Bearer …`"))?;
                self.of_token(token).ok_or(Denied::Unknown("the token is not known here"))
            }
        }
    }

    /// Who has this token. Takes as long whichever it is.
    pub(super) fn of_token(&self, token: &str) -> Option<Caller> {
        let Self::Token { read, act, reveal } = self else { return None };
        let same = |known: &str| bool::from(known.as_bytes().ct_eq(token.as_bytes()));
        match (same(read), same(act), same(reveal.as_deref().unwrap_or_default())) {
            (_, true, _) => Some(Caller::new("token (act)", Rights::ACT)),
            (_, _, true) if reveal.is_some() => Some(Caller::new("token (reveal)", Rights::REVEAL)),
            (true, ..) => Some(Caller::new("token (read)", Rights::READ)),
            _ => None,
        }
    }
}

/// The other side of the connection.
pub(super) fn peer(request: &Parts) -> Option<SocketAddr> {
    request.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(address)| *address)
}

fn local(request: &Parts, rights: Rights) -> Result<Caller, Denied> {
    let Some(address) = peer(request) else {
        return Err(Denied::Forbidden(
            "the address of the other side is not known: serve with `into_make_service_with_connect_info`",
        ));
    };
    if !address.ip().to_canonical().is_loopback() {
        return Err(Denied::Forbidden("only requests from this machine are answered"));
    }
    let passed_on = ["x-forwarded-for", "x-real-ip"].iter().any(|name| request.headers.contains_key(*name));
    if passed_on || request.headers.contains_key(FORWARDED) {
        return Err(Denied::Forbidden(
            "a proxy has passed this on: choose `Access::token` or `Access::layer` behind one",
        ));
    }
    // A page of somebody else's whose name was made to point here reads nothing.
    let host = request.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri.authority().map(|authority| authority.as_str()));
    if !host.is_some_and(is_local_host) {
        return Err(Denied::Forbidden("the request names another host than this machine's own"));
    }
    Ok(Caller::new("this machine", rights))
}

/// `localhost:8080`, `127.0.0.1`, `[::1]:80`.
fn is_local_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a token came in a header, which no foreign page can send.
pub(super) fn bearer(request: &Parts) -> Option<&str> {
    let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn cookie(request: &Parts) -> Option<&str> {
    let headers = request.headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    let mut pairs = headers.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE_NAME).map(|(_, token)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_to_protect_something() {
        let (a, b) = ("a".repeat(16), "b".repeat(16));
        assert!(Access::token(&a, &b).is_ok());
        assert_eq!(Access::token("", &b).err(), Some(TokenError::TooShort));
        assert_eq!(Access::token(&a, &b[1..]).err(), Some(TokenError::TooShort));
        assert_eq!(Access::token(&a, &a).err(), Some(TokenError::Same));
        for unfit in [" ", ";", "é", "\n", "\""] {
            assert_eq!(Access::token(format!("{a}{unfit}"), &b).err(), Some(TokenError::Unfit), "{unfit:?}");
        }
        assert!(!format!("{:?}", Access::token(&a, &b)).contains(&a));
        let c = "c".repeat(16);
        let revealing = |token: &str| Access::token(&a, &b).unwrap().reveal_token(token);
        assert!(revealing(&c).is_ok());
        assert_eq!(revealing(&a).err(), Some(TokenError::Same));
        assert_eq!(revealing(&b).err(), Some(TokenError::Same));
        assert_eq!(revealing("").err(), Some(TokenError::TooShort));
        assert_eq!(Access::loopback_only().reveal_token(&c).err(), Some(TokenError::NoTokens));
    }

    #[test]
    fn nobody_comes_with_a_token_that_there_is_not() {
        let (a, b) = ("a".repeat(16), "b".repeat(16));
        let rule = Access::token(&a, &b).unwrap().rule;
        assert_eq!(rule.of_token(""), None);
        assert_eq!(rule.of_token(&a).map(|caller| caller.rights), Some(Rights::READ));
        assert_eq!(rule.of_token(&b).map(|caller| caller.rights), Some(Rights::ACT));
    }

    #[test]
    fn only_this_machine_has_local_names() {
        for local in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.8.0.1", "[::1]:80", "[::1]"] {
            assert!(is_local_host(local), "{local}");
        }
        for other in ["", "evil.example", "localhost.evil.example", "10.0.0.1:80", "127.0.0.1.evil.example", "::ffff:1"]
        {
            assert!(!is_local_host(other), "{other}");
        }
    }
}
