//! The one place that spawns. Every task is joined when its tracker is waited for.

use std::future::Future;

use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// Tasks that are waited for together. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks(TaskTracker);

impl Tasks {
    /// Runs `future` to its end, whatever becomes of the handle.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn(future)
    }

    /// Runs `future` to its end on the given runtime, for callers that may be outside of any.
    pub fn spawn_on<F>(&self, runtime: &tokio::runtime::Handle, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn_on(future, runtime)
    }

    /// Runs a blocking function on tokio's blocking threads.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.0.spawn_blocking(work)
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

    /// How many run.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until none runs. Cancel-safe.
    pub async fn join(&self) {
        self.0.close();
        self.0.wait().await;
        self.0.reopen();
    }
}
