//! One test per rule that only warns.

use evento_runtime::CheckpointMode;
use evento_runtime::bundle::Bundle;
use evento_runtime::executor::ConsumerExecutors;

use crate::fake::Fake;
use crate::shop::*;
use crate::{help, orders, place, warning};

#[test]
fn a_sound_bundle_is_warned_of_nothing() {
    let bundle = evento_runtime::assert_launches!(orders().register::<Sequential>());
    assert_eq!(bundle.warnings(), []);
}

#[test]
#[should_panic(expected = "[no-components] bundle `orders` has no component")]
fn assert_launches_panics_with_the_report() {
    let _ = evento_runtime::assert_launches!(orders());
}

#[test]
fn unused_module() {
    let twice = orders().discover().module("shop::found").module("shop::lost");
    assert_eq!(warning(twice, "unused-module").message, "`.module(\"shop::lost\")` has no effect");
    let alone = orders().register::<Sequential>().module("shop");
    assert_eq!(help(&warning(alone, "unused-module")), "it narrows `.discover()`, which is not called");
}

#[test]
fn retry_for_ever() {
    let parallel = orders().register::<Parallel>().executor(ConsumerExecutors::tasks("read-model", 4));
    let warning = warning(parallel, "retry-for-ever");
    assert_eq!(
        warning.message,
        "`Parallel::paid` runs on executor `read-model` and says no `retry`: its first failed attempt gives the event to \
         the dead letters"
    );
    assert_eq!(place(&warning), "src/parallel.rs:14");
    // Trap 14: what was said and cannot hold is told as well.
    let for_ever = orders().register::<ForEver>().executor(ConsumerExecutors::tasks("read-model", 4));
    let warning = crate::warning(for_ever, "retry-for-ever");
    assert!(
        warning.message.contains("`read-model`, where `retry = -1` becomes 0: its first failed attempt"),
        "{warning}"
    );
}

#[test]
fn keyless_partitioned() {
    let parallel = || orders().register::<Parallel>();
    let lanes = ConsumerExecutors::partitioned("read-model", 4);
    assert_eq!(
        warning(parallel().executor(lanes), "keyless-partitioned").message,
        "`Parallel::paid` runs on an executor that keeps the order of a key, but event `Paid` names no key"
    );
    let tasks = parallel().executor(ConsumerExecutors::tasks("read-model", 4)).build().unwrap();
    assert!(!tasks.warnings().iter().any(|warning| warning.code == "keyless-partitioned"));
}

#[test]
fn unused_executor() {
    let idle = || orders().executor(ConsumerExecutors::tasks("idle", 4));
    let found = warning(idle().register::<Sequential>(), "unused-executor");
    assert_eq!(found.message, "no handler runs on executor `idle`");
    assert_eq!(help(&found), "write `#[event_handler(executor = \"idle\")]`, or take it out");
    let other = idle().register::<OrderView>().executor(ConsumerExecutors::tasks("read-model", 4));
    assert_eq!(help(&warning(other, "unused-executor")), "handlers name: read-model");
}

#[test]
fn on_start() {
    let parallel = || orders().register::<Parallel>().executor(ConsumerExecutors::tasks("read-model", 32));
    let found = warning(parallel(), "on-start");
    assert_eq!(
        found.message,
        "a hard kill loses what `Parallel` has running on executor `read-model`, at most 32 events, because its \
         checkpoint mode is `on-start`"
    );
    assert_eq!(
        help(&found),
        "to lose nothing, add `.component_checkpoint_mode::<Parallel>(CheckpointMode::Watermark)`"
    );
    for safe in [
        parallel().checkpoint_mode(CheckpointMode::Watermark),
        parallel().component_checkpoint_mode::<Parallel>(CheckpointMode::Watermark),
    ] {
        assert!(!safe.build().unwrap().warnings().iter().any(|warning| warning.code == "on-start"));
    }
}

#[test]
fn volatile_store() {
    let memory = Bundle::builder("orders").register::<Sequential>().store(Fake { durable: false, ..Fake::default() });
    assert_eq!(
        warning(memory, "volatile-store").message,
        "store `orders.db` ends with the process: events, checkpoints and dead letters"
    );
}

#[test]
fn few_writers() {
    let one = Bundle::builder("orders")
        .register::<OrderView>()
        .store(Fake { writers: Some(1), ..Fake::default() })
        .executor(ConsumerExecutors::partitioned("read-model", 8));
    assert_eq!(warning(one, "few-writers").message, "executor `read-model`: 8 lanes, 1 writer");
}
