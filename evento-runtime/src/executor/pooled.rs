//! Handlers on threads of their own, each entering the bundle's runtime.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use super::permits::Permits;
use super::{Admission, ConsumerExecutor, ExecutorStats, Permit, Work};
use crate::identity::ConsumerId;
use crate::sync::{Condvar, Mutex, lock, wait};
use crate::task::Tasks;

pub(super) struct PooledExecutor {
    name: String,
    capacity: usize,
    permits: Arc<Permits>,
    bench: Arc<Bench>,
    /// Joins the threads at the end, and stands in where none could be started.
    tasks: Tasks,
}

/// Where work lies until a thread takes it. Every job holds a permit, so there are never more than permits.
#[derive(Default)]
struct Bench {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: Vec<JoinHandle<()>>,
    /// Threads that wait for a job and that no job was laid out for yet.
    waiting: usize,
    ending: bool,
}

struct Job {
    future: BoxFuture<'static, ()>,
    runtime: Handle,
}

impl PooledExecutor {
    pub(super) fn new(name: String, capacity: usize) -> Self {
        let bench = Arc::new(Bench::default());
        Self { name, capacity, permits: Permits::new(capacity), bench, tasks: Tasks::default() }
    }

    /// Starts a thread. `false`: the system refused.
    fn start_thread(&self, state: &mut State) -> bool {
        let bench = Arc::clone(&self.bench);
        // A NUL would panic; the launch refuses such a name, but not everybody launches.
        let name = format!("evento-{}-{}", self.name.replace('\0', ""), state.threads.len());
        match thread::Builder::new().name(name).spawn(move || bench.work()) {
            Ok(thread) => {
                state.threads.push(thread);
                true
            }
            Err(error) => {
                tracing::error!(executor = %self.name, threads = state.threads.len(), %error, "no thread could be started");
                false
            }
        }
    }

    fn end(&self) {
        lock(&self.bench.state).ending = true;
        self.bench.changed.notify_all();
    }
}

impl Bench {
    /// The life of one thread.
    fn work(&self) {
        while let Some(job) = self.next() {
            // The permit is inside the future and goes back with it, panic or not.
            if catch_unwind(AssertUnwindSafe(|| job.runtime.block_on(job.future))).is_err() {
                tracing::error!("a work of a pooled executor panicked; its thread goes on");
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.ending {
                return None;
            }
            state.waiting += 1;
            state = wait(&self.changed, state);
            state.waiting -= 1;
        }
    }
}

#[async_trait]
impl ConsumerExecutor for PooledExecutor {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.capacity)
    }

    fn keeps_key_order(&self) -> bool {
        false
    }

    fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        self.permits.is_shared(consumer)
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        self.permits.admit(admission).await
    }

    fn run(&self, permit: Permit, work: Work) {
        let future: BoxFuture<'static, ()> = Box::pin(self.permits.spend(permit, work));
        // Here and not in the constructor: bundles are put together before a runtime need exist.
        let Ok(runtime) = Handle::try_current() else {
            tracing::error!(executor = %self.name, "work was given from outside of a tokio runtime and is dropped");
            return;
        };
        let mut state = lock(&self.bench.state);
        let short = state.waiting <= state.jobs.len();
        if short && state.threads.len() < self.capacity && !self.start_thread(&mut state) && state.threads.is_empty() {
            drop(state);
            // Slower is better than never.
            self.tasks.spawn_on(future, &runtime);
            return;
        }
        state.jobs.push_back(Job { future, runtime });
        drop(state);
        self.bench.changed.notify_one();
    }

    fn with_capacity(&self, capacity: usize) -> Option<Arc<dyn ConsumerExecutor>> {
        Some(Arc::new(Self::new(self.name().to_owned(), capacity)))
    }

    fn stats(&self) -> ExecutorStats {
        self.permits.stats()
    }

    async fn close(&self) {
        self.permits.refuse();
        // Only then: joining a thread that still works would hold up the end of the runtime.
        self.permits.idle().await;
        self.end();
        let threads = std::mem::take(&mut lock(&self.bench.state).threads);
        if !threads.is_empty() {
            self.tasks.spawn_blocking(move || {
                for thread in threads {
                    // `work` catches panics.
                    let _ = thread.join();
                }
            });
        }
        self.tasks.join().await;
    }
}

/// Without `close`: the threads end with what lies on the bench.
impl Drop for PooledExecutor {
    fn drop(&mut self) {
        self.end();
    }
}
