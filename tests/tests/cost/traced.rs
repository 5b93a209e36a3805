//! The statements that stores tell of at the target `evento_runtime::sql`, of all threads.

use std::sync::{Mutex, MutexGuard, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONE_TEST: Mutex<()> = Mutex::new(());

/// Counts for one test at a time, since there is one count for the process.
pub(crate) struct Statements {
    _alone: MutexGuard<'static, ()>,
}

impl Statements {
    pub(crate) fn new() -> Self {
        static ONCE: OnceLock<()> = OnceLock::new();
        ONCE.get_or_init(|| tracing::subscriber::set_global_default(Listener).unwrap());
        // A test that failed while it counted has counted nothing for the next.
        Self { _alone: ONE_TEST.lock().unwrap_or_else(std::sync::PoisonError::into_inner) }
    }

    /// Those since the last call.
    #[allow(clippy::unused_self, reason = "only who is alone may count")]
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *TOLD.lock().unwrap())
    }
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "evento_runtime::sql"
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Sql);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Sql;

impl Visit for Sql {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "sql" {
            TOLD.lock().unwrap().push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}
