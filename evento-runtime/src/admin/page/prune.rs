//! Taking out of the log what nobody needs any more: first how much that is.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};

use super::super::api::prune::{self, Before};
use super::super::asked::{Form, Query};
use super::super::fault::Fault;
use super::super::shared::{Shared, Who};
use super::Page;
use super::consumer::Told;
use super::layout::{Base, optional, page, segment};
use crate::view::PrunedView;

pub(crate) async fn form(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Query(before): Query<Before>,
    Query(told): Query<Told>,
) -> Page {
    let counted = match &*before.before {
        "" => None,
        _ => Some(prune::count(&shared, &before).await?),
    };
    let gone = shared.store.events.pruned().await?.map(|pruned| pruned.to_text());
    let content = html! {
        (told.told(&shared).await?)
        p { a href=(base.url("/events")) { "The log" } }
        p.quiet {
            "Events that every consumer has settled can be taken out of the log: those of all bundles, also of paused \
             ones, and those that nobody runs any more until they are forgotten. The last event of each key stays. \
             What was taken out does not come back, and no consumer goes back to it."
        }
        @if let Some(gone) = gone { p { "Taken out up to position " b.position { (gone) } } }
        form.filter method="get" {
            label { "Recorded before (UTC) " input name="before" value=(before.before) required autocomplete="off" placeholder="2026-11-30T18:44"; }
            button { "Count" }
        }
        @if let Some(counted) = &counted {
            (count(counted))
            @if who.caller.rights.act && counted.events > 0 {
                div.actions {
                    form method="post" action=(base.url("/prune")) {
                        input type="hidden" name="before" value=(before.before);
                        label.check { input type="checkbox" required; " yes, take them out" }
                        button.danger { "Prune" }
                    }
                }
            }
        }
    };
    Ok(page(&base, &shared.bundle, "Prune the log", "/events", &content))
}

fn count(counted: &PrunedView) -> Markup {
    html! {
        dl.facts {
            div { dt { "Events that would go" } dd { (counted.events) @if counted.more { " or more" } } }
            div { dt { "Up to position" } dd.position { (optional(counted.to.as_deref())) } }
            @if let Some(slowest) = &counted.slowest {
                div { dt { "Slowest consumer" } dd { (slowest.consumer) ", at " (optional(slowest.last_settled.as_deref())) } }
            } @else {
                div { dt { "Slowest consumer" } dd { "none: nobody reads this log, and nothing is taken out" } }
            }
        }
    }
}

pub(crate) async fn act(
    State(shared): State<Shared>,
    Extension(base): Extension<Base>,
    who: Who,
    Form(before): Form<Before>,
) -> Result<Response, Fault> {
    let outcome = prune::act(&shared, &who, &before).await?;
    let back = base.url(&format!("/prune?outcome={}", segment(&outcome.audit.to_string())));
    Ok(Redirect::to(&back).into_response())
}
