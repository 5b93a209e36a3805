//! `idle`: what a hundred consumers cost that have nothing to do.

use std::time::{Duration, Instant};

use evento_runtime::Bundle;
use evento_runtime::prelude::*;
use serde_json::json;

use crate::Options;
use crate::machine::processor_seconds;
use crate::places::{Kind, new_name};
use crate::report::{Report, rounded};
use crate::statements::Counted;
use crate::turns::as_f64;

const CONSUMERS: usize = 100;

#[derive(Default)]
struct Idle;

#[projector(version = 1)]
impl Idle {
    #[event_handler]
    async fn any(&self, _event: RawEvent) {}
}

pub(crate) async fn run(options: &Options, report: &mut Report, counted: &Counted) {
    let time = Duration::from_secs(options.events(60, 10));
    for kind in [Kind::Memory].into_iter().chain(Kind::READ) {
        let Some(place) = kind.open().await else { continue };
        place.fill(1, 1_000).await;
        // A context each.
        let contexts = (0..CONSUMERS).map(|n| format!("context-{n}"));
        let bundle = place.config(Bundle::builder(new_name()).component(Idle)).component_contexts::<Idle>(contexts);
        let running = bundle.build().unwrap().start().await.unwrap();
        assert!(running.status().len() == CONSUMERS);
        tokio::time::sleep(Duration::from_secs(3)).await;
        let (began, statements, processor) = (Instant::now(), counted.so_far(), processor_seconds());
        tokio::time::sleep(time).await;
        let seconds = began.elapsed().as_secs_f64();
        let statements = as_f64(counted.so_far() - statements) / seconds;
        let processor = processor_seconds().zip(processor).map(|(after, before)| (after - before) / seconds * 100.0);
        let figures = json!({
            "consumers": CONSUMERS, "statements_per_second": rounded(statements),
            "processor_percent": processor.map(rounded), "seconds": rounded(seconds),
        });
        report.figure("idle", place.name(), &figures);
        running.stop(Duration::from_secs(30)).await.unwrap();
        place.close().await;
    }
}
