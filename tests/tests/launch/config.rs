//! Settings from outside: what they win over, what they may not be, and what the plan says of them.

use std::time::Duration;

use evento_runtime::CheckpointMode;
use evento_runtime::bundle::Config;
use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};

use crate::shop::*;
use crate::{help, orders, place, problems};

fn read_model() -> impl ConsumerExecutor {
    ConsumerExecutors::partitioned("read-model", 4)
}

fn toml(text: &str) -> Config {
    Config::from_toml("orders.toml", text).expect("TOML")
}

#[test]
fn it_wins_over_the_code_and_the_plan_says_so() {
    let config = toml(
        r#"
window = 64
checkpoint = "on-start"
[executor.read-model]
capacity = 9
[component.OrderView]
checkpoint = "on-start"
[component.OrderView.handler.placed]
retry = 7
max_delay = "5s"
"#,
    );
    let later = toml("[component.OrderView.handler.placed]\nretry = 8\n");
    let builder = orders().register::<OrderView>().register::<Parallel>().executor(read_model()).window(128);
    let builder = builder.component_checkpoint_mode::<OrderView>(CheckpointMode::Watermark);
    let bundle =
        builder.checkpoint_mode(CheckpointMode::Watermark).config(config).config(later).build().expect("sound");
    let plan = bundle.plan().to_json();
    let said = |setting: &serde_json::Value| {
        let origin = &setting["origin"];
        (setting["value"].clone(), origin["by"].as_str().unwrap().to_owned(), origin["line"].as_u64())
    };
    let by = |line| ("config".to_owned(), Some(line));
    let of_bundle = &plan["settings"];
    assert_eq!(said(&of_bundle["window"]), (64.into(), by(2).0, by(2).1));
    let components = plan["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|component| component["name"] == name).unwrap();
    let (view, parallel) = (named("OrderView"), named("Parallel"));
    assert_eq!(
        said(&view["settings"]["checkpoint"]),
        ("on-start".into(), by(7).0, by(7).1),
        "over builder and attribute"
    );
    assert_eq!(said(&parallel["settings"]["checkpoint"]), ("on-start".into(), by(3).0, by(3).1), "over the builder");
    let placed = &view["handlers"][0]["settings"];
    assert_eq!(said(&placed["retry"]), (8.into(), by(2).0, by(2).1), "the later one counts");
    assert_eq!(said(&placed["max_delay"]), ("5s".into(), by(10).0, by(10).1));
    assert_eq!(said(&placed["retry_delay"]).1, "built-in");
    let executor = &plan["executors"][0];
    assert_eq!((&executor["capacity"], &executor["capacity_origin"]["by"]), (&9.into(), &"config".into()));
    assert_eq!(executor["keeps_key_order"], true, "it is the same executor");
    let text = bundle.plan().to_string();
    for part in
        ["window 64 (config, orders.toml:2)", "capacity 9 (config, orders.toml:5)", "retry 8 (config, orders.toml:2)"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn an_attribute_wins_over_what_the_configuration_says_for_all() {
    let bundle = orders().register::<OrderView>().executor(read_model()).config(toml("checkpoint = \"on-start\""));
    let plan = bundle.build().expect("sound").plan().to_json();
    assert_eq!(plan["components"][0]["settings"]["checkpoint"]["origin"]["by"], "attribute");
}

/// Everything that is misspelt, with the line and the nearest name.
#[test]
fn unknown_setting() {
    let config = toml(
        r#"windwo = 1
[executor.read-modle]
capacity = 1
[component.OrderViw]
enabled = true
[component.OrderView]
chekpoint = "watermark"
handler.palced.retry = 1
handler.placed.rety = 1
[compnent.OrderView]
enabled = true
"#,
    );
    let found = problems(orders().register::<OrderView>().executor(read_model()).config(config));
    let found: Vec<_> =
        found.iter().map(|problem| (problem.code, place(problem), &*problem.message, help(problem))).collect();
    let said = |line: u32, path: &str, what: &str, part: &str| {
        (format!("orders.toml:{line}"), format!("the configuration sets `{path}`, but there is no {what} `{part}`"))
    };
    let expected = [
        (said(1, "windwo", "setting", "windwo"), "did you mean `window`? there is: "),
        (
            said(3, "executor.read-modle.capacity", "executor", "read-modle"),
            "did you mean `read-model`? there is: read-model",
        ),
        (
            said(5, "component.OrderViw.enabled", "component", "OrderViw"),
            "did you mean `OrderView`? there is: OrderView",
        ),
        (
            said(7, "component.OrderView.chekpoint", "setting", "chekpoint"),
            "did you mean `checkpoint`? there is: checkpoint, contexts, dead_letter, enabled",
        ),
        (
            said(8, "component.OrderView.handler.palced.retry", "handler", "palced"),
            "did you mean `placed`? there is: paid, placed",
        ),
        (
            said(9, "component.OrderView.handler.placed.rety", "setting", "rety"),
            "did you mean `retry`? there is: batch, linger, max_delay",
        ),
        (said(11, "compnent.OrderView.enabled", "setting", "compnent"), "did you mean `component`? there is: "),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((code, at, message, help), ((place, words), begins)) in found.iter().zip(&expected) {
        assert_eq!((*code, at, *message), ("unknown-setting", place, &**words));
        assert!(help.starts_with(begins), "{help}");
    }
}

#[test]
fn bad_value() {
    let config = toml(
        r#"window = "many"
checkpoint = "sometimes"
max_delay = 5
[component.OrderView]
enabled = 1
contexts = [1]
[executor.all]
capacity = 3
"#,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let all = ConsumerExecutors::unbounded("all", runtime.handle().clone());
    let builder = orders().register::<OrderView>().executor(read_model()).executor(all).config(config);
    let found: Vec<_> =
        problems(builder).iter().map(|problem| (problem.code, place(problem), help(problem).to_owned())).collect();
    let places: Vec<_> = found.iter().map(|(code, place, _)| (*code, &**place)).collect();
    let bad = |place| ("bad-value", place);
    let lines = ["orders.toml:1", "orders.toml:2", "orders.toml:3", "orders.toml:5", "orders.toml:6", "orders.toml:8"];
    assert_eq!(places, lines.map(bad));
    assert_eq!(found[2].2, "a time such as `250ms`, `5s`, `2m`, `1h` or `7d`");
    assert_eq!(found[5].2, "only `tasks`, `partitioned` and `pooled` can");
    // What fits and cannot be used is told as if the code had said it.
    let zero = problems(orders().register::<OrderView>().executor(read_model()).config(toml("\nwindow = 0")));
    assert_eq!((zero[0].code, &*place(&zero[0])), ("bad-setting", "orders.toml:2"));
}

/// Whatever a component, a handler or the retention of a bundle can be told from outside, with its place.
#[test]
fn what_else_can_be_said_from_outside() {
    let config = toml(
        r#"
keep_events = "30d"
unclean_ends = 5
[component.OrderView]
dead_letter = "park"
redrive_transient = "5m"
start = "head"
[component.OrderView.handler.placed]
timeout = "30s"
"#,
    );
    let bundle = orders().register::<OrderView>().executor(read_model()).config(config).build().expect("sound");
    let plan = bundle.plan().to_json();
    let view = &plan["components"][0];
    let placed = view["handlers"].as_array().unwrap().iter().find(|handler| handler["method"] == "placed").unwrap();
    for (said, value, line) in [
        (&plan["settings"]["keep_events"], serde_json::json!("2592000s"), 2),
        (&plan["settings"]["unclean_ends"], 5.into(), 3),
        (&view["settings"]["dead_letter"], "park".into(), 5),
        (&view["settings"]["redrive_transient"], "300s".into(), 6),
        (&view["settings"]["start"], "head".into(), 7),
        (&placed["settings"]["timeout"], "30s".into(), 9),
    ] {
        assert_eq!(
            (&said["value"], &said["origin"]["by"], &said["origin"]["line"]),
            (&value, &"config".into(), &line.into())
        );
    }
}

#[test]
fn many_at_once_is_a_matter_of_the_type() {
    let config = toml(
        r#"component.OrderView.handler.placed.batch = 7
component.OrderView.handler.placed.linger = "5ms"
component.OrderView.dead_letter = "burn"
component.OrderView.start = "middle"
"#,
    );
    let found = problems(orders().register::<OrderView>().executor(read_model()).config(config));
    let found: Vec<_> = found.iter().map(|problem| (problem.code, place(problem), &*problem.message)).collect();
    let one = "`OrderView::placed` takes one event at a time";
    let (park, start) = ("component.OrderView.dead_letter", "component.OrderView.start");
    let unfit = |path: &str| format!("the configuration's value of `{path}` does not fit");
    assert_eq!(
        found,
        [
            ("bad-value", "orders.toml:1".to_owned(), one),
            ("bad-value", "orders.toml:2".to_owned(), one),
            ("bad-value", "orders.toml:3".to_owned(), &*unfit(park)),
            ("bad-value", "orders.toml:4".to_owned(), &*unfit(start)),
        ]
    );
}

#[tokio::test]
async fn what_is_not_enabled_does_not_run_here() {
    let config = toml("stop_deadline = \"2s\"\n[component.Waiting]\nenabled = false\n");
    let builder = orders().register::<Sequential>().register::<Waiting>().config(config);
    let bundle = builder.build().expect("sound");
    assert_eq!(bundle.plan().to_json()["components"][1]["settings"]["enabled"]["value"], false);
    let running = bundle.start().await.expect("starts");
    let components: Vec<_> = running.consumers().iter().map(|consumer| consumer.id().component.to_string()).collect();
    assert_eq!(components, ["Sequential"]);
    running.stop(Duration::from_secs(10)).await.expect("stops");
}
