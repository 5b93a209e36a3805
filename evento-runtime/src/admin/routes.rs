//! Every route, with the right it needs. There is no other list: router, description and tests are made of this one.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};

use super::fault::Fault;
use super::guard::{Guard, guard};
use super::shared::Shared;
use super::{api, assets, live, page};

/// Bodies larger than this are refused: 64 KiB.
pub const MAX_BODY: usize = 64 * 1_024;

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Right {
    /// Nothing: it shows nothing of the bundle.
    Open,
    /// To look.
    Read,
    /// To act.
    Act,
    /// To see what is hidden.
    Reveal,
}

/// A route, as the router has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouteInfo {
    /// `GET` or `POST`.
    pub method: Method,
    /// With its parameters: `/api/consumers/{component}/{version}/{context}`.
    pub path: &'static str,
    /// What it needs.
    pub right: Right,
    /// What it does, in a sentence.
    pub about: &'static str,
}

/// A route and what answers it.
pub(super) struct Entry {
    pub(super) info: RouteInfo,
    /// Names of what it understands in its query or body.
    pub(super) takes: &'static [&'static str],
    answer: MethodRouter<Shared>,
}

/// Every route of the [router](super::router).
#[must_use]
pub fn routes() -> Vec<RouteInfo> {
    entries().into_iter().map(|entry| entry.info).collect()
}

pub(super) fn router(shared: Shared) -> Router {
    let guarded = |right: Right| from_fn_with_state(Guard { shared: shared.clone(), right }, guard);
    let mut router = Router::new();
    for Entry { info, answer, .. } in entries() {
        router = router.route(info.path, answer.layer(guarded(info.right)));
    }
    let nothing = get(nothing).post(nothing).layer(guarded(Right::Read));
    router
        .fallback_service(nothing.with_state(shared.clone()))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(shared)
}

async fn nothing() -> Fault {
    Fault::not_found("there is nothing at this address")
}

const PAGE: [&str; 2] = ["after", "limit"];
const LETTERS: [&str; 11] =
    ["position", "name", "key", "kind", "handler", "class", "error", "since", "before", "after", "limit"];
const FILTER: [&str; 10] = ["all", "position", "name", "key", "kind", "handler", "class", "error", "since", "before"];
const EVENTS: [&str; 7] = ["after", "before", "since", "name", "context", "key", "limit"];

/// The list.
pub(super) fn entries() -> Vec<Entry> {
    let mut list = Vec::new();
    let mut add = |method: Method, path, right, takes: &'static [&'static str], answer: MethodRouter<Shared>, about| {
        list.push(Entry { info: RouteInfo { method, path, right, about }, takes, answer });
    };
    let mut read = |path, takes, answer, about| add(Method::GET, path, Right::Read, takes, answer, about);
    read("/api/overview", &[], get(api::overview), "Consumers, executors and instances at one moment.");
    read("/api/bundle", &[], get(api::bundle), "The bundle, the instance that answers, and the end of the log.");
    read("/api/instances", &[], get(api::instances), "Who runs the bundle, and owns what.");
    read("/api/components", &[], get(api::components), "The components of this process with their handlers.");
    read("/api/executors", &[], get(api::executors), "The executors of every instance that shows itself.");
    read("/api/consumers", &[], get(api::consumers), "Every consumer: how far it is, and why it stands.");
    read("/api/consumers/{component}/{version}/{context}", &[], get(api::consumer), "One consumer.");
    read(
        "/api/consumers/{component}/{version}/{context}/letters",
        &LETTERS,
        get(api::letters::list),
        "Its unresolved dead letters that are meant, oldest first.",
    );
    read(
        "/api/consumers/{component}/{version}/{context}/letters/{position}",
        &[],
        get(api::letters::one),
        "One dead letter with more of its payload.",
    );
    read(
        "/api/consumers/{component}/{version}/{context}/letters/{position}/payload",
        &[],
        get(api::letters::payload),
        "The payload of a dead letter, byte for byte; with dots for sensitive fields.",
    );
    read(
        "/api/events",
        &EVENTS,
        get(api::events::list),
        "Events of the log: the latest, those after a position, or of one key.",
    );
    read("/api/events/{position}", &[], get(api::events::one), "One event with more of its payload.");
    read(
        "/api/events/{position}/payload",
        &[],
        get(api::events::payload),
        "The payload of an event, byte for byte; with dots for sensitive fields.",
    );
    read(
        "/api/log/prunable",
        &["before"],
        get(api::prune::prunable),
        "How many events that were recorded before a time every consumer has settled.",
    );
    read("/api/audit", &PAGE, get(api::audit), "Who did what, latest first.");
    read("/api/commands/{id}", &[], get(api::command), "What became of a command.");
    read("/api/live", &[], get(live::stream), "The overview each second, as server-sent events.");
    read("/api/openapi.json", &[], get(api::describe::description), "This description.");
    let scrape = "For Prometheus: the metrics of this instance.";
    read("/metrics", &[], get(api::probes::metrics), scrape);
    read("/actuator/prometheus", &[], get(api::probes::metrics), scrape);
    read("/health/live", &[], get(api::probes::live), "200 where every loop turns, else 503.");
    read("/health/ready", &[], get(api::probes::ready), "200 where the start waits for nothing more, else 503.");
    read("/", &[], get(page::overview), "Page: every consumer.");
    read("/consumers/{component}/{version}/{context}", &["outcome"], get(page::consumer), "Page: one consumer.");
    read(
        "/consumers/{component}/{version}/{context}/letters",
        &LETTERS,
        get(page::letters::list),
        "Page: its dead letters.",
    );
    read(
        "/consumers/{component}/{version}/{context}/letters/{position}",
        &["outcome"],
        get(page::letters::one),
        "Page: one dead letter.",
    );
    read("/catalogue", &[], get(page::catalogue), "Page: components and handlers.");
    read("/executors", &[], get(page::executors), "Page: executors.");
    read("/instances", &[], get(page::instances), "Page: instances.");
    read("/events", &EVENTS, get(page::events::list), "Page: the log.");
    read("/events/{position}", &[], get(page::events::one), "Page: one event.");
    read("/prune", &["before", "outcome"], get(page::prune::form), "Page: what of the log nobody needs any more.");
    read("/audit", &PAGE, get(page::audit), "Page: who did what.");
    let mut act = |path, takes, answer, about| add(Method::POST, path, Right::Act, takes, answer, about);
    act("/api/consumers/{component}/{version}/{context}/pause", &[], post(api::act::pause), "Begins nothing more.");
    act("/api/consumers/{component}/{version}/{context}/resume", &[], post(api::act::resume), "Goes on.");
    act(
        "/api/consumers/{component}/{version}/{context}/seek",
        &["to", "keep"],
        post(api::act::seek),
        "Goes on elsewhere: `start`, `head`, `after:POSITION` or `time:TIME`.",
    );
    act(
        "/api/consumers/{component}/{version}/{context}/skip",
        &["position"],
        post(api::act::skip),
        "Settles one open event without handling it.",
    );
    act(
        "/api/consumers/{component}/{version}/{context}/redrive",
        &FILTER,
        post(api::act::redrive),
        "Has dead letters tried again.",
    );
    act(
        "/api/consumers/{component}/{version}/{context}/discard",
        &FILTER,
        post(api::act::discard),
        "Resolves dead letters without handling them.",
    );
    act(
        "/api/consumers/{component}/{version}/{context}/purge",
        &["before"],
        post(api::act::purge),
        "Deletes the rows of dead letters that were resolved before a time.",
    );
    act(
        "/api/log/prune",
        &["before"],
        post(api::prune::prune),
        "Takes events out that were recorded before a time and that every consumer has settled.",
    );
    act("/prune", &["before"], post(page::prune::act), "Page: takes them out.");
    act("/consumers/{component}/{version}/{context}/act", &[], post(page::act), "Page: the buttons.");
    let mut reveal = |path, answer, about| add(Method::POST, path, Right::Reveal, &[], answer, about);
    reveal(
        "/api/events/{position}/reveal",
        post(api::reveal::event),
        "One event with the values of its sensitive fields; noted in the audit.",
    );
    reveal(
        "/api/consumers/{component}/{version}/{context}/letters/{position}/reveal",
        post(api::reveal::letter),
        "One dead letter with the values of its sensitive fields; noted in the audit.",
    );
    reveal("/events/{position}/reveal", post(page::events::revealed), "Page: one event with what is hidden.");
    reveal(
        "/consumers/{component}/{version}/{context}/letters/{position}/reveal",
        post(page::letters::revealed),
        "Page: one dead letter with what is hidden.",
    );
    let mut open = |method, path, takes, answer, about| add(method, path, Right::Open, takes, answer, about);
    open(Method::GET, "/login", &[], get(page::login::form), "Page: asks for a token.");
    open(Method::POST, "/login", &["token"], post(page::login::enter), "Keeps a token in a cookie.");
    open(Method::POST, "/logout", &[], post(page::login::leave), "Forgets the cookie.");
    open(Method::GET, "/assets/admin.css", &[], get(assets::style), "How pages look.");
    open(Method::GET, "/assets/icon.svg", &[], get(assets::icon), "The sign of a page among others.");
    open(Method::GET, "/assets/admin.js", &[], get(assets::script), "What keeps pages up to date.");
    list
}
