//! Handlers on a runtime of the caller, as many as come.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::runtime::Handle;

use super::permits::Permits;
use super::{Admission, ConsumerExecutor, ExecutorStats, Permit, Work};
use crate::task::Tasks;

pub(super) struct UnboundedExecutor {
    name: String,
    handle: Handle,
    permits: Arc<Permits>,
    tasks: Tasks,
}

impl UnboundedExecutor {
    pub(super) fn new(name: String, handle: Handle) -> Self {
        Self { name, handle, permits: Permits::new(usize::MAX), tasks: Tasks::default() }
    }
}

#[async_trait]
impl ConsumerExecutor for UnboundedExecutor {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> Option<usize> {
        None
    }

    fn keeps_key_order(&self) -> bool {
        false
    }

    async fn admit(&self, admission: Admission) -> Option<Permit> {
        self.permits.admit(admission).await
    }

    fn run(&self, permit: Permit, work: Work) {
        let blocking = work.blocking;
        let future = self.permits.spend(permit, work);
        if blocking {
            let runtime = self.handle.clone();
            self.tasks.spawn_blocking_on(move || runtime.block_on(future), &self.handle);
        } else {
            self.tasks.spawn_on(future, &self.handle);
        }
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
