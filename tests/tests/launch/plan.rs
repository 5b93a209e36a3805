//! The plan says of each setting who gave it.

use std::time::Duration;

use evento_runtime::CheckpointMode;
use evento_runtime::executor::ConsumerExecutors;
use serde_json::{Value, json};

use crate::orders;
use crate::shop::*;

fn read_model() -> impl evento_runtime::executor::ConsumerExecutor {
    ConsumerExecutors::tasks("read-model", 4)
}

fn checkpoint(plan: &Value) -> (&str, &str) {
    let setting = &plan["components"][0]["settings"]["checkpoint"];
    (setting["value"].as_str().unwrap(), setting["origin"]["by"].as_str().unwrap())
}

#[test]
fn precedence_builder_per_component_attribute_builder_built_in() {
    let plan = |builder: evento_runtime::bundle::BundleBuilder| builder.build().unwrap().plan().to_json();
    let said = || orders().register::<OrderView>().executor(read_model());
    let silent = || orders().register::<Parallel>().executor(read_model());
    assert_eq!(checkpoint(&plan(silent())), ("on-start", "built-in"));
    assert_eq!(checkpoint(&plan(silent().checkpoint_mode(CheckpointMode::Watermark))), ("watermark", "bundle"));
    assert_eq!(checkpoint(&plan(said().checkpoint_mode(CheckpointMode::OnStart))), ("watermark", "attribute"));
    let overruled = said().component_checkpoint_mode::<OrderView>(CheckpointMode::OnStart);
    assert_eq!(checkpoint(&plan(overruled)), ("on-start", "bundle-for-component"));
}

#[test]
fn handlers_have_their_retry_settings() {
    let bundle = orders().register::<OrderView>().executor(read_model()).max_delay(Duration::from_secs(5)).build();
    let plan = bundle.unwrap().plan().to_json();
    let placed = &plan["components"][0]["handlers"][0];
    assert_eq!(placed["settings"]["retry"]["value"], 3);
    assert_eq!(placed["settings"]["retry"]["origin"]["by"], "attribute");
    assert_eq!(placed["settings"]["max_delay"]["value"], "5s");
    assert_eq!(placed["settings"]["max_delay"]["origin"]["by"], "bundle");
    assert_eq!(placed["settings"]["retry_delay"]["origin"], json!({ "by": "built-in", "file": null, "line": null }));
    assert_eq!(placed["docs"], "A new row.");
}
