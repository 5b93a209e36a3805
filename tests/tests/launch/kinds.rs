//! What is different about sagas and observers, and about projectors that go back: rules, settings, and the plan.

use evento_runtime::CheckpointMode;
use evento_runtime::executor::ConsumerExecutors;

use crate::shop::*;
use crate::{help, only, orders, place};

/// The place so many lines above.
macro_rules! above {
    ($offset:expr) => {
        format!("{}:{}", file!(), line!() - $offset)
    };
}

fn mail() -> impl evento_runtime::executor::ConsumerExecutor {
    ConsumerExecutors::tasks("mail", 4)
}

#[test]
fn no_handlers_of_a_kind() {
    let problem = only(orders().register::<EmptySaga>(), "no-handlers");
    assert_eq!(help(&problem), "write `#[saga_event_handler(init, association = ..)]` on a method of its `impl` block");
    let problem = only(orders().register::<EmptyOpenSaga>(), "no-handlers");
    assert!(
        help(&problem).starts_with(
            "write `#[saga_event_handler(saga = EmptyOpenSaga, init, association = ..)]` on free functions"
        ),
        "{problem}"
    );
    let problem = only(orders().register::<EmptyOpenObserver>(), "no-handlers");
    assert!(
        help(&problem).starts_with("write `#[event_handler(observer = EmptyOpenObserver)]` on free functions"),
        "{problem}"
    );
}

#[test]
fn no_init() {
    let problem = only(orders().register::<NeverBegun>(), "no-init");
    assert_eq!(problem.message, "`NeverBegun` has no handler with `init`: without one no instance would ever begin");
    assert_eq!(place(&problem), "src/never.rs:3");
    assert_eq!(
        help(&problem),
        "say `init` in the `#[saga_event_handler]` of the event that begins one, or link the crate of the one that has it"
    );
    assert!(orders().register::<Fulfil>().build().is_ok());
}

#[test]
fn two_states() {
    let problem = only(orders().register::<TwoStates>(), "two-states");
    assert_eq!(
        problem.message,
        "`TwoStates::paid` takes a `OtherState` as state, and `TwoStates::placed` at src/two.rs:8 a `Fulfilment`"
    );
    assert_eq!(place(&problem), "src/two.rs:14");
}

#[test]
fn only_in_a_saga() {
    let problem = only(orders().register::<Strays>(), "only-in-a-saga");
    assert_eq!(problem.message, "`Strays::placed` takes `Associations`, which only handlers of sagas have");
    assert_eq!(help(&problem), "`Strays` is a projector: it has no instances; take it out");
    assert_eq!(place(&problem), "src/strays.rs:8");
}

#[test]
fn no_checkpoint_mode() {
    let saga = orders().register::<Fulfil>().component_checkpoint_mode::<Fulfil>(CheckpointMode::Watermark);
    let problem = only(saga, "no-checkpoint-mode");
    assert_eq!(
        problem.message,
        "`.component_checkpoint_mode::<Fulfil>(..)` is about a saga, which has no checkpoint mode"
    );
    assert_eq!(place(&problem), above!(6));
    let observer = orders().register::<Mails>().executor(mail());
    let problem = only(observer.component_checkpoint_mode::<Mails>(CheckpointMode::OnStart), "no-checkpoint-mode");
    assert!(problem.message.contains("is about an observer"), "{problem}");
}

/// What is said for all does not concern them, and a kill loses nothing that they run.
#[test]
fn sagas_and_observers_are_covered_when_settled() {
    let wiring = || orders().register::<Fulfil>().register::<Mails>().executor(mail());
    for bundle in [wiring(), wiring().checkpoint_mode(CheckpointMode::OnStart)] {
        let bundle = bundle.build().unwrap();
        assert!(!bundle.warnings().iter().any(|warning| warning.code == "on-start"), "{:?}", bundle.warnings());
        for component in bundle.plan().to_json()["components"].as_array().unwrap() {
            assert_eq!(component["settings"]["checkpoint"]["value"], "watermark");
            assert_eq!(component["settings"]["checkpoint"]["origin"]["by"], "built-in");
        }
    }
    // Nor is there a bound that an unbounded executor would break.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let wide = ConsumerExecutors::unbounded("mail", runtime.handle().clone());
    assert!(orders().register::<Mails>().executor(wide).build().is_ok());
}

#[test]
fn a_hook_that_clears_is_judged_like_one_that_prepares() {
    let problem = only(orders().register::<ClearedTwice>(), "duplicate-hook");
    assert_eq!(problem.message, "`ClearedTwice` has a second `#[on_reset]`, beside the one at src/twice.rs:5");
    assert_eq!(help(&problem), "one hook clears a component: join the two");
    assert_eq!(place(&problem), "src/elsewhere.rs:9");
    let problem = only(orders().register::<GoesBack>(), "missing-dependency");
    assert_eq!(problem.message, "`GoesBack::clear` (`#[on_reset]`) takes a `Smtp`, but none was provided");
    assert_eq!(place(&problem), "src/back.rs:5");
    let plan = orders().register::<GoesBack>().provide(Smtp).build().unwrap().plan().to_json();
    assert_eq!(plan["components"][0]["on_reset"], "clear");
    assert_eq!(plan["needs"][0]["type"].as_str().unwrap().rsplit("::").next(), Some("Smtp"));
}

#[test]
fn the_plan_says_where_a_consumer_begins_and_what_finds_an_instance() {
    let wiring = orders().register::<Fulfil>().register::<Mails>().register::<GoesBack>().register::<Sequential>();
    let plan = wiring.provide(Smtp).executor(mail()).build().unwrap().plan().to_json();
    let components = plan["components"].as_array().unwrap();
    let starts: Vec<_> = components
        .iter()
        .map(|component| {
            let start = &component["settings"]["start"];
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            (text(&component["kind"]), text(&start["value"]), text(&start["origin"]["by"]))
        })
        .collect();
    let starts: Vec<_> = starts.iter().map(|(kind, start, by)| (kind.as_str(), start.as_str(), by.as_str())).collect();
    assert_eq!(
        starts,
        [
            ("saga", "head", "built-in"),
            ("projector", "head", "attribute"),
            ("observer", "beginning", "attribute"),
            ("projector", "beginning", "built-in"),
        ]
    );
    let handlers = &components[0]["handlers"];
    assert_eq!((&handlers[0]["init"], &handlers[0]["association"]), (&true.into(), &"order_id".into()));
    assert_eq!((&handlers[1]["init"], &handlers[1]["association"]), (&false.into(), &"payment".into()));
    assert!(components[3]["handlers"][0]["init"].is_null());
    // The engine gives them, nobody else does.
    assert!(
        plan["needs"].as_array().unwrap().iter().all(|need| !need["type"].as_str().unwrap().contains("Associations"))
    );
}
