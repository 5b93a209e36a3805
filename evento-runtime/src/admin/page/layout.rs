//! What all pages share.

use axum::extract::OriginalUri;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use super::super::fault::Fault;
use super::super::shared::Who;
use crate::view::Preview;
use crate::view::time;
pub(super) use crate::view::words::segment;
use crate::view::{ConsumerView, Lag};

/// Where the router is nested: what every address on a page begins with.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    root: String,
    /// Whether people come with a cookie, which they may want to give back.
    by_cookie: bool,
}

impl Base {
    pub(crate) fn of(request: &Parts, by_cookie: bool) -> Self {
        let here = request.uri.path();
        let whole = request.extensions.get::<OriginalUri>().map_or(here, |OriginalUri(uri)| uri.path());
        // A router that is nested sees the address without its beginning.
        let root = whole.strip_suffix(here).unwrap_or_else(|| whole.trim_end_matches('/'));
        Self { root: root.to_owned(), by_cookie }
    }

    /// An address of this router.
    pub(crate) fn url(&self, path: &str) -> String {
        match path {
            // What is nested has no slash at its end.
            "/" if !self.root.is_empty() => self.root.clone(),
            path => format!("{}{path}", self.root),
        }
    }

    /// The path of a cookie.
    pub(crate) fn path(&self) -> &str {
        if self.root.is_empty() { "/" } else { &self.root }
    }

    pub(super) fn consumer(&self, consumer: &ConsumerView) -> String {
        self.of_consumer(&consumer.component, consumer.version, &consumer.context)
    }

    pub(super) fn of_consumer(&self, component: &str, version: u32, context: &str) -> String {
        self.url(&format!("/consumers/{}/{version}/{}", segment(component), segment(context)))
    }

    pub(super) fn letters(&self, consumer: &ConsumerView) -> String {
        format!("{}/letters", self.consumer(consumer))
    }

    pub(super) fn event(&self, position: &str) -> String {
        self.url(&format!("/events/{}", segment(position)))
    }
}

/// Screens that are always one step away.
const SCREENS: [(&str, &str); 6] = [
    ("/", "Overview"),
    ("/catalogue", "Catalogue"),
    ("/executors", "Executors"),
    ("/instances", "Instances"),
    ("/events", "Events"),
    ("/audit", "Audit"),
];

/// A whole page. `at`: the screen it belongs to.
pub(super) fn page(base: &Base, bundle: &str, title: &str, at: &str, content: &Markup) -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(base, &format!("{title} – {bundle}")))
            body data-live=(base.url("/api/live")) {
                a.skip href="#content" { "To the content" }
                header {
                    p.bundle { (bundle) }
                    nav aria-label="Screens" {
                        @for (path, name) in SCREENS {
                            a href=(base.url(path)) aria-current=[(path == at).then_some("page")] { (name) }
                        }
                        @if base.by_cookie {
                            form method="post" action=(base.url("/logout")) { button.link type="submit" { "Sign out" } }
                        }
                    }
                    p #live role="status" {}
                }
                main #content tabindex="-1" { h1 { (title) } (content) }
            }
        }
    };
    Html(markup.into_string())
}

fn head(base: &Base, title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) }
            link rel="icon" type="image/svg+xml" href=(base.url("/assets/icon.svg"));
            link rel="stylesheet" href=(base.url("/assets/admin.css"));
            script src=(base.url("/assets/admin.js")) defer {}
        }
    }
}

/// A page without anything of the bundle: for whoever may see nothing.
pub(super) fn bare(base: &Base, title: &str, content: &Markup) -> Html<String> {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            (head(base, title))
            body { main #content { h1 { (title) } (content) } }
        }
    };
    Html(markup.into_string())
}

/// Says what is wrong, and where to go from there.
pub(crate) fn fault(base: &Base, fault: &Fault) -> Html<String> {
    let title = match fault.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::UNAUTHORIZED => "Who are you?",
        StatusCode::FORBIDDEN => "Not allowed",
        _ => "That did not work",
    };
    let content = html! {
        p role="alert" { (fault.message) }
        @if base.by_cookie && matches!(fault.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            p { a href=(base.url("/login")) { "Give a token" } }
        }
        p { a href=(base.url("/")) { "Overview" } }
    };
    bare(base, title, &content)
}

/// A table that can be scrolled on a narrow screen, or a sentence where it has no row.
pub(super) fn table(columns: &[&str], nothing: &str, rows: impl Iterator<Item = Markup>) -> Markup {
    let mut rows = rows.peekable();
    html! {
        @if rows.peek().is_none() {
            p.quiet { (nothing) }
        } @else {
            div.scroll tabindex="0" role="region" aria-label=(columns.first().copied().unwrap_or_default()) {
                table {
                    thead { tr { @for column in columns { th scope="col" { (column) } } } }
                    tbody { @for row in rows { (row) } }
                }
            }
        }
    }
}

/// A word that is seen at a glance; its colour repeats what it says.
pub(super) fn badge(word: &str) -> Markup {
    let kind = match word {
        "moving" | "caught up" | "done" => "good",
        "paused" | "waiting" | "transient" => "warn",
        "standing" | "unowned" | "refused" | "permanent" => "bad",
        _ => "plain",
    };
    html! { span.badge.(kind) { (word) } }
}

pub(super) fn optional(text: Option<&str>) -> &str {
    text.unwrap_or("–")
}

/// `12 (3.4 s)`.
pub(super) fn lag_of(lag: &Lag) -> String {
    match lag.events {
        0 => "0".to_owned(),
        events => format!("{events}{} ({})", if lag.more { "+" } else { "" }, time::duration(lag.seconds)),
    }
}

/// The beginning of a payload, and where the whole is.
pub(super) fn preview(preview: &Preview, download: Option<&str>) -> Markup {
    html! {
        pre.payload tabindex="0" { (preview.text) }
        p.quiet {
            (preview.kind) ", " (preview.bytes) " bytes"
            @if preview.cut { ", of which the beginning is shown" }
            @if let Some(download) = download { " – " a href=(download) download { "all bytes" } }
        }
    }
}

/// Under a payload with dots: the button for whoever may see more.
pub(super) fn reveal(url: &str, who: &Who) -> Markup {
    html! {
        @if who.caller.rights.reveal {
            form method="post" action=(url) {
                button { "Reveal" }
                p.quiet { "Shows the values of sensitive fields once. The audit keeps who has seen them, and when." }
            }
        } @else {
            p.quiet { "Values of sensitive fields are dots. Whoever has the right to reveal them may see them." }
        }
    }
}
