//! Handlers in tokio tasks behind a pool of permits: `tasks` and `partitioned`.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::runtime::Handle;

use super::permits::Permits;
use super::{Admission, ConsumerExecutor, ExecutorStats, Permit, Work};
use crate::identity::ConsumerId;
use crate::task::Tasks;

/// The two differ in a promise only: the dispatcher gives at most one delivery of a key to an executor that keeps
/// key order.
pub(super) struct TaskExecutor {
    name: String,
    capacity: usize,
    keeps_key_order: bool,
    permits: Arc<Permits>,
    tasks: Tasks,
}

impl TaskExecutor {
    pub(super) fn new(name: String, capacity: usize, keeps_key_order: bool) -> Self {
        Self { name, capacity, keeps_key_order, permits: Permits::new(capacity), tasks: Tasks::default() }
    }
}

#[async_trait]
impl ConsumerExecutor for TaskExecutor {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> Option<usize> {
        Some(self.capacity)
    }

    fn keeps_key_order(&self) -> bool {
        self.keeps_key_order
    }

    fn is_shared(&self, consumer: &Arc<ConsumerId>) -> bool {
        self.permits.is_shared(consumer)
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        self.permits.admit(admission).await
    }

    fn run(&self, permit: Permit, work: Work) {
        let blocking = work.blocking;
        let future = self.permits.spend(permit, work);
        let Ok(handle) = Handle::try_current() else {
            tracing::error!(executor = %self.name, "work was given from outside of a tokio runtime and is dropped");
            return;
        };
        if blocking {
            let runtime = handle.clone();
            self.tasks.spawn_blocking_on(move || runtime.block_on(future), &handle);
        } else {
            self.tasks.spawn_on(future, &handle);
        }
    }

    fn with_capacity(&self, capacity: usize) -> Option<Arc<dyn ConsumerExecutor>> {
        Some(Arc::new(Self::new(self.name.clone(), capacity, self.keeps_key_order)))
    }

    fn stats(&self) -> ExecutorStats {
        self.permits.stats()
    }

    async fn close(&self) {
        self.permits.refuse();
        self.permits.idle().await;
        self.tasks.join().await;
    }
}
