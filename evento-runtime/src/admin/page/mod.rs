//! Pages: made on the server, and readable without a script.

mod consumer;
pub(super) mod events;
mod layout;
pub(super) mod letters;
pub(super) mod login;
pub(super) mod prune;

pub(super) use consumer::{act, consumer};
pub(super) use layout::{Base, fault};

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};
use serde_json::Value;

use self::layout::{badge, lag_of, optional, page, table};
use super::api::{IdPage, audited};
use super::asked::Query;
use super::fault::Fault;
use super::shared::Shared;
use crate::view::time;
use crate::view::{ConsumerView, Overview};

/// What a page is answered with.
type Page = Result<Html<String>, Fault>;

pub(super) async fn overview(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Page {
    let overview = shared.overview().await?;
    let dead: u64 = overview.consumers.iter().map(|consumer| consumer.dead_letters).sum();
    let standing = overview.consumers.iter().filter(|consumer| is_trouble(consumer)).count();
    let content = html! {
        p.facts {
            span { b { (overview.consumers.len()) } " consumers" }
            span { b data-total="standing" { (standing) } " need a look" }
            span { b data-total="dead" { (dead) } " dead letters" }
            span { b { (overview.instances.len()) } " instances" }
            span { "log ends at " b data-total="head" { (optional(overview.head.as_deref())) } }
        }
        div.charts {
            figure data-chart="lag" { figcaption { "Lag in events, all consumers" } }
            figure data-chart="rate" { figcaption { "Events settled in a second" } }
            @if overview.consumers.iter().any(|consumer| !consumer.handler_times.is_empty()) {
                figure data-chart="handler_time" { figcaption { "Handler time in ms" } }
            }
        }
        (consumers(&base, &overview))
    };
    Ok(page(&base, &shared.bundle, "Overview", "/", &content))
}

/// What an operator looks at first.
fn is_trouble(consumer: &ConsumerView) -> bool {
    matches!(consumer.status, "standing" | "unowned" | "paused") || consumer.error_streak > 0
}

fn consumers(base: &Base, overview: &Arc<Overview>) -> Markup {
    table(
        &["Consumer", "Status", "Lag", "Last settled", "Last started", "Per second", "Errors", "Dead letters", "Owner"],
        "No consumer has begun yet.",
        overview.consumers.iter().map(|consumer| {
            html! {
                tr data-consumer=(consumer.consumer) {
                    th scope="row" { a href=(base.consumer(consumer)) { (consumer.consumer) } }
                    td data-field="status" { (badge(consumer.status)) " " (consumer.why()) }
                    td data-field="lag" { (lag_of(&consumer.lag)) }
                    td.position data-field="last_settled" { (optional(consumer.last_settled.as_deref())) }
                    td.position data-field="last_started" { (optional(consumer.last_started.as_deref())) }
                    td.number data-field="rate" { (consumer.rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"))) }
                    td.number data-field="error_streak" { (consumer.error_streak) }
                    td.number { a data-field="dead_letters" href=(base.letters(consumer)) { (consumer.dead_letters) } }
                    td { (optional(consumer.instance.as_deref().or(consumer.owner.as_deref()))) @if consumer.here { " (here)" } }
                }
            }
        }),
    )
}

pub(super) async fn catalogue(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Page {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let content = html! {
        @for component in &shared.components.0 {
            section.card {
                h2 { (text(&component["name"])) " v" (component["version"]) " " (badge(&text(&component["kind"]))) }
                @if component["docs"].as_str().is_some_and(|docs| !docs.is_empty()) { p { (text(&component["docs"])) } }
                p.quiet { (text(&component["file"])) ":" (component["line"]) ", crate " (text(&component["crate"])) }
                (table(
                    &["Handler", "Event", "Runs on"],
                    "It has no handler.",
                    component["handlers"].as_array().into_iter().flatten().map(|handler| html! {
                        tr {
                            th scope="row" { code { (text(&handler["method"])) } }
                            td { (handler["event"].as_str().unwrap_or("every other event")) }
                            td {
                                @match handler["executor"].as_str() {
                                    Some(executor) => { (badge("parallel")) " " (executor) }
                                    None => { "in order" }
                                }
                            }
                        }
                    }),
                ))
            }
        }
    };
    Ok(page(&base, &shared.bundle, "Catalogue", "/catalogue", &content))
}

pub(super) async fn executors(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Page {
    let overview = shared.overview().await?;
    let content = html! {
        div.charts { figure data-chart="executors" { figcaption { "Permits in use, all executors of this instance" } } }
        (table(
            &["Executor", "Instance", "In use", "Capacity", "Most at once", "Admitted", "Saturated", "Completed", "Handlers here"],
            "The bundle names no executor: every handler runs in order.",
            overview.executors.iter().map(|executor| {
                let figures = &executor.figures;
                html! {
                    tr data-executor=(format!("{} {}", executor.instance, figures.name)) {
                        th scope="row" { (figures.name) @if figures.keeps_key_order { " " (badge("key order")) } }
                        td { (executor.instance) @if executor.here { " (here)" } }
                        td.number data-field="in_flight" { (figures.in_flight) }
                        td.number { (figures.capacity.map_or_else(|| "unbounded".to_owned(), |capacity| capacity.to_string())) }
                        td.number data-field="peak" { (figures.peak) }
                        td.number data-field="admitted" { (figures.admitted) }
                        td.number data-field="rejected" { (figures.rejected) }
                        td.number data-field="completed" { (figures.completed) }
                        td { (executor.handlers.join(", ")) }
                    }
                }
            }),
        ))
    };
    Ok(page(&base, &shared.bundle, "Executors", "/executors", &content))
}

pub(super) async fn instances(State(shared): State<Shared>, Extension(base): Extension<Base>) -> Page {
    let overview = shared.overview().await?;
    let content = table(
        &["Instance", "Owner id", "Began", "Seen", "Owns"],
        "Nobody runs the bundle.",
        overview.instances.iter().map(|instance| html! {
            tr {
                th scope="row" { (optional(instance.name.as_deref())) @if instance.here { " (here)" } }
                td { code { (instance.owner) } }
                td { (optional(instance.started_at.as_deref())) }
                td { (instance.seen.map_or_else(|| "–".to_owned(), |seen| format!("{} ago", time::duration(seen)))) }
                td { (instance.consumers.join(", ")) }
            }
        }),
    );
    Ok(page(&base, &shared.bundle, "Instances", "/instances", &content))
}

pub(super) async fn audit(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    Query(asked): Query<IdPage>,
) -> Page {
    let (rows, next) = audited(&shared, &asked).await?;
    let content = html! {
        (table(
            &["When", "Who", "From", "Action", "Consumer", "With", "Result"],
            "Nobody has done anything yet.",
            rows.iter().map(|row| html! {
                tr {
                    td.time { (row.at) }
                    td { (row.who) }
                    td { (row.origin) }
                    th scope="row" { (row.action) }
                    td { (row.target) }
                    td { code { (row.detail) } }
                    td { @if row.result.is_empty() { "not known" } @else { (row.result) } }
                }
            }),
        ))
        @if let Some(next) = next {
            p { a href=(base.url(&format!("/audit?after={next}"))) rel="next" { "Earlier" } }
        }
    };
    Ok(page(&base, &shared.bundle, "Audit", "/audit", &content))
}
