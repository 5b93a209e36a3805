//! One test per rule that refuses a launch.

use std::time::Duration;

use evento_runtime::bundle::Bundle;
use evento_runtime::engine::ConsumerEngineConfig;
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::store::MemoryStore;
use evento_runtime::{CheckpointMode, DeadLetterPolicy};

use crate::fake::Fake;
use crate::shop::*;
use crate::{help, only, orders, place, problems as all};

/// The place so many lines above.
macro_rules! above {
    ($offset:expr) => {
        format!("{}:{}", file!(), line!() - $offset)
    };
}

#[test]
fn bad_name() {
    let problem = only(Bundle::builder("or\nders").store(Fake::default()).register::<Sequential>(), "bad-name");
    assert_eq!(place(&problem), above!(1));
    assert_eq!(problem.message, "`or\\nders` cannot be the name of a bundle");
    let problem = only(orders().register::<Misnamed>(), "bad-name");
    assert_eq!(problem.message, "`Order View` cannot be the name of a component");
    assert_eq!(place(&problem), "src/misnamed.rs:3");
    let executor = ConsumerExecutors::tasks("", 1);
    assert_eq!(
        only(orders().register::<Sequential>().executor(executor), "bad-name").message,
        "`` cannot be the name of an executor"
    );
}

#[test]
fn nothing_discovered() {
    let problem = only(orders().discover().module("shop::nowhere"), "nothing-discovered");
    assert_eq!(place(&problem), above!(1));
    assert_eq!(problem.message, "`.discover()` found no component inside of `shop::nowhere`");
    assert_eq!(help(&problem), "components were found in: shop::found");
}

#[test]
fn no_components() {
    let problem = only(orders(), "no-components");
    assert_eq!(problem.message, "bundle `orders` has no component");
}

#[test]
fn missing_expected() {
    let problem = only(orders().register::<Sequential>().expect::<Found>(), "missing-expected");
    assert_eq!(problem.message, "`Found` is expected, but it is not part of the bundle");
    assert!(orders().register::<Found>().expect::<Found>().build().is_ok());
    assert!(orders().discover().module("shop::found").expect::<Found>().build().is_ok());
}

/// B106.
#[test]
fn duplicate_component() {
    let read_model = ConsumerExecutors::tasks("read-model", 4);
    let problem =
        only(orders().register::<OrderView>().register::<OldName>().executor(read_model), "duplicate-component");
    assert_eq!(
        problem.message,
        "two components are `OrderView` version 1: `launch::shop::OldName` of crate `archive` at src/old.rs:4, and \
         `launch::shop::OrderView` of crate `shop`"
    );
    assert_eq!(place(&problem), "src/order_view.rs:12");
}

/// Trap 12: a test whose dev-dependency depends back on its crate has every component twice.
#[test]
fn duplicate_component_of_one_source() {
    let problem = only(orders().register::<Once>().register::<Again>(), "duplicate-component");
    assert!(help(&problem).starts_with("one source was compiled twice"), "{problem}");
}

#[test]
fn registered_twice() {
    let problem = only(orders().register::<Sequential>().component(Sequential), "duplicate-component");
    assert!(problem.message.starts_with("`Sequential` is registered twice, first at "));
    assert_eq!(place(&problem), above!(2));
    let once = orders().discover().module("shop::found").register::<Found>().build().unwrap();
    assert_eq!(once.plan().to_json()["components"].as_array().unwrap().len(), 2);
}

#[test]
fn unknown_component() {
    let wait = orders().register::<Sequential>().wait_for_head::<OldName>(true);
    let problem = only(wait, "unknown-component");
    assert_eq!(problem.message, "`.wait_for_head::<OldName>(..)` is about a component that is not part of the bundle");
    assert_eq!(help(&problem), "components: Sequential; add `.register::<OldName>()` or take the setting out");
    only(orders().register::<Sequential>().component_contexts::<Found>(["*"]), "unknown-component");
    let mode = orders().register::<Sequential>().component_checkpoint_mode::<Found>(CheckpointMode::Watermark);
    only(mode, "unknown-component");
}

#[test]
fn forget_live() {
    let problem = only(orders().register::<Sequential>().forget("Sequential", 1), "forget-live");
    assert_eq!(problem.message, "`.forget(\"Sequential\", 1)` names a component that is part of the bundle");
    assert!(orders().register::<Sequential>().forget("Sequential", 0).build().is_ok());
}

#[test]
fn no_handlers() {
    let problem = only(orders().register::<Empty>(), "no-handlers");
    assert_eq!(
        (problem.message.as_str(), place(&problem).as_str()),
        ("`Empty` has no event handler", "src/empty.rs:3")
    );
    assert_eq!(help(&problem), "write `#[event_handler]` on a method of its `impl` block");
    let problem = only(orders().register::<EmptyOpen>(), "no-handlers");
    assert!(help(&problem).starts_with("write `#[event_handler(projector = EmptyOpen)]` on free functions"));
}

#[test]
fn free_functions_join_a_registered_component() {
    let plan = orders().register::<Joined>().build().unwrap().plan().to_json();
    assert_eq!(plan["components"][0]["handlers"][0]["method"], "paid");
    assert_eq!(plan["components"][0]["handlers"][0]["file"], "src/elsewhere.rs");
}

#[test]
fn duplicate_handler() {
    let problems = all(orders().register::<Greedy>());
    let told: Vec<_> = problems.iter().map(|problem| (problem.code, problem.message.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                "duplicate-handler",
                "`Greedy::renamed` handles event `Placed`, and so does `Greedy::placed` at src/greedy.rs:10"
            ),
            ("duplicate-handler", "`Greedy::others` is a second catch-all beside `Greedy::rest` at src/greedy.rs:30"),
        ]
    );
    assert_eq!(place(&problems[0]), "src/greedy.rs:20");
}

#[test]
fn unordered_key() {
    let keyed = |executor| orders().register::<Keyed>().executor(executor).build().unwrap_err().problems;
    let problems = keyed(ConsumerExecutors::tasks("read-model", 4));
    let messages: Vec<&str> =
        problems.iter().filter(|problem| problem.code == "unordered-key").map(|problem| &*problem.message).collect();
    assert_eq!(
        messages,
        [
            "`Keyed::placed` is to keep the order of `key = customer`, but runs on executor `read-model`, which keeps no order",
            "`Keyed::paid` is to keep the order of `key = customer`, but runs in line, after all that was before"
        ]
    );
    let lanes = keyed(ConsumerExecutors::partitioned("read-model", 4));
    assert_eq!(lanes.iter().filter(|problem| problem.code == "unordered-key").count(), 1);
}

#[test]
fn unknown_executor() {
    let misspelt = orders().register::<OrderView>().executor(ConsumerExecutors::tasks("read-modle", 1));
    let problem = only(misspelt, "unknown-executor");
    assert_eq!(problem.message, "`OrderView::placed` runs on executor `read-model`, which is not registered");
    let at = above!(3);
    assert_eq!(
        help(&problem),
        format!("did you mean `read-modle` ({at}), which no handler names? registered: read-modle")
    );
    assert_eq!(place(&problem), "src/order_view.rs:21");
    // One misspelt registration is one problem, however many handlers it leaves without an executor.
    let registered = ConsumerExecutors::tasks("read-modle", 1);
    let problem =
        only(orders().register::<Parallel>().register::<OrderView>().executor(registered), "unknown-executor");
    assert_eq!(
        problem.message,
        "`OrderView::placed`, `Parallel::placed` and `Parallel::paid` run on executor `read-model`, which is not registered"
    );
    // One that others use is right as it is.
    let right = ConsumerExecutors::tasks("mial", 1);
    let near =
        orders().register::<Receipts>().register::<Mailing>().executor(right).provide(1_u8).provide(String::new());
    let problem = only(near.provide(Smtp), "unknown-executor");
    assert_eq!(help(&problem), "did you mean `mial`? registered: mial");
    let problem = only(orders().register::<OrderView>(), "unknown-executor");
    assert_eq!(
        help(&problem),
        "no executor is registered; add `.executor(ConsumerExecutors::tasks(\"read-model\", 8))`"
    );
}

#[test]
fn duplicate_executor() {
    let two = orders()
        .register::<OrderView>()
        .executor(ConsumerExecutors::tasks("read-model", 1))
        .executor(ConsumerExecutors::pooled("read-model", 2));
    let problem = only(two, "duplicate-executor");
    assert_eq!(problem.message, format!("executor `read-model` is registered twice, first at {}", above!(3)));
    assert_eq!(place(&problem), above!(3));
}

#[test]
fn bad_capacity() {
    for capacity in [0, (1 << 20) + 1, usize::MAX] {
        let executor = ConsumerExecutors::partitioned("read-model", capacity);
        let problem = only(orders().register::<OrderView>().executor(executor), "bad-capacity");
        assert_eq!(problem.message, format!("executor `read-model` cannot have a capacity of {capacity}"));
        assert_eq!(help(&problem), "a capacity is 1 to 1048576");
    }
}

#[test]
fn no_constructor() {
    let problem = only(orders().register::<OnlyGiven>(), "no-constructor");
    assert_eq!(problem.message, "`OnlyGiven` has neither an `#[inject]` constructor nor `Default`");
    assert_eq!(place(&problem), "src/given.rs:3");
    assert!(orders().component(OnlyGiven).build().is_ok());
}

#[test]
fn duplicate_hook() {
    let problem = only(orders().register::<Hooked>(), "duplicate-hook");
    assert_eq!(problem.message, "`Hooked` has a second `#[on_start]`, beside the one at src/hooked.rs:5");
    assert_eq!(place(&problem), "src/elsewhere.rs:5");
}

#[test]
fn missing_dependency() {
    let receipts = || orders().register::<Receipts>().executor(ConsumerExecutors::tasks("mial", 1));
    let problems = all(receipts());
    let told: Vec<_> = problems.iter().map(|problem| (problem.message.as_str(), place(problem))).collect();
    assert_eq!(
        told,
        [
            ("the constructor of `Receipts` takes a `String`, but none was provided", "src/receipts.rs:6".to_owned()),
            ("`Receipts::prepare` (`#[on_start]`) takes a `u8`, but none was provided", "src/receipts.rs:8".to_owned()),
            ("`Receipts::placed` takes a `Smtp`, but none was provided", "src/receipts.rs:12".to_owned()),
        ]
    );
    let problem =
        only(receipts().provide(1_u8).provide(String::new()).provide(std::sync::Arc::new(Smtp)), "missing-dependency");
    assert_eq!(help(&problem), "a `Arc<Smtp>` is provided: take that, or provide a `Smtp`");
    assert!(receipts().provide(1_u8).provide(String::new()).provide(Smtp).build().is_ok());
    // A ready value needs no constructor.
    let ready = orders().component(Receipts).executor(ConsumerExecutors::tasks("mial", 1));
    assert!(ready.provide(1_u8).provide(Smtp).build().is_ok());
}

#[test]
fn duplicate_dependency() {
    let problem = only(orders().register::<Sequential>().provide(Smtp).provide(Smtp), "duplicate-dependency");
    assert!(problem.message.starts_with("a `Smtp` is provided twice, first at "));
}

#[test]
fn no_store() {
    let problem = only(Bundle::builder("orders").register::<Sequential>(), "no-store");
    assert_eq!(place(&problem), above!(1));
    assert!(help(&problem).starts_with("add `.store(Sqlite::file(\"orders.db\"))`"));
}

#[test]
fn duplicate_store() {
    let problem = only(orders().register::<Sequential>().store(Fake::default()), "duplicate-store");
    assert_eq!(place(&problem), above!(1));
}

#[test]
fn bad_setting() {
    let sound = || orders().register::<Sequential>();
    assert_eq!(only(sound().page(0), "bad-setting").message, "`page` is 0, which would never let an event through");
    only(sound().look_ahead(0), "bad-setting");
    only(sound().look_ahead_bytes(0), "bad-setting");
    only(sound().window(0), "bad-setting");
    only(sound().checkpoint_every(0), "bad-setting");
    let wait = only(sound().admission_wait(Duration::ZERO), "bad-setting");
    assert_eq!(
        (wait.message.as_str(), help(&wait)),
        ("`admission_wait` cannot be 0ns", "at least a millisecond, at most a year")
    );
    only(sound().checkpoint_interval(Duration::MAX), "bad-setting");
    only(sound().parked_queue(0), "bad-setting");
    only(sound().parked_events(0), "bad-setting");
    only(sound().redrive_transient::<Sequential>(Duration::ZERO), "bad-setting");
    only(sound().max_delay(Duration::MAX), "bad-setting");
    only(sound().retry_delay(Duration::from_secs(31)), "bad-setting");
    assert!(sound().retry_delay(Duration::from_secs(31)).max_delay(Duration::from_secs(31)).build().is_ok());

    let problems = all(orders().register::<Impatient>());
    let told: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "`Impatient::placed` has `retry = -2`",
            "`Impatient::paid` has a `retry_delay` of 60s above its `max_delay` of 30s"
        ]
    );
    assert_eq!(help(&problems[1]), "30s is built in: say a longer `max_delay`, or lower `retry_delay`");
}

#[test]
fn mode_contradiction_window() {
    let problem = only(orders().register::<Sequential>().checkpoint_every(2_000), "mode-contradiction");
    assert_eq!(problem.message, "a checkpoint every 2000 events never comes in a window of 1024");
    // A small window brings a fitting checkpoint with it.
    let plan = orders().register::<Sequential>().window(100).build().unwrap().plan().to_json();
    assert_eq!(plan["settings"]["checkpoint_every"]["value"], 25);
}

#[test]
fn mode_contradiction_unbounded() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let wide = || ConsumerExecutors::unbounded("read-model", runtime.handle().clone());
    let problem = only(orders().register::<OnStartAttribute>().executor(wide()), "mode-contradiction");
    assert_eq!(
        problem.message,
        "`OnStartAttribute::placed` runs on unbounded executor `read-model` under `on-start`, where a kill would lose \
         any number of events"
    );
    assert_eq!(help(&problem), "say `checkpoint = \"watermark\"` in its attribute");
    assert!(orders().register::<OrderView>().executor(wide()).build().is_ok());
    let overruled = orders()
        .register::<OnStartAttribute>()
        .executor(wide())
        .component_checkpoint_mode::<OnStartAttribute>(CheckpointMode::Watermark);
    assert!(overruled.build().is_ok());
}

#[test]
fn unordered_park() {
    let parked =
        |executor| orders().register::<OrderView>().executor(executor).dead_letter::<OrderView>(DeadLetterPolicy::Park);
    let problem = only(parked(ConsumerExecutors::tasks("read-model", 4)), "unordered-park");
    assert_eq!(
        problem.message,
        "`OrderView` cannot park keys: `OrderView::placed` runs on executor `read-model`, which keeps no order of a key"
    );
    assert_eq!(
        help(&problem),
        "make it `ConsumerExecutors::partitioned(\"read-model\", ..)`, or take the executor out of the handler"
    );
    let bundle = parked(ConsumerExecutors::partitioned("read-model", 4)).build().unwrap();
    let plan = bundle.plan().to_json();
    let policy = &plan["components"][0]["settings"]["dead_letter"];
    assert_eq!((&policy["value"], &policy["origin"]["by"]), (&"park".into(), &"bundle-for-component".into()));
    assert_eq!(plan["settings"]["parked_queue"]["value"], 1_024);
    // Handlers in the consumer's own loop keep it.
    assert!(orders().register::<Sequential>().dead_letter::<Sequential>(DeadLetterPolicy::Park).build().is_ok());
}

#[test]
fn bad_context_and_overlapping_contexts() {
    let problems = all(orders().register::<Tenants>());
    let told: Vec<_> = problems.iter().map(|problem| (problem.code, problem.message.as_str())).collect();
    assert_eq!(
        told,
        [
            ("bad-context", "`a*b` is no context pattern for `Tenants`: `*` is understood only at the end"),
            (
                "overlapping-contexts",
                "contexts `tenant-*` and `tenant-1` of `Tenants` overlap: it would see some events twice"
            ),
        ]
    );
    let none: [&str; 0] = [];
    let problem = only(orders().register::<Tenants>().component_contexts::<Tenants>(none), "bad-context");
    assert_eq!(problem.message, "`Tenants` is given no context, so it would read nothing");
    assert_eq!(place(&problem), above!(2));
    assert!(orders().register::<Tenants>().component_contexts::<Tenants>(["a", "b*"]).build().is_ok());
}

#[test]
fn foreign_outbox() {
    let (read, written) = (MemoryStore::new(), MemoryStore::new());
    let config = |state: &MemoryStore| {
        let mut config = ConsumerEngineConfig::of(&read.store());
        config.state_store = state.store().stores.state;
        config
    };
    let wiring = |state: &MemoryStore| {
        Bundle::builder("orders").register::<Emits>().register::<Sequential>().engine(config(state))
    };
    let problem = only(wiring(&written), "foreign-outbox");
    assert_eq!(
        problem.message,
        "`Emits::placed` takes `Outbox`, but the state store appends to another log than `memory`"
    );
    assert_eq!(place(&problem), "src/emits.rs:8");
    assert!(help(&problem).starts_with("what it emits would not be read here"), "{problem}");
    // Another handle of the same log; and where nothing is emitted it does not matter.
    assert!(wiring(&read.clone()).build().is_ok());
    assert!(Bundle::builder("orders").register::<Sequential>().engine(config(&written)).build().is_ok());
}

#[test]
fn foreign_log() {
    let (read, written) = (MemoryStore::new(), MemoryStore::new());
    let wiring = |state: &MemoryStore| {
        let mut config = ConsumerEngineConfig::of(&read.store());
        config.state_store = state.store().stores.state;
        Bundle::builder("orders").register::<Sequential>().engine(config).keep_events(Duration::from_secs(86_400))
    };
    let problem = only(wiring(&written), "foreign-log");
    assert_eq!(problem.message, "`keep_events` would prune `memory`, but checkpoints are in another store");
    assert_eq!(place(&problem), above!(4));
    assert!(wiring(&read.clone()).build().is_ok());
}

#[test]
fn bad_rate() {
    let second = Duration::from_secs(1);
    let year = Duration::from_secs(400 * 24 * 3_600);
    for (starts, per, shown) in
        [(0, second, "0 per 1s"), (5, Duration::ZERO, "5 per 0ns"), (1, year, "1 per 34560000s")]
    {
        let executor = ConsumerExecutors::tasks("read-model", 4).rate(starts, per);
        let problem = only(orders().register::<OrderView>().executor(executor), "bad-rate");
        assert_eq!(problem.message, format!("executor `read-model` cannot have a rate of {shown}"));
        assert_eq!(place(&problem), above!(2));
    }
    let sound = ConsumerExecutors::tasks("read-model", 4).rate(10, second);
    let plan = orders().register::<OrderView>().executor(sound).build().unwrap().plan().to_json();
    assert_eq!(plan["executors"][0]["rate"], "10 per 1s");
}
