//! A router with a JSON API and pages: what a bundle does, why a consumer stands, what is among its dead letters, and the
//! means to act. Every instance serves it for all instances of the bundle.
//!
//! ```no_run
//! use std::net::SocketAddr;
//! use evento_runtime::admin::{self, Access};
//!
//! # async fn f(running: &evento_runtime::Running) -> evento_runtime::Result {
//! let admin = admin::router(running, Access::loopback_only());
//! let app = axum::Router::new().nest("/admin", admin);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
//! # Ok(()) }
//! ```
//!
//! # Who may
//!
//! There is no router without an [`Access`]. Reading, acting, and seeing what is hidden are three rights. What changes
//! something is a `POST`, is refused when a browser says that another site's page has sent it, and is written to the
//! audit before it is done: who, when, from where, what, and then what became of it.
//!
//! Fields marked `#[event(sensitive)]` are dots on pages, in answers and in downloads, as far as the bundle has a handler
//! for the event. Whoever may [reveal](Rights::reveal) them asks for one event at a time, and the audit keeps who has
//! seen which.
//!
//! # What is carried out where
//!
//! Pausing, resuming and everything about dead letters is stored, and found by whichever instance owns the consumer.
//! Seeking and skipping is carried out by the owner, which looks for it each second; an answer is waited for five
//! seconds, after that the API says `202 Accepted` with the id of a command to ask for. All of that holds for consumers
//! that this process has no component of as well, such as those of another version in the middle of an update.
//!
//! Pruning the log is done by the instance that is asked, a limited number of events for each request; the page and
//! `GET /api/log/prunable` tell first how many that would be, and which consumer holds the rest. See
//! [`keep_events`](crate::BundleBuilder::keep_events) for doing so by itself.
//!
//! # Probes
//!
//! `/health/live` and `/health/ready` answer 200 or 503 with the reasons; `/metrics`, also as `/actuator/prometheus`, is the
//! scrape of the feature `metrics`. They need the right to look, as everything else.
//!
//! # What it costs
//!
//! Nothing while nobody asks. An overview takes a few short reads per consumer, at most once a second for all who ask.
//! Live figures of other instances are rows that each writes every five seconds, where it has executors.

mod access;
mod api;
mod asked;
mod assets;
mod fault;
mod guard;
mod live;
mod page;
mod routes;
#[cfg(feature = "metrics")]
mod scraped;
#[cfg(not(feature = "metrics"))]
#[path = "unscraped.rs"]
mod scraped;
mod shared;

pub use access::{Access, Caller, Rights, SHORTEST_TOKEN, TokenError};
pub use routes::{MAX_BODY, Right, RouteInfo, routes};

use axum::Router;

use crate::bundle::Running;

/// Rows of a page at most.
pub const MAX_PAGE: usize = 100;

/// The router of a running bundle: the API below `/api/`, pages everywhere else. Nest it where you like.
///
/// Once the bundle has stopped it answers that the store is closed.
pub fn router(running: &Running, access: Access) -> Router {
    let shared = shared::Shared::of(running, access.rule.clone());
    access.around(routes::router(shared))
}
