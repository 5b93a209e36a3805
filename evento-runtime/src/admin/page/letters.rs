//! Dead letters: the list, and one of them with its payload.

use axum::Extension;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};

use super::super::api::letters::{self, LOOK, LetterPath};
use super::super::api::reveal::of_letter;
use super::super::asked::{Path, Query};
use super::super::shared::{ConsumerPath, Shared, Who};
use super::Page;
use super::consumer::Told;
use super::layout::{Base, badge, optional, page, preview, reveal, segment, table};
use crate::clock::{Clock as _, SystemClock};
use crate::view::LetterView;
use crate::view::words::{Which, action};

/// What the list is asked for, with the fields of its form.
const FIELDS: [(&str, &str); 8] = [
    ("name", "Event"),
    ("key", "Key"),
    ("kind", "Kind"),
    ("handler", "Handler"),
    ("class", "Class"),
    ("error", "Error holds"),
    ("since", "Failed since"),
    ("before", "Failed before"),
];

pub(crate) async fn list(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(path): Path<ConsumerPath>,
    Query(which): Query<Which>,
    Query(told): Query<Told>,
) -> Page {
    let (id, _) = shared.find(&path).await?;
    let (letters, next) = letters::page(&shared, &id, &which).await?;
    let (consumer, acts) = (base.of_consumer(&path.component, path.version, &path.context), who.caller.rights.act);
    let content = html! {
        (told.told(&shared).await?)
        p { a href=(consumer) { "The consumer" } }
        (filter(&which))
        @if acts { (actions(&consumer, &which)) }
        (table(
            &["Position", "Event", "Key", "Handler", "Class", "Attempts", "Last failure", "Error"],
            "No dead letter that is meant.",
            letters.iter().map(|letter| row(&consumer, letter)),
        ))
        @if let Some(next) = next {
            p { a rel="next" href=(format!("{consumer}/letters?{}after={}", query(&which), segment(&next))) { "Next page" } }
        }
    };
    Ok(page(&base, &shared.bundle, &format!("Dead letters of {id}"), "", &content))
}

fn row(consumer: &str, letter: &LetterView) -> Markup {
    let event = &letter.event;
    html! {
        tr {
            th scope="row" { a.position href=(format!("{consumer}/letters/{}", segment(&event.position))) { (event.position) } }
            td { (event.name) }
            td { (optional(event.key.as_deref())) }
            td { code { (letter.handler) } }
            td { @if letter.kind == "parked" { (badge("parked")) } @else { (badge(letter.class)) } @if letter.requested { " " (badge("requested")) } }
            td.number { (letter.attempts) }
            td.time { (letter.last_failed_at) }
            td.error { (letter.error.lines().next().unwrap_or_default().chars().take(200).collect::<String>()) }
        }
    }
}

fn value<'a>(which: &'a Which, field: &str) -> &'a str {
    match field {
        "name" => &which.name,
        "key" => &which.key,
        "kind" => &which.kind,
        "handler" => &which.handler,
        "class" => &which.class,
        "error" => &which.error,
        "since" => &which.since,
        "before" => &which.before,
        _ => "",
    }
}

/// What a field takes, where that is a short list.
fn choices(field: &str) -> Option<&'static [&'static str]> {
    match field {
        "class" => Some(&["", "ordinary", "transient", "permanent"]),
        "kind" => Some(&["", "dead", "parked"]),
        _ => None,
    }
}

/// What is said, as the beginning of a query.
fn query(which: &Which) -> String {
    let said = FIELDS.iter().map(|(field, _)| (field, value(which, field))).filter(|(_, value)| !value.is_empty());
    said.map(|(field, value)| format!("{field}={}&", segment(value))).collect()
}

fn filter(which: &Which) -> Markup {
    html! {
        form.filter method="get" role="search" aria-label="Which dead letters" {
            @for (field, label) in FIELDS {
                label {
                    (label) " "
                    @if let Some(choices) = choices(field) {
                        select name=(field) {
                            @for choice in choices {
                                option value=(choice) selected[value(which, field) == *choice] { (if choice.is_empty() { "any" } else { choice }) }
                            }
                        }
                    } @else {
                        input name=(field) value=(value(which, field)) autocomplete="off";
                    }
                }
            }
            button { "Show" }
        }
    }
}

/// For what the list shows, or for all where nothing is said.
fn actions(consumer: &str, which: &Which) -> Markup {
    let all = which.is_all();
    let meant = if all { "all of them" } else { "all that fit, on every page" };
    html! {
        div.actions {
            form method="post" action=(format!("{consumer}/act")) {
                input type="hidden" name="back" value="letters";
                @if all { input type="hidden" name="all" value="on"; }
                @for (field, _) in FIELDS {
                    @if !value(which, field).is_empty() { input type="hidden" name=(field) value=(value(which, field)); }
                }
                label.check { input type="checkbox" required; " yes, " (meant) }
                button name="action" value=(action::REDRIVE) { "Redrive" }
                button.danger name="action" value=(action::DISCARD) { "Discard" }
            }
            form method="post" action=(format!("{consumer}/act")) {
                input type="hidden" name="back" value="letters";
                input type="hidden" name="before" value=(SystemClock.now().as_micros());
                label.check { input type="checkbox" required; " yes, delete what was resolved until now" }
                button.danger name="action" value=(action::PURGE) { "Purge resolved" }
            }
        }
    }
}

pub(crate) async fn one(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(path): Path<LetterPath>,
    Query(told): Query<Told>,
) -> Page {
    let letter = LetterView::of(&letters::find(&shared, &path).await?, &shared.redaction, LOOK);
    Ok(of(&shared, &base, &who, &path, &letter, &told.told(&shared).await?))
}

/// Answered to a button, and kept nowhere.
pub(crate) async fn revealed(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(path): Path<LetterPath>,
) -> Page {
    let letter = of_letter(&shared, &who, &path).await?;
    Ok(of(&shared, &base, &who, &path, &letter, &html! {}))
}

fn of(shared: &Shared, base: &Base, who: &Who, path: &LetterPath, letter: &LetterView, told: &Markup) -> Html<String> {
    let event = &letter.event;
    let of = path.consumer();
    let consumer = base.of_consumer(&of.component, of.version, &of.context);
    let payload = format!(
        "{}/payload",
        base.url(&format!(
            "/api/consumers/{}/{}/{}/letters/{}",
            segment(&of.component),
            of.version,
            segment(&of.context),
            segment(&event.position),
        ))
    );
    let content = html! {
        (told)
        p { a href=(consumer) { "The consumer" } " – " a href=(format!("{consumer}/letters")) { "its dead letters" } }
        dl.facts {
            div { dt { "Event" } dd { (event.name) } }
            div { dt { "Position" } dd.position { a href=(base.event(&event.position)) { (event.position) } } }
            div { dt { "Key" } dd { (optional(event.key.as_deref())) } }
            div { dt { "Context" } dd { (event.context) } }
            div { dt { "Event id" } dd { code { (event.id) } } }
            div { dt { "Recorded" } dd.time { (event.recorded_at) } }
            div { dt { "Handler" } dd { code { (letter.handler) } } }
            div { dt { "Class" } dd { @if letter.kind == "parked" { (badge("parked")) } @else { (badge(letter.class)) } @if letter.requested { " " (badge("requested")) } } }
            div { dt { "Attempts" } dd { (letter.attempts) } }
            div { dt { "First failure" } dd.time { (letter.first_failed_at) } }
            div { dt { "Last failure" } dd.time { (letter.last_failed_at) } }
        }
        @if who.caller.rights.act {
            div.actions {
                form method="post" action=(format!("{consumer}/act")) {
                    input type="hidden" name="back" value="letters";
                    input type="hidden" name="position" value=(event.position);
                    button name="action" value=(action::REDRIVE) { "Redrive" }
                    button.danger name="action" value=(action::DISCARD) { "Discard" }
                }
            }
        }
        h2 { "Error" }
        pre.error tabindex="0" { (letter.error) }
        h2 { "Payload" }
        (preview(&event.payload, Some(&payload)))
        @if event.hidden { (reveal(&format!("{consumer}/letters/{}/reveal", segment(&event.position)), who)) }
        @if let Some(metadata) = &event.metadata { h2 { "Metadata" } (preview(metadata, None)) }
    };
    page(base, &shared.bundle, &format!("Dead letter {}", event.position), "", &content)
}
