//! The steps of a handler's transaction, as faulty as every other call.

use std::sync::Weak;

use evento_runtime::async_trait;
use evento_runtime::error::{StoreError, StoreErrorKind};
use evento_tests::ledger::{Commit, Course};

use crate::consumers::Component;
use crate::instance::Instance;
use crate::planted::Plant;
use crate::spi::Spi;

pub(crate) struct Steps(pub(crate) Weak<Instance>);

impl Steps {
    fn spi(&self) -> Result<Spi, StoreError> {
        // Gone only together with everything that could ask.
        self.0.upgrade().map(Spi).ok_or_else(|| StoreError::new(StoreErrorKind::Unreachable, "faulty"))
    }
}

#[async_trait]
impl Course for Steps {
    async fn begin(&self) -> Result<(), StoreError> {
        self.spi()?.call("begin", async { Ok(()) }).await
    }

    async fn asked(&self) -> Result<(), StoreError> {
        self.spi()?.call("completed", async { Ok(()) }).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StoreError> {
        let spi = self.spi()?;
        if spi.0.world.plant == Some(Plant::SettleBeforeCommit) {
            tokio::spawn(async move {
                tokio::time::sleep(Plant::LATE).await;
                spi.0.gate().await;
                drop(apply(&spi, commit).await);
            });
            return Ok(());
        }
        spi.call("commit", apply(&spi, commit)).await
    }
}

async fn apply(spi: &Spi, commit: Commit) -> Result<(), StoreError> {
    let (lease, settlement, entries) = (commit.lease.clone(), commit.settlement.clone(), commit.entries.clone());
    commit.apply()?;
    let component = Component::named(&lease.consumer.component);
    for entry in entries {
        spi.0.world.history().committed(component, lease.epoch.0, entry.parse().unwrap());
    }
    spi.note(&lease, &settlement).await
}
