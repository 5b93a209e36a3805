//! A bundle that is looked at and steered from elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::prelude::*;
use evento_runtime::store::StoreConfig;
use evento_runtime::{Bundle, CheckpointMode, RawEvent};
use serde::{Deserialize, Serialize};

/// Whether handlers can do today what they could not yesterday.
#[derive(Clone, Default)]
pub(crate) struct Healed(Arc<AtomicBool>);

impl Healed {
    /// From now on they can.
    #[allow(dead_code, reason = "the program of the tests never does")]
    pub(crate) fn heal(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// An order that is `bad`, or not.
#[derive(Event, Serialize, Deserialize)]
#[event(key = order)]
pub(crate) struct Placed {
    /// Also the text of the error.
    pub(crate) order: String,
    /// Whether it fails.
    pub(crate) bad: bool,
}

/// A card that nobody is to see.
#[derive(Event, Serialize, Deserialize)]
pub(crate) struct Paid {
    /// Which order.
    pub(crate) order: u64,
    /// Its number.
    #[event(sensitive)]
    pub(crate) card: u64,
}

/// Handles orders beside its loop.
#[derive(Default)]
pub(crate) struct View;

#[projector(version = 1)]
impl View {
    #[event_handler(executor = "read-model", retry = 0)]
    async fn placed(&self, event: Placed, Dep(healed): Dep<Healed>) -> Result<(), BoxError> {
        if event.bad && !healed.0.load(Ordering::SeqCst) {
            return Err(format!("cannot place {}", event.order).into());
        }
        Ok(())
    }
}

/// Handles everything in order.
#[derive(Default)]
pub(crate) struct Count;

#[projector(version = 2)]
impl Count {
    #[event_handler]
    async fn counted(&self, _event: RawEvent) {}
}

/// Gives everything up.
#[derive(Default)]
pub(crate) struct Payments;

#[projector(version = 1)]
impl Payments {
    #[event_handler(retry = 0)]
    async fn paid(&self, event: Paid) -> Result<(), BoxError> {
        Err(format!("order {} is unknown", event.order).into())
    }
}

/// The bundle `orders`.
///
/// # Panics
/// It does not launch.
pub(crate) fn bundle(store: impl StoreConfig, healed: &Healed) -> Bundle {
    Bundle::builder("orders")
        .instance("shop-1")
        .register::<View>()
        .register::<Count>()
        .register::<Payments>()
        .provide(healed.clone())
        .store(store)
        .executor(ConsumerExecutors::partitioned("read-model", 4))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
}
