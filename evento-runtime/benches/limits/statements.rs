//! Counts the statements that stores send: they tell of each at the target `evento_runtime::sql`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// How many so far.
#[derive(Clone, Default)]
pub(crate) struct Counted(Arc<AtomicU64>);

impl Counted {
    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// From now on, for the whole process.
pub(crate) fn count() -> Counted {
    let counted = Counted::default();
    tracing::subscriber::set_global_default(counted.clone()).unwrap();
    counted
}

impl Subscriber for Counted {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evento_runtime::sql"
    }

    fn event(&self, _event: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
