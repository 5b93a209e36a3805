//! The log.

use axum::Extension;
use axum::extract::State;
use axum::response::Html;
use maud::{Markup, html};

use super::super::api::events::{self, Wanted};
use super::super::api::letters::LOOK;
use super::super::api::reveal::of_log;
use super::super::asked::{Path, Query};
use super::super::shared::{Shared, Who};
use super::Page;
use super::layout::{Base, optional, page, preview, reveal, segment, table};
use crate::view::EventView;

pub(crate) async fn list(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    Query(wanted): Query<Wanted>,
) -> Page {
    let found = events::page(&shared, &wanted).await?;
    let said = [("name", &wanted.name), ("context", &wanted.context), ("key", &wanted.key)];
    let said: String = said
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(field, value)| format!("{field}={}&", segment(value)))
        .collect();
    let content = html! {
        (filter(&wanted))
        p { a href=(base.url("/prune")) { "Prune the log" } }
        (table(
            &["Position", "Event", "Key", "Version", "Context", "Recorded", "Payload"],
            "No event that is meant.",
            found.events.iter().map(|event| row(&base, event)),
        ))
        @if let Some((field, value)) = &found.next {
            p { a rel="next" href=(base.url(&format!("/events?{said}{field}={}", segment(value)))) { "Next page" } }
        }
    };
    Ok(page(&base, &shared.bundle, "Events", "/events", &content))
}

fn row(base: &Base, event: &EventView) -> Markup {
    html! {
        tr {
            th scope="row" { a.position href=(base.event(&event.position)) { (event.position) } }
            td { (event.name) }
            td {
                @if let Some(key) = &event.key {
                    a href=(base.url(&format!("/events?key={}&context={}", segment(key), segment(&event.context)))) { (key) }
                } @else { "–" }
            }
            td.number { (event.version.map_or_else(|| "–".to_owned(), |version| version.to_string())) }
            td { (event.context) }
            td.time { (event.recorded_at) }
            td.error { (event.payload.text.split_whitespace().collect::<Vec<_>>().join(" ")) }
        }
    }
}

fn filter(wanted: &Wanted) -> Markup {
    let fields = [
        ("name", "Event", &wanted.name),
        ("key", "Key", &wanted.key),
        ("context", "Context", &wanted.context),
        ("after", "After position", &wanted.after),
        ("since", "Recorded since", &wanted.since),
    ];
    html! {
        form.filter method="get" role="search" aria-label="Which events" {
            @for (field, label, value) in fields {
                label { (label) " " input name=(field) value=(value) autocomplete="off"; }
            }
            button { "Show" }
        }
    }
}

pub(crate) async fn one(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(text): Path<String>,
) -> Page {
    let event = EventView::of(&events::find(&shared, &text).await?, &shared.redaction, LOOK);
    Ok(of(&shared, &base, &who, &event))
}

/// Answered to a button, and kept nowhere.
pub(crate) async fn revealed(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Path(text): Path<String>,
) -> Page {
    let event = of_log(&shared, &who, &text).await?;
    Ok(of(&shared, &base, &who, &event))
}

fn of(shared: &Shared, base: &Base, who: &Who, event: &EventView) -> Html<String> {
    let payload = base.url(&format!("/api/events/{}/payload", segment(&event.position)));
    let content = html! {
        p { a href=(base.url("/events")) { "The log" } }
        dl.facts {
            div { dt { "Event" } dd { (event.name) } }
            div { dt { "Key" } dd { (optional(event.key.as_deref())) } }
            div { dt { "Version" } dd { (event.version.map_or_else(|| "–".to_owned(), |version| version.to_string())) } }
            div { dt { "Context" } dd { (event.context) } }
            div { dt { "Event id" } dd { code { (event.id) } } }
            div { dt { "Recorded" } dd.time { (event.recorded_at) } }
            div { dt { "Content type" } dd { (event.content_type) } }
        }
        h2 { "Payload" }
        (preview(&event.payload, Some(&payload)))
        @if event.hidden { (reveal(&format!("{}/reveal", base.event(&event.position)), who)) }
        @if let Some(metadata) = &event.metadata { h2 { "Metadata" } (preview(metadata, None)) }
    };
    page(base, &shared.bundle, &format!("Event {}", event.position), "/events", &content)
}
