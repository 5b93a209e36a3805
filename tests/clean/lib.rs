//! What users write, under the strictest lints: nothing may be said about what the macros wrote.
#![deny(warnings, missing_docs, unused_qualifications, unreachable_pub, unused_results, unused_lifetimes)]
#![deny(rust_2018_idioms, elided_lifetimes_in_paths, single_use_lifetimes, let_underscore_drop, unit_bindings)]
#![forbid(unsafe_code)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(
    clippy::absolute_paths,
    clippy::allow_attributes_without_reason,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::default_numeric_fallback,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_docs_in_private_items,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::question_mark_used,
    clippy::same_name_method,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::unwrap_used,
    clippy::used_underscore_items
)]

use evento_runtime::{Associations, Attempt, Dep, Event, EventId, Flow, Metadata, Position, Progress, RawEvent, Stop};
use evento_runtime::{event_handler, observer, on_reset, on_start, projector, saga, saga_event_handler};
use core::future::ready;
use serde::{Deserialize, Serialize};
use std::io::Error;

/// An executor's name.
pub const READ_MODEL: &str = "read-model";

/// An event.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "OrderPlaced", alias = "OrderCreated", context = "shop", key = order_id)]
#[non_exhaustive]
pub struct Placed {
    /// Its key.
    pub order_id: String,
}

/// Another one.
#[derive(Debug, Event, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Paid(String);

/// By its recorded name.
#[derive(Debug, Event, Serialize, Deserialize)]
#[event(name = "gen")]
#[non_exhaustive]
pub struct Renamed(String);

/// With words of the language.
#[derive(Debug, Event, Serialize, Deserialize)]
#[allow(non_camel_case_types, reason = "a raw identifier")]
#[event(key = r#type)]
#[non_exhaustive]
pub struct r#match {
    /// A raw field.
    pub r#type: u32,
}

/// Private, and used by nothing but its handlers.
struct Quiet {
    /// Injected.
    text: String,
}

#[projector(version = 1, wait_for_head = true, contexts = ["shop", "tenant-*"], checkpoint = "watermark")]
impl Quiet {
    /// Makes it.
    #[inject]
    const fn new(text: String) -> Self {
        Self { text }
    }

    /// Prepares.
    #[on_start]
    async fn prepare(&self, Dep(text): Dep<String>) -> Result<(), Error> {
        let _ = ready(text.len().max(self.text.len())).await;
        Ok(())
    }

    /// Handles.
    #[event_handler(executor = READ_MODEL, retry = -1, retry_delay = "500ms", max_delay = "30s")]
    async fn placed(&self, event: Placed, meta: Metadata, Dep(text): Dep<String>) -> Result<Flow, Error> {
        let same = event.order_id == self.text && meta.name() == text;
        ready(()).await;
        Ok(if same { Flow::Continue } else { Flow::Skip })
    }

    /// In line, without `async`.
    #[event_handler]
    fn paid(&self, event: Paid, attempt: Attempt, position: Position, id: EventId, stop: Stop) {
        let cents = event.0;
        drop((cents, attempt, position, id, stop, self.text.len()));
    }

    /// A keyword in one edition only.
    #[event_handler]
    async fn r#gen(&self, event: Renamed) {
        let _ = ready(event.0.len().max(self.text.len())).await;
    }

    /// Old.
    #[deprecated]
    #[event_handler]
    async fn old(&self, event: r#match) {
        let _ = ready(event.r#type.to_string().len().max(self.text.len())).await;
    }

    /// The rest.
    #[expect(clippy::unused_async, reason = "an expectation of the user's own")]
    #[event_handler]
    async fn rest(&self, _event: RawEvent) {}
}

/// Without a constructor.
#[derive(Default)]
struct ByDefault;

#[projector(version = 1)]
impl ByDefault {
    /// Handles.
    #[event_handler]
    async fn rest(&self, _event: RawEvent) {
        ready(()).await;
    }
}

/// Without that.
struct OnlyGiven;

#[projector(version = 1)]
impl OnlyGiven {
    /// Handles.
    #[event_handler]
    async fn rest(&self, _event: RawEvent) {
        ready(()).await;
    }
}

/// Prepares.
#[on_start(projector = Totals)]
async fn prepare_totals() {
    ready(()).await;
}

/// Function style.
#[projector(version = 1)]
struct Totals;

/// Handles.
#[event_handler(projector = Totals, executor = "read-model")]
async fn placed(event: Placed) -> Result<(), Error> {
    let _ = ready(event.order_id.len()).await;
    Ok(())
}

/// Handles.
#[event_handler(projector = Totals)]
fn paid(event: Paid, Dep(_text): Dep<String>) {
    drop(event.0);
}

/// What a saga keeps.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Progressed {
    /// How far.
    steps: u32,
}

/// A process.
struct Process {
    /// Injected.
    text: String,
}

#[saga(version = 1, start = "beginning", contexts = "shop", wait_for_head = false)]
impl Process {
    /// Makes it.
    #[inject]
    const fn new(text: String) -> Self {
        Self { text }
    }

    /// Begins.
    #[saga_event_handler(init, association = order_id, retry = 3, retry_delay = "500ms", max_delay = "30s")]
    async fn placed(&self, event: Placed, state: &mut Progressed, meta: Metadata) -> Result<Flow, Error> {
        let same = event.order_id == self.text && meta.name() == self.text;
        ready(()).await;
        state.steps = 1;
        Ok(if same { Flow::Continue } else { Flow::Complete })
    }

    /// In line, without `async`.
    #[saga_event_handler(association = 0, property = "order_id")]
    fn paid(&self, event: Paid, state: &mut Progressed, progress: Progress, associations: Associations) {
        state.steps = u32::from(progress.replaying);
        drop((event.0, self.text.len(), associations));
    }

    /// By a word of the language.
    #[saga_event_handler(association = r#type)]
    async fn matched(&self, event: r#match, state: &mut Progressed) {
        state.steps = ready(event.r#type.max(u32::from(self.text.is_empty()))).await;
    }
}

/// Function style.
#[saga(version = 1)]
struct Processes;

/// Begins.
#[saga_event_handler(saga = Processes, init, association = order_id)]
async fn begun(event: Placed, state: &mut Progressed) {
    state.steps = ready(u32::from(event.order_id.is_empty())).await;
}

/// Effects elsewhere.
#[derive(Default)]
struct Mails;

#[observer(version = 1, start = "head")]
impl Mails {
    /// Handles.
    #[event_handler(executor = READ_MODEL, retry = 5)]
    async fn rest(&self, _event: RawEvent, id: EventId) -> Result<(), Error> {
        let _ = ready(id).await;
        Ok(())
    }
}

/// Function style.
#[observer(version = 1)]
struct Letters;

/// Handles.
#[event_handler(observer = Letters)]
async fn letter(_event: RawEvent) {
    ready(()).await;
}

/// Goes back.
#[derive(Default)]
struct Again;

#[projector(version = 1, start = "head")]
impl Again {
    /// Clears.
    #[on_reset]
    async fn clear(&self, Dep(text): Dep<String>) -> Result<(), Error> {
        let _ = ready(text.len()).await;
        Ok(())
    }

    /// Handles.
    #[event_handler]
    async fn rest(&self, _event: RawEvent) {
        ready(()).await;
    }
}

/// Clears.
#[on_reset(projector = Totals)]
async fn clear_totals() {
    ready(()).await;
}
