//! The one place that spawns. Every task is joined when its tracker is waited for.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::error::{StoreError, StoreErrorKind};

/// What a panic said, where it said a text.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a value that is not text")
}

/// What a panic said, and the end of it.
pub(crate) fn take_panic(panic: Box<dyn Any + Send>) -> String {
    let text = panic_text(panic.as_ref()).to_owned();
    // A payload whose `Drop` panics is no reason to fall as well.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    text
}

/// `work` of a store, whose panic is a failure like any other: for loops that others depend on.
pub(crate) async fn panic_fails<T>(
    store: &str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        Err(StoreError::new(StoreErrorKind::Other, store).detail(format!("it panicked: {}", take_panic(panic))))
    })
}

/// Tasks that are waited for together. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    spawned: Arc<AtomicU64>,
}

impl Tasks {
    /// Runs `future` to its end, whatever becomes of the handle.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.tracker.spawn(future)
    }

    /// Runs a blocking function on tokio's blocking threads.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.tracker.spawn_blocking(work)
    }

    /// Like [`spawn`](Self::spawn), on another runtime.
    pub fn spawn_on<F>(&self, future: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.tracker.spawn_on(future, handle)
    }

    /// Like [`spawn_blocking`](Self::spawn_blocking), on another runtime.
    pub fn spawn_blocking_on<F, T>(&self, work: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.tracker.spawn_blocking_on(work, handle)
    }

    /// Runs `future` in a task of its own and waits for it: dropping the returned future does not stop the work.
    ///
    /// # Panics
    /// With the panic of `future`.
    pub async fn run<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.spawn(future).await {
            Ok(output) => output,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only a runtime that is being torn down cancels tasks of ours; there is nobody left to answer.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// How many were ever spawned: what is free when unused shows here.
    #[must_use]
    pub fn spawned(&self) -> u64 {
        self.spawned.load(Ordering::Relaxed)
    }

    /// How many run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tracker.len()
    }

    /// Whether none runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tracker.is_empty()
    }

    /// Waits until none runs. Cancel-safe.
    pub async fn join(&self) {
        self.tracker.close();
        self.tracker.wait().await;
        self.tracker.reopen();
    }
}
