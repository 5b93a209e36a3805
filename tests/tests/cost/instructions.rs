//! Instructions for an event, counted by valgrind: of this program, in a process of its own, with few and with more events.
//! What is left over between the two is what events take.

use std::process::Command;
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, CheckpointMode, ConsumerExecutors, Expected};

use crate::allocations::{Inline, OnLanes};

/// So many events are handled, instead of a process begun that handles them.
const EVENTS: &str = "EVENTO_COST_EVENTS";

/// With and without an executor.
const WAY: &str = "EVENTO_COST_WAY";

fn handle(events: u64, way: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = MemoryStore::new();
        let events =
            (0..events).map(|n| NewEvent::raw("Made", "application/json", &b"{}"[..]).key(format!("k{}", n % 100)));
        let batch = evento_runtime::source::Append::prepare(None::<String>, Expected::Any, events).unwrap();
        let last = evento_runtime::source::EventStore::append(&store, batch).await.unwrap().last;
        let builder = Bundle::builder("cost").store(store).checkpoint_mode(CheckpointMode::Watermark);
        let builder = match way {
            "tasks" => builder.component(OnLanes).executor(ConsumerExecutors::tasks("lanes", 64)),
            "partitioned" => builder.component(OnLanes).executor(ConsumerExecutors::partitioned("lanes", 64)),
            _ => builder.component(Inline),
        };
        let running = builder.build().unwrap().start().await.unwrap();
        let mut status = running.supervisor().status_cells()[0].subscribe();
        let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(&last)).await.unwrap();
        running.stop(Duration::from_secs(30)).await.unwrap();
    });
}

/// `None`: there is no valgrind.
fn counted(way: &str, events: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "instructions::an_event_takes_so_many_instructions"])
        .env(EVENTS, events.to_string())
        .env(WAY, way)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")).unwrap().1;
    Some(collected.trim().parse().unwrap())
}

#[test]
fn an_event_takes_so_many_instructions() {
    if let Ok(events) = std::env::var(EVENTS) {
        return handle(events.parse().unwrap(), &std::env::var(WAY).unwrap());
    }
    // Without optimisations, as tests are built; what they print is what was measured.
    for (way, most) in [("in-line", 57_000), ("tasks", 91_000), ("partitioned", 91_000)] {
        let (few, more) = (500, 2_500);
        let (Some(of_few), Some(of_more)) = (counted(way, few), counted(way, more)) else {
            return evento_tests::skip("valgrind is not installed (Debian package valgrind)");
        };
        let each = of_more.saturating_sub(of_few) / (more - few);
        println!("instructions for an event: {each} {way}");
        assert!((1..=most).contains(&each), "{each} instructions for an event, {way}");
    }
}
