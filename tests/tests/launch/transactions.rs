//! Handlers that take the framework's transaction, and handlers with a time they may take.

use std::time::Duration;

use evento_runtime::bundle::{Bundle, BundleBuilder};
use evento_runtime::component::{Component, ComponentDef, HandlerDef, Kind};
use evento_runtime::deps::Need;
use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::store::{Database, Lease, OpenTransaction, Settlement};
use evento_runtime::{CheckpointMode, StoreError};
use serde_json::{Value, json};

use crate::fake::Fake;
use crate::shop::*;
use crate::{help, only, orders, place, problems};

/// The place so many lines above.
macro_rules! above {
    ($offset:expr) => {
        format!("{}:{}", file!(), line!() - $offset)
    };
}

pub(crate) struct Open(());

#[evento_runtime::async_trait]
impl OpenTransaction for Open {
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any + Send> {
        self
    }

    async fn settle(&mut self, _: &Lease, _: Settlement) -> Result<(), StoreError> {
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }

    async fn roll_back(self: Box<Self>) {}
}

macro_rules! databases {
    ($($name:ident),*) => {$(
        pub(crate) struct $name;
        impl Database for $name {
            type Connection = ();
            type Transaction = Open;

            fn connection(open: &Open) -> &() {
                &open.0
            }

            fn connection_mut(open: &mut Open) -> &mut () {
                &mut open.0
            }
        }
    )*};
}
databases! { Sqlite, Postgres }

component!(
    Exact,
    "Exact",
    "src/exact.rs",
    3,
    [
        on::<Paid>("paid", "src/exact.rs", 8),
        on::<Placed>("placed", "src/exact.rs", 14).executor("read-model").retry(1).transaction::<Sqlite>()
    ]
);
component!(
    ExactOnStart,
    "ExactOnStart",
    "src/exact.rs",
    30,
    [on::<Placed>("placed", "src/exact.rs", 34).executor("read-model").retry(1).transaction::<Sqlite>()],
    checkpoint: Some(CheckpointMode::OnStart)
);
component!(ExactMails, "ExactMails", "src/exact.rs", 50, [
    on::<Placed>("placed", "src/exact.rs", 54).executor("read-model").retry(1).transaction::<Sqlite>()
], kind: Kind::Observer);
component!(
    Patient,
    "Patient",
    "src/patient.rs",
    3,
    [
        on::<Placed>("placed", "src/patient.rs", 8).timeout(30_000_000),
        on::<Paid>("paid", "src/patient.rs", 14).timeout(500_000).abandon()
    ]
);
component!(
    Bulk,
    "Bulk",
    "src/bulk.rs",
    3,
    [
        on::<Placed>("placed", "src/bulk.rs", 8).executor("read-model").retry(1).batch(500).linger(5_000),
        on::<Paid>("paid", "src/bulk.rs", 14).batch(0)
    ]
);
component!(
    Large,
    "Large",
    "src/large.rs",
    3,
    [on::<Placed>("placed", "src/large.rs", 8).executor("read-model").retry(1).batch(500).linger(5_000)]
);
component!(
    Hasty,
    "Hasty",
    "src/hasty.rs",
    3,
    [
        on::<Placed>("placed", "src/hasty.rs", 8).timeout(0),
        on::<Paid>("paid", "src/hasty.rs", 14).timeout(u64::MAX).abandon()
    ]
);

/// On a store with the transactions of `D`.
#[track_caller]
fn on_store<D: Database>() -> BundleBuilder {
    Bundle::builder("orders").store(Fake { database: Some(Need::of::<D>()), ..Fake::default() })
}

fn read_model() -> impl ConsumerExecutor {
    ConsumerExecutors::tasks("read-model", 4)
}

fn checkpoint(builder: BundleBuilder) -> (String, String) {
    let bundle = builder.build().unwrap();
    assert!(!bundle.warnings().iter().any(|warning| warning.code == "on-start"), "{:?}", bundle.warnings());
    let plan = bundle.plan().to_json();
    let setting = &plan["components"][0]["settings"]["checkpoint"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&setting["value"]), text(&setting["origin"]["by"]))
}

#[test]
fn wrong_database() {
    let problem = only(on_store::<Postgres>().register::<Exact>().executor(read_model()), "wrong-database");
    assert_eq!(problem.message, "`Exact::placed` takes `&mut Tx<Sqlite>`, but store `orders.db` is `Postgres`");
    assert_eq!(
        help(&problem),
        "what a handler writes and that it has handled the event are one commit only in one database: take \
         `&mut Tx<Postgres>`, or give the bundle a `Sqlite` store"
    );
    assert_eq!(place(&problem), "src/exact.rs:14");
    let problem = only(orders().register::<Exact>().executor(read_model()), "wrong-database");
    assert_eq!(problem.message, "`Exact::placed` takes `&mut Tx<Sqlite>`, but store `orders.db` has no transactions");
    assert_eq!(help(&problem), "give the bundle a `Sqlite` store, or write through a `Dep<T>`");
    let memory = Bundle::builder("orders").store(evento_runtime::store::Memory::new());
    let problem = only(memory.register::<ExactMails>().executor(read_model()), "wrong-database");
    assert!(problem.message.contains("has no transactions"), "{problem}");
    assert!(on_store::<Sqlite>().register::<Exact>().executor(read_model()).build().is_ok());
    // What says that there is no store says enough.
    only(Bundle::builder("orders").register::<Exact>().executor(read_model()), "no-store");
}

#[test]
fn no_on_start() {
    let problem = only(on_store::<Sqlite>().register::<ExactOnStart>().executor(read_model()), "no-on-start");
    assert_eq!(
        problem.message,
        "`ExactOnStart` cannot be covered `on-start`: `ExactOnStart::placed` takes `&mut Tx<Sqlite>`, so that an event \
         is covered by the commit of what was written"
    );
    assert_eq!(help(&problem), "take `checkpoint = \"on-start\"` out of its attribute");
    assert_eq!(place(&problem), "src/exact.rs:30");
    let named = on_store::<Sqlite>().register::<Exact>().executor(read_model());
    let problem = only(named.component_checkpoint_mode::<Exact>(CheckpointMode::OnStart), "no-on-start");
    assert_eq!(place(&problem), above!(1));
    assert_eq!(help(&problem), "take `.component_checkpoint_mode::<Exact>(..)` out");
    // On an executor without a bound as well it is told once.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let wide = || ConsumerExecutors::unbounded("read-model", runtime.handle().clone());
    only(on_store::<Sqlite>().register::<ExactOnStart>().executor(wide()), "no-on-start");
    assert!(on_store::<Sqlite>().register::<Exact>().executor(wide()).build().is_ok());
    // The call that names it wins over the attribute.
    let overruled = on_store::<Sqlite>().register::<ExactOnStart>().executor(read_model());
    let overruled = overruled.component_checkpoint_mode::<ExactOnStart>(CheckpointMode::Watermark);
    assert_eq!(checkpoint(overruled), ("watermark".to_owned(), "bundle-for-component".to_owned()));
}

/// What is said for all does not concern it, and a kill loses nothing that it runs.
#[test]
fn a_component_with_a_transaction_is_covered_by_its_commits() {
    let wiring = || on_store::<Sqlite>().register::<Exact>().executor(read_model());
    let built_in = ("watermark".to_owned(), "built-in".to_owned());
    assert_eq!(checkpoint(wiring()), built_in);
    assert_eq!(checkpoint(wiring().checkpoint_mode(CheckpointMode::OnStart)), built_in);
    // Its threads are no hindrance.
    let pooled = on_store::<Sqlite>().register::<Exact>().executor(ConsumerExecutors::pooled("read-model", 2));
    assert_eq!(checkpoint(pooled), built_in);
    let plan = wiring().build().unwrap().plan().clone();
    let handlers = &plan.to_json()["components"][0]["handlers"];
    assert_eq!((&handlers[0]["transaction"], &handlers[1]["transaction"]), (&Value::Null, &json!("Sqlite")));
    assert!(plan.to_string().contains("placed <- Placed, on read-model, in a transaction of Sqlite  src/exact.rs:14"));
}

#[test]
fn the_plan_says_how_long_a_handler_may_take() {
    let plan = orders().register::<Patient>().build().unwrap().plan().clone();
    let handlers = &plan.to_json()["components"][0]["handlers"];
    let by_attribute = json!({ "by": "attribute", "file": "src/patient.rs", "line": 8 });
    assert_eq!(handlers[0]["settings"]["timeout"], json!({ "value": "30s", "origin": by_attribute }));
    assert!(handlers[0]["settings"]["on_timeout"].is_null());
    assert_eq!(handlers[1]["settings"]["on_timeout"]["value"], "abandon");
    assert_eq!(handlers[1]["settings"]["on_timeout"]["origin"]["line"], 14);
    assert!(plan.to_string().contains("timeout 500ms (attribute), on_timeout abandon (attribute)"), "{plan}");
    // Nothing is said where nothing was said.
    let silent = orders().register::<Sequential>().build().unwrap().plan().to_string();
    assert!(!silent.contains("timeout ") && !silent.contains("in a transaction"), "{silent}");
}

#[test]
fn bad_setting_of_a_timeout() {
    let problems = problems(orders().register::<Hasty>());
    let told: Vec<_> = problems.iter().map(|problem| (problem.code, problem.message.as_str())).collect();
    assert_eq!(told[0], ("bad-setting", "`Hasty::placed` cannot have a `timeout` of 0ns"));
    assert_eq!((told[1].0, told.len()), ("bad-setting", 2));
    assert_eq!(help(&problems[0]), "longer than nothing, at most a year");
    assert_eq!(Patient::DEF.handlers.len(), 2);
    let [placed, paid]: [HandlerDef; 2] = *Patient::DEF.handlers.first_chunk().unwrap();
    assert_eq!((placed.timeout, placed.abandon), (Some(Duration::from_secs(30)), false));
    assert_eq!((paid.timeout, paid.abandon), (Some(Duration::from_millis(500)), true));
}

#[test]
fn a_batch_is_covered_once_it_is_settled_and_the_plan_shows_it() {
    let problems = problems(orders().register::<Bulk>().executor(read_model()));
    assert_eq!((problems[0].code, problems.len()), ("bad-setting", 1));
    assert_eq!(problems[0].message, "`Bulk::paid` cannot have a `batch` of 0");
    assert_eq!((help(&problems[0]), place(&problems[0])), ("1 event or more at once", "src/bulk.rs:14".to_owned()));
    let on_start = orders().register::<Large>().executor(read_model());
    let problem = only(on_start.component_checkpoint_mode::<Large>(CheckpointMode::OnStart), "no-on-start");
    assert_eq!(
        problem.message,
        "`Large` cannot be covered `on-start`: `Large::placed` takes many events at once, and a kill would lose all that \
         one call has begun"
    );
    let wiring = || orders().register::<Large>().executor(read_model());
    assert_eq!(checkpoint(wiring()), ("watermark".to_owned(), "built-in".to_owned()));
    let plan = wiring().build().unwrap().plan().clone();
    assert_eq!(plan.to_json()["components"][0]["handlers"][0]["settings"]["batch"]["value"], 500);
    assert!(plan.to_string().contains("batch 500 (attribute), linger 5ms (attribute)"), "{plan}");
}
