//! One consumer: how far it is, why it stands, and what can be done.

use std::collections::HashMap;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::super::api::act::{self, Action, Letters, Purge, Seek};
use super::super::api::{find, id};
use super::super::asked::{Form, Path, Query};
use super::super::fault::Fault;
use super::super::shared::{ConsumerPath, Shared, Who};
use super::Page;
use super::layout::{Base, badge, lag_of, optional, page, segment, table};
use crate::view::time;
use crate::view::words::{Which, action, position};
use crate::view::{ConsumerView, FailureView, TimesView};

/// What a page may be asked to tell: the row of the audit of what was just done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    outcome: String,
}

impl Told {
    /// What became of it, as the store knows.
    pub(super) async fn told(&self, shared: &Shared) -> Result<Markup, Fault> {
        let row = match &*self.outcome {
            "" => None,
            text => shared.audited(id(text)?).await?,
        };
        Ok(html! {
            @if let Some(row) = row {
                p.outcome role="status" {
                    (badge(row.result.split(':').next().unwrap_or_default())) " "
                    (row.action) " of " (row.target) ": " (row.result)
                }
            }
        })
    }
}

pub(crate) async fn consumer(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    Query(told): Query<Told>,
) -> Page {
    let consumer = find(&shared, &path).await?;
    let content = html! {
        (told.told(&shared).await?)
        (facts(&base, &consumer))
        div.charts data-consumer=(consumer.consumer) {
            figure data-chart="lag" { figcaption { "Lag in events" } }
            figure data-chart="rate" { figcaption { "Events settled in a second" } }
            @if consumer.parallel.is_some() {
                figure data-chart="in_flight" { figcaption { "Handlers that run" } }
            }
            @if !consumer.handler_times.is_empty() {
                figure data-chart="handler_time" { figcaption { "Handler time in ms" } }
            }
        }
        @if who.caller.rights.act { (actions(&base, &consumer)) }
        @if consumer.here { h2 { "Handler times" } (times(&consumer.handler_times)) }
        h2 { "Latest failures" }
        (failures(&base, &consumer.errors))
    };
    Ok(page(&base, &shared.bundle, &consumer.consumer, "", &content))
}

fn facts(base: &Base, consumer: &ConsumerView) -> Markup {
    let live = consumer.live.as_ref();
    html! {
        dl.facts data-consumer=(consumer.consumer) {
            div { dt { "Status" } dd data-field="status" { (badge(consumer.status)) " " (consumer.why()) } }
            div { dt { "Lag" } dd data-field="lag" { (lag_of(&consumer.lag)) } }
            div { dt { "Last settled" } dd.position data-field="last_settled" { (optional(consumer.last_settled.as_deref())) } }
            div { dt { "Last started" } dd.position data-field="last_started" { (optional(consumer.last_started.as_deref())) } }
            div { dt { "Per second" } dd data-field="rate" { (consumer.rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.0}"))) } }
            div { dt { "Failures in a row" } dd data-field="error_streak" { (consumer.error_streak) } }
            div { dt { "Dead letters" } dd { a data-field="dead_letters" href=(base.letters(consumer)) { (consumer.dead_letters) } } }
            div {
                dt { "Owner" }
                dd { (optional(consumer.instance.as_deref().or(consumer.owner.as_deref()))) @if consumer.here { " (here)" } ", epoch " (consumer.epoch) }
            }
            @if let Some(kind) = &consumer.kind { div { dt { "Kind" } dd { (kind) } } }
            @if let Some(parallel) = &consumer.parallel {
                div {
                    dt { "Parallel" }
                    dd {
                        @for executor in &parallel.executors { (badge(executor)) " " }
                        "in flight " b data-field="in_flight" { (parallel.in_flight) }
                        ", saturated " b data-field="saturated" { (parallel.saturated) }
                        ", transient failures " b data-field="transient_failures" { (parallel.transient_failures) }
                    }
                }
            }
            @if let Some(live) = live.filter(|live| live.parked_keys > 0) {
                div { dt { "Parked" } dd { (live.parked_events) " events of " (live.parked_keys) " keys wait behind a dead letter of theirs" } }
            }
            @if let Some(live) = live {
                div { dt { "Open" } dd { (live.open) ", of which " (live.exposure) " would run again" } }
                div {
                    dt { "Since it began" }
                    dd { (live.started) " started, " (live.settled) " settled, " (live.skipped) " skipped, " (live.failed) " attempts failed" }
                }
            }
        }
    }
}

fn actions(base: &Base, consumer: &ConsumerView) -> Markup {
    let url = format!("{}/act", base.consumer(consumer));
    html! {
        h2 { "Act" }
        div.actions {
            form method="post" action=(url) {
                @if consumer.enabled {
                    button name="action" value=(action::PAUSE) { "Pause" }
                } @else {
                    button name="action" value=(action::RESUME) { "Resume" }
                }
                p.quiet { "A paused consumer begins nothing; what runs finishes. It holds for every instance." }
            }
            form method="post" action=(url) {
                label { "Position " input name="position" required autocomplete="off"; }
                button name="action" value=(action::SKIP) { "Skip this event" }
                p.quiet { "Settles one open event without handling it." }
            }
            form method="post" action=(url) {
                label {
                    "Go on "
                    select name="to" {
                        option value="start" { "at the first event" }
                        option value="head" { "behind the last event" }
                        option value="after" { "after a position" }
                        option value="time" { "at a time (UTC)" }
                    }
                }
                label { "Position or time " input name="at" autocomplete="off" placeholder="2026-11-30T18:44"; }
                label.check { input type="checkbox" name="keep"; " back without clearing what handlers have written" }
                label.check { input type="checkbox" required; " yes, move it" }
                button name="action" value=(action::SEEK) { "Seek" }
            }
            form method="post" action=(url) {
                label.check { input type="checkbox" name="all" required; " all of its dead letters" }
                button name="action" value=(action::REDRIVE) { "Redrive" }
                p.quiet { "Oldest first per key, once each. Single ones and some of them: " a href=(base.letters(consumer)) { "its dead letters" } "." }
            }
        }
    }
}

/// How long handlers take, with the shape of it: one bar for each bucket.
fn times(times: &[TimesView]) -> Markup {
    let within = |time: Option<f64>| time.map_or_else(|| "longer".to_owned(), time::duration);
    table(
        &["Handler", "Attempts", "Failed", "Mean", "Half within", "95 % within", "99 % within", "0.1 ms to 60 s"],
        "Nobody counts: a bundle that is built with `.telemetry(HandlerTimes::new())` does, from its first attempt on.",
        times.iter().map(|times| {
            let [half, most, nearly_all] = times.within;
            html! {
                tr {
                    th scope="row" { code { (times.handler) } }
                    td.number { (times.attempts) }
                    td.number { (times.failed) }
                    td.number { (time::duration(times.mean())) }
                    td.number { (within(half)) }
                    td.number { (within(most)) }
                    td.number { (within(nearly_all)) }
                    td { (bars(&times.counts)) }
                }
            }
        }),
    )
}

fn bars(counts: &[u64]) -> Markup {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    html! {
        svg.bars viewBox={ "0 0 " (counts.len() * 6) " 24" } role="img" aria-label="How many attempts took how long" {
            @for (n, count) in counts.iter().enumerate() {
                // One that is there is seen.
                @let height = if *count == 0 { 0 } else { (count * 23 / most).max(1) };
                rect x=(n * 6) y=(24 - height) width="5" height=(height) {}
            }
        }
    }
}

fn failures(base: &Base, failures: &[FailureView]) -> Markup {
    table(
        &["When", "Event", "Handler", "Class", "Attempt", "Error"],
        "None that is remembered.",
        failures.iter().map(|failure| {
            html! {
                tr {
                    td.time { (failure.at) }
                    th scope="row" { a.position href=(base.event(&failure.position)) { (failure.position) } }
                    td { code { (failure.handler) } }
                    td { (badge(failure.class)) }
                    td.number { (failure.attempt) }
                    td.error { (failure.error) }
                }
            }
        }),
    )
}

/// The buttons. Goes back to the page they are on, which tells what became of it.
pub(crate) async fn act(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Response, Fault> {
    let outcome = act::act(&shared, &who, &path, asked(&form)?).await?;
    let mut back = base.of_consumer(&path.component, path.version, &path.context);
    if form.get("back").is_some_and(|back| back == "letters") {
        back.push_str("/letters");
    }
    Ok(Redirect::to(&format!("{back}?outcome={}", segment(&outcome.audit.to_string()))).into_response())
}

fn asked(form: &HashMap<String, String>) -> Result<Action, Fault> {
    let text = |name: &str| form.get(name).map(|text| text.trim().to_owned()).unwrap_or_default();
    let letters = || {
        // Keys and errors are what they are, spaces included.
        let whole = |name: &str| form.get(name).cloned().unwrap_or_default();
        Letters {
            all: text("all"),
            which: Which {
                position: text("position"),
                name: whole("name"),
                key: whole("key"),
                kind: text("kind"),
                handler: whole("handler"),
                class: text("class"),
                error: whole("error"),
                since: text("since"),
                before: text("before"),
                ..Which::default()
            },
        }
    };
    match &*text("action") {
        action::PAUSE => Ok(Action::Pause),
        action::RESUME => Ok(Action::Resume),
        action::SKIP => Ok(Action::Skip { position: position(&text("position"))? }),
        action::SEEK => {
            let to = match &*text("to") {
                to @ ("after" | "time") => format!("{to}:{}", text("at")),
                to => to.to_owned(),
            };
            Seek { to, keep: text("keep") }.action()
        }
        action::REDRIVE => letters().redriven(),
        action::DISCARD => letters().discarded(),
        action::PURGE => Purge { before: text("before") }.action(),
        _ => Err(Fault::invalid("there is no such button")),
    }
}
