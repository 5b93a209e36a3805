//! A named set of components with a store and executors: first a plan, then a process.
//!
//! ```no_run
//! use evento_runtime::bundle::{Bundle, shutdown_signal};
//! use evento_runtime::executor::ConsumerExecutors;
//! use evento_runtime::store::StoreConfig;
//! use evento_runtime::CheckpointMode;
//!
//! # async fn f(store: impl StoreConfig) -> evento_runtime::Result {
//! Bundle::builder("orders")
//!     .discover()
//!     .store(store)
//!     .executor(ConsumerExecutors::partitioned("read-model", 32))
//!     .checkpoint_mode(CheckpointMode::Watermark)
//!     .build()?
//!     .run_until(shutdown_signal())
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! [`build`](BundleBuilder::build) judges the whole wiring and connects to nothing. It refuses with *everything* that
//! is wrong, each with a code, the user's own line and what would be right:
//!
//! ```text
//! Error: bundle `orders` cannot start: 2 problems
//!
//!   1. [unknown-executor] `OrderView::recomputed` runs on executor `read-modle`, which is not registered
//!      --> src/order_view.rs:21
//!      help: did you mean `read-model`? registered: mail, read-model
//!
//!   2. [missing-dependency] `Receipts::placed` takes a `Smtp`, but none was provided
//!      --> src/receipts.rs:12
//!      help: add `.provide(..)` to the bundle builder
//! ```
//!
//! In a test, [`assert_launches!`](crate::assert_launches) does the same. [`Bundle::plan`] prints the wiring that
//! passed.
#![doc = include_str!("problems.md")]

mod blueprint;
mod builder;
mod config;
mod discover;
mod error;
mod launch;
#[cfg(feature = "cli")]
mod operated;
mod plan;
mod report;
mod running;
mod settings;
mod signal;
mod start;
mod style;
mod text;

pub use builder::{BundleBuilder, DEFAULT_STOP_DEADLINE};
pub use config::{Config, ConfigError};
pub use error::{Error, Result, RunError};
#[cfg(feature = "cli")]
pub(crate) use operated::Operated;
pub use plan::Plan;
pub use report::{LaunchError, Problem};
pub use running::Running;
pub use signal::shutdown_signal;
pub(crate) use style::Style;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use blueprint::Blueprint;

use tokio::sync::broadcast;

use crate::clock::SharedClock;
use crate::cluster::LeaseRenewal;
use crate::component::Location;
use crate::consumer::{DispatchContext, EngineEvent, EngineEvents};
use crate::deps::Deps;
use crate::executor::ConsumerExecutor;
use crate::identity::instance_name;
use crate::policy::Retention;
use crate::store::StoreConfig;

/// A bundle that passed its launch rules. Nothing of it runs, and nothing is open.
#[must_use = "a bundle does nothing until `start` or `run_until`"]
pub struct Bundle {
    parts: Parts,
    blueprint: Blueprint,
}

/// What a launch uses up.
struct Parts {
    name: Arc<str>,
    instance: Arc<str>,
    at: Location,
    store: Option<Box<dyn StoreConfig>>,
    deps: Deps,
    executors: Vec<Arc<dyn ConsumerExecutor>>,
    dispatch: DispatchContext,
    events: EngineEvents,
    forget: Vec<(String, u32, Location)>,
    clock: SharedClock,
    renewal: LeaseRenewal,
    retention: Retention,
    stop_deadline: Duration,
}

impl Bundle {
    /// Begins a bundle. The name is identity: checkpoints are kept under it.
    #[track_caller]
    pub fn builder(name: impl Into<String>) -> BundleBuilder {
        BundleBuilder::new(name.into())
    }

    fn new(builder: BundleBuilder, blueprint: Blueprint) -> Self {
        let parts = Parts {
            name: builder.name.into(),
            instance: builder.instance.map_or_else(instance_name, |(name, _)| name).into(),
            at: builder.at,
            store: builder.stores.into_iter().next().map(|(store, _)| store),
            deps: builder.deps,
            executors: builder.executors.into_iter().map(|(executor, _)| executor).collect(),
            dispatch: builder.dispatch,
            events: EngineEvents::new(builder.listeners),
            forget: builder.forget,
            clock: builder.clock,
            renewal: builder.renewal,
            retention: builder.defaults.retention(),
            stop_deadline: builder.stop_deadline,
        };
        Self { parts, blueprint }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// What will happen to its consumers: ownership gained and lost, dead letters, stalls. Subscribed here, before the
    /// start, nothing is missed.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<EngineEvent> {
        self.parts.events.subscribe()
    }

    /// The wiring, to be printed.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.blueprint.plan
    }

    /// What stops nothing but should be known; logged once at the start.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.blueprint.warnings
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle").field("name", &self.parts.name).finish_non_exhaustive()
    }
}

/// Builds the bundle of a [`BundleBuilder`], or panics with the whole launch report: the test that
/// belongs into every application.
///
/// ```no_run
/// # fn wiring() -> evento_runtime::bundle::BundleBuilder { evento_runtime::bundle::Bundle::builder("orders") }
/// // In a function with `#[test]`, where `wiring()` is what `main` builds too:
/// let bundle = evento_runtime::assert_launches!(wiring());
/// assert!(bundle.warnings().is_empty(), "{}", bundle.plan());
/// ```
#[macro_export]
macro_rules! assert_launches {
    ($builder:expr $(,)?) => {
        match $crate::bundle::BundleBuilder::build($builder) {
            ::core::result::Result::Ok(bundle) => bundle,
            ::core::result::Result::Err(error) => ::core::panic!("{}", error),
        }
    };
}
